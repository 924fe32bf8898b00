//! The driver half of a host: what it calls when something happens, and what it is given back.
//!
//! There is one call for each cause, so that interrupt handlers, an async task that selects between
//! radio and timer, and a simulator's loop drive an engine alike. Each call is followed by a drain, in
//! the contract's order: operations, events, the next time-out. Invariant: nothing else can be called
//! before the drain. Time base: the node's clock, instants never going back. Tests:
//! `mote/tests/hosts.rs` of the protocols.

use crate::caps::{Caps, Lack, Misfit};
use crate::{Engine, RadioEvent, RadioId, Request};
use core::fmt;
use thalweg_units::Instant;

/// Where an engine's operations and events go.
pub trait Port<V> {
    /// Takes an operation, which is answered later, by [`Driver::radio`].
    fn submit(&mut self, request: Request<'_>);
    /// Takes an event for the layer above.
    fn emit(&mut self, event: V);
}

/// Two closures are a port: for tests, and for hosts that only watch.
impl<V, S: FnMut(Request<'_>), T: FnMut(V)> Port<V> for (S, T) {
    fn submit(&mut self, request: Request<'_>) {
        self.0(request);
    }
    fn emit(&mut self, event: V) {
        self.1(event);
    }
}

/// More operations than this in one drain are a defect of the engine. A driver keeps room for their answers.
pub const MAX_OPS_PER_DRAIN: usize = 32;
/// The same of events. A report of a sweep brings up to 200 links at once.
const MAX_EVENTS_PER_DRAIN: usize = 256;

/// Radios that a node has at most.
const MAX_RADIOS: u8 = 4;

/// An engine that would keep its host busy for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Livelock {
    /// It asks for operations, or gives events, without end.
    Drain,
    /// Its time-out stayed due after it was handled.
    TimeOut,
}

impl fmt::Display for Livelock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Drain => "the engine asks for operations, or gives events, without end",
            Self::TimeOut => "a time-out stayed due after it was handled",
        })
    }
}
impl core::error::Error for Livelock {}

/// An engine, and when it wants its time-out.
#[derive(Debug)]
pub struct Driver<E> {
    engine: E,
    due: Option<Instant>,
}

impl<E: Engine> Driver<E> {
    /// `engine` on a host with these `radios`, the first of them [`RadioId`] 0.
    ///
    /// # Errors
    /// [`Misfit`] where the engine wants what the host has not.
    pub fn new(engine: E, radios: &[Caps]) -> Result<Self, Misfit> {
        let driver = Self::of(engine);
        driver.check(radios).map(|()| driver)
    }
    /// `engine` on a host that has yet to [`Self::check`] what it wants: for hosts that make a driver where it stays.
    #[inline]
    pub const fn of(engine: E) -> Self {
        Self { engine, due: None }
    }
    /// Whether a host with these `radios` has what the engine wants.
    ///
    /// # Errors
    /// [`Misfit`] where it has not.
    pub fn check(&self, radios: &[Caps]) -> Result<(), Misfit> {
        for radio in (0..MAX_RADIOS).map(RadioId) {
            let Some(wants) = self.engine.wants(radio) else {
                continue;
            };
            let lack = match radios.get(usize::from(radio.0)) {
                Some(caps) => caps.lacks(&wants),
                None => Some(Lack::Radio),
            };
            if let Some(lack) = lack {
                return Err(Misfit { radio, lack });
            }
        }
        Ok(())
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.engine
    }
    /// The engine, to look into or replace; what is changed so comes to effect with the next call.
    pub fn engine_mut(&mut self) -> &mut E {
        &mut self.engine
    }

    /// Power is on: the first call, before anything has happened.
    pub fn start(&mut self) -> Undrained<'_, E> {
        Undrained::after(self)
    }
    /// The layer above gives an order.
    #[inline]
    pub fn command(&mut self, at: Instant, command: E::Command) -> Undrained<'_, E> {
        self.engine.handle_command(at, command);
        Undrained::after(self)
    }
    /// A radio reports something.
    #[inline]
    pub fn radio(&mut self, at: Instant, of: RadioId, event: RadioEvent<'_>) -> Undrained<'_, E> {
        self.engine.handle_radio(at, of, event);
        Undrained::after(self)
    }
    /// The timer has gone off. One that goes off early does no harm.
    #[inline]
    pub fn timer(&mut self, at: Instant) -> Undrained<'_, E> {
        let is_due = self.due.is_some_and(|due| due <= at);
        if is_due {
            self.engine.handle_timeout(at);
        }
        Undrained {
            handled: is_due.then_some(at),
            driver: self,
        }
    }
}

/// An engine that has handled something and has not been polled yet.
#[must_use = "what the engine wants is lost unless it is drained"]
pub struct Undrained<'a, E> {
    driver: &'a mut Driver<E>,
    /// When a time-out was handled; none after other calls.
    handled: Option<Instant>,
}

impl<'a, E: Engine> Undrained<'a, E> {
    #[inline]
    fn after(driver: &'a mut Driver<E>) -> Self {
        Self {
            driver,
            handled: None,
        }
    }

    /// Hands operations and events to `port`; says when the timer is due.
    ///
    /// # Errors
    /// [`Livelock`]; what came out so far has been handed over.
    #[inline]
    pub fn drain(self, port: &mut impl Port<E::Event>) -> Result<Option<Instant>, Livelock> {
        let due = drain(&mut self.driver.engine, port)?;
        self.driver.due = due;
        match (due, self.handled) {
            (Some(due), Some(handled)) if due <= handled => Err(Livelock::TimeOut),
            _ => Ok(due),
        }
    }
}

/// Drains an engine that no [`Driver`] has, as tests of single engines do.
///
/// # Errors
/// [`Livelock::Drain`] after [`MAX_OPS_PER_DRAIN`] operations, or 256 events.
#[inline]
pub fn drain<E: Engine>(
    engine: &mut E,
    port: &mut impl Port<E::Event>,
) -> Result<Option<Instant>, Livelock> {
    let mut left = MAX_OPS_PER_DRAIN;
    while let Some(request) = engine.poll_radio() {
        port.submit(request);
        left = left.checked_sub(1).ok_or(Livelock::Drain)?;
    }
    let mut left = MAX_EVENTS_PER_DRAIN;
    while let Some(event) = engine.poll_event() {
        port.emit(event);
        left = left.checked_sub(1).ok_or(Livelock::Drain)?;
    }
    Ok(engine.poll_timeout())
}
