//! Moving operations and events between an engine and a radio.

use crate::{Engine, RadioEvent, RadioId, Request};
use core::fmt;
use thalweg_units::Instant;

/// A node's radios, as an engine's driver sees them.
pub trait RadioPort {
    /// Takes an operation. Its answer comes from [`RadioPort::next_event`].
    fn submit(&mut self, request: Request<'_>);
    /// Waits for the next event, at most until `limit`; `None` when `limit` came first. Without a
    /// limit it returns `None` only where nothing can ever happen.
    fn next_event(&mut self, limit: Option<Instant>) -> Option<(Instant, RadioId, RadioEvent<'_>)>;
    /// The node's clock.
    fn now(&mut self) -> Instant;
}

/// More operations or events than this in one drain are a defect of the engine.
pub const MAX_OPS_PER_DRAIN: usize = 64;

/// An engine kept asking for operations, or giving events, without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Livelock;

impl fmt::Display for Livelock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the engine asks for operations without end")
    }
}
impl core::error::Error for Livelock {}

/// Drains `engine` in the contract's order and says when it wants its time-out.
///
/// # Errors
/// [`Livelock`] after [`MAX_OPS_PER_DRAIN`] operations, or as many events.
pub fn drain<E: Engine>(
    engine: &mut E,
    mut submit: impl FnMut(Request<'_>),
    mut event: impl FnMut(E::Event),
) -> Result<Option<Instant>, Livelock> {
    let mut left = MAX_OPS_PER_DRAIN;
    while let Some(request) = engine.poll_radio() {
        submit(request);
        left = left.checked_sub(1).ok_or(Livelock)?;
    }
    let mut left = MAX_OPS_PER_DRAIN;
    while let Some(told) = engine.poll_event() {
        event(told);
        left = left.checked_sub(1).ok_or(Livelock)?;
    }
    Ok(engine.poll_timeout())
}

/// Runs `engine` on `port` until `deadline`: the main loop of a mote.
///
/// # Errors
/// [`Livelock`] as [`drain`].
pub fn drive<E: Engine, P: RadioPort>(
    engine: &mut E,
    port: &mut P,
    deadline: Instant,
    mut event: impl FnMut(E::Event),
) -> Result<(), Livelock> {
    loop {
        let timeout = drain(engine, |request| port.submit(request), &mut event)?;
        let limit = timeout.map_or(deadline, |t| t.min(deadline));
        match port.next_event(Some(limit)) {
            Some((at, radio, told)) => engine.handle_radio(at, radio, told),
            None if limit >= deadline => return Ok(()),
            None => {
                let now = port.now();
                engine.handle_timeout(now.max(limit));
            }
        }
    }
}
