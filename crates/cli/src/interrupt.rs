//! Ctrl-C: the first asks the running job to stop cleanly, a later one ends the process.
//!
//! The one global state of the program is the flag that the signal's handler sets; it is handed
//! around as a value. Time base: wall clock.

use std::process;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A second signal this soon is the first one again: `timeout` and some shells send it twice.
const ECHO: Duration = Duration::from_millis(500);

/// Whether the user asked to stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<OnceLock<Instant>>);

impl Interrupt {
    /// A flag that Ctrl-C, SIGTERM and SIGHUP set.
    pub(crate) fn on_signals() -> Self {
        let flag = Self::default();
        let handler = flag.clone();
        // Where signals cannot be caught they end the process, which the store survives as well.
        let _ = ctrlc::set_handler(move || {
            if handler.0.get_or_init(Instant::now).elapsed() > ECHO {
                process::exit(130);
            }
        });
        flag
    }
    /// Whether it was set.
    pub(crate) fn is_set(&self) -> bool {
        self.0.get().is_some()
    }
}
