//! Computing that takes time: what an engine asks of its host, and what the host's board charges for.
//!
//! An engine that computes for longer than an interrupt may take says how much with
//! [`crate::Engine::poll_work`] and is told with [`crate::Engine::handle_work`] when the
//! microcontroller has had the time for it: at task level, stopped by every interrupt, so that no
//! strobe waits for it. A simulator charges the board's price (`thalweg_sim::Computing`); on a mote the
//! main loop does the job. Does not model memory, nor several jobs at a time. Tests: `thalweg-sim`.

/// A job, in what dominates it: bytes combined in a field, and bytes moved between the
/// microcontroller and the memory that holds objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Multiply-and-adds of one byte over GF(256).
    pub multiplied: u32,
    /// Bytes read from where objects are kept, a mote's flash.
    pub read: u32,
    /// Bytes written there.
    pub written: u32,
}
