//! Ctrl-C: the first asks the running job to stop cleanly, the second ends the process.
//!
//! The one global state of the program is the flag that the signal's handler sets; it is handed
//! around as a value.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Whether somebody asked to stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// A flag that Ctrl-C, SIGTERM and SIGHUP set.
    pub(crate) fn on_signals() -> Self {
        let flag = Self::default();
        let handler = flag.clone();
        // Where signals cannot be caught they end the process, which the store survives as well.
        let _ = ctrlc::set_handler(move || {
            if handler.0.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
        flag
    }
    /// Whether it was set.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
