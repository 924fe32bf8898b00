//! A node: an engine, the radio and the clock, and the causes that drive them.
//!
//! Interrupts of RADIO, TIMER3 and RTC1 have one priority and call [`Node::interrupt`]; the main loop calls [`Node::wait`].
//! Invariants: after each cause everything is reported, and the alarm is set; the node sleeps only where the
//! radio does, and wakes its crystal before it is due. Tests: `tests/all/node.rs`.

use crate::clock::{self, instant, ticks, Clock, ClockError, LowFrequency, MICROSECOND};
use crate::dma::Region;
use crate::radio::{Radio, Settled, Usage, CAPS};
use crate::reset::Before;
use crate::Registers;
use core::fmt;
use core::mem::MaybeUninit;
use thalweg_engine::{Driver, Engine, Livelock, Misfit, Port, RadioId, Request};
use thalweg_protocols::member::{Member, Seat};
use thalweg_protocols::object::ObjectStore;
use thalweg_protocols::seals::Guard;
use thalweg_units::{BatteryLevel, Instant};

/// A shorter rest is not worth stopping the crystal for.
const SHORTEST_SLEEP: u64 = (clock::LEAD_US + 3_500) * MICROSECOND;
/// Events in one call, more than which are a defect of the engine.
const MOST_EVENTS: u32 = 4_096;

/// Why a node does not start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BootError {
    /// A clock does not run.
    Clock(ClockError),
    /// The engine wants what the radio has not.
    Misfit(Misfit),
    /// The radio's memory is shorter than [`Radio::DMA_BYTES`].
    NoMemory,
}

impl fmt::Display for BootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock(error) => error.fmt(f),
            Self::Misfit(misfit) => misfit.fmt(f),
            Self::NoMemory => write!(f, "a radio needs {} bytes of RAM", Radio::DMA_BYTES),
        }
    }
}
impl core::error::Error for BootError {}

/// What a running node cannot go on from: it is to be reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A clock stopped.
    Clock(ClockError),
    /// The engine does not come to an end.
    Livelock(Livelock),
    /// The engine asked for more operations than a port must take, and answers were lost.
    LostAnswers,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock(error) => error.fmt(f),
            Self::Livelock(livelock) => livelock.fmt(f),
            Self::LostAnswers => f.write_str("the engine asks for more than a port can answer"),
        }
    }
}
impl core::error::Error for Fault {}

/// An engine on the chip.
#[derive(Debug)]
pub struct Node<E: Engine, R> {
    r: R,
    clock: Clock,
    radio: Radio,
    driver: Driver<E>,
    due: Option<Instant>,
}

/// The port that an engine is drained into.
struct Hands<'a, R, F> {
    r: &'a mut R,
    clock: &'a mut Clock,
    radio: &'a mut Radio,
    emit: &'a mut F,
}

impl<R: Registers, V, F: FnMut(V)> Port<V> for Hands<'_, R, F> {
    #[inline]
    fn submit(&mut self, request: Request<'_>) {
        self.radio.submit(self.r, self.clock, request);
    }
    fn emit(&mut self, event: V) {
        (self.emit)(event);
    }
}

impl<E: Engine, R: Registers> Node<E, R> {
    /// What `engine` makes, on the chip behind `r`, the radio's frames in `memory`, with the clocks started.
    /// [`Self::start`] is next. It is made where it stays, in `place`: a node is larger than a mote's stack.
    ///
    /// # Errors
    /// [`BootError`].
    #[inline]
    pub fn new(
        place: &mut MaybeUninit<Self>,
        mut r: R,
        (memory, low): (Region, LowFrequency),
        engine: impl FnOnce() -> E,
    ) -> Result<&mut Self, BootError> {
        let radio = Radio::new(memory).ok_or(BootError::NoMemory)?;
        let clock = Clock::start(&mut r, low).map_err(BootError::Clock)?;
        let node = place.write(Self {
            r,
            clock,
            radio,
            driver: Driver::of(engine()),
            due: None,
        });
        node.driver.check(&[CAPS]).map_err(BootError::Misfit)?;
        if let Some(wants) = node.driver.engine().wants(RadioId(0)) {
            node.radio.take_on(&wants);
        }
        node.radio.start(&mut node.r);
        Ok(node)
    }

    /// Power is on: the engine's first call. What it has to tell goes to `emit`.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn start(&mut self, mut emit: impl FnMut(E::Event)) -> Result<(), Fault> {
        let (driver, mut hands) = self.split(&mut emit);
        self.due = driver.start().drain(&mut hands).map_err(Fault::Livelock)?;
        self.go_on(emit)
    }

    /// The layer above gives an order.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn command(
        &mut self,
        command: E::Command,
        mut emit: impl FnMut(E::Event),
    ) -> Result<(), Fault> {
        self.wake()?;
        let now = self.now();
        let (driver, mut hands) = self.split(&mut emit);
        let drained = driver.command(now, command).drain(&mut hands);
        self.due = drained.map_err(Fault::Livelock)?;
        self.go_on(emit)
    }

    /// An interrupt of RADIO, TIMER3 or RTC1. One without a cause does no harm.
    ///
    /// # Errors
    /// [`Fault`].
    #[inline]
    pub fn interrupt(&mut self, emit: impl FnMut(E::Event)) -> Result<(), Fault> {
        if self.clock.is_asleep() {
            if self.may_sleep() {
                // RTC1 counts 512 s; sleeps are longer.
                return self.sleep();
            }
            self.wake()?;
        }
        self.go_on(emit)
    }

    /// Nothing is left to do: `idle` waits for an interrupt (WFE), which the caller has masked until [`Self::wait`] is back.
    /// Where the engine has its radio asleep for long enough, crystal and TIMER3 stop.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn wait(&mut self, idle: impl FnOnce()) -> Result<(), Fault> {
        if self.may_sleep() {
            self.sleep()?;
        }
        idle();
        Ok(())
    }

    /// The node's time.
    pub fn now(&mut self) -> Instant {
        instant(self.clock.now(&mut self.r))
    }
    /// The engine.
    pub fn engine(&self) -> &E {
        self.driver.engine()
    }
    /// The engine, to look into; what is changed so comes to effect with the next call.
    pub fn engine_mut(&mut self) -> &mut E {
        self.driver.engine_mut()
    }
    /// The radio: its counters, and what it learned.
    pub const fn radio(&self) -> &Radio {
        &self.radio
    }
    /// What the radio is in use for: whether flash may be written now.
    pub fn usage(&mut self) -> Usage {
        self.radio.usage(&mut self.r)
    }
    /// When the engine wants its next time-out.
    pub const fn due(&self) -> Option<Instant> {
        self.due
    }
    /// The chip, for drivers of other peripherals.
    pub fn registers(&mut self) -> &mut R {
        &mut self.r
    }

    fn split<'a, F>(&'a mut self, emit: &'a mut F) -> (&'a mut Driver<E>, Hands<'a, R, F>) {
        let hands = Hands {
            r: &mut self.r,
            clock: &mut self.clock,
            radio: &mut self.radio,
            emit,
        };
        (&mut self.driver, hands)
    }

    /// Tells the engine of all that there is, goes back to the radio's mode, and sets the alarm.
    fn go_on(&mut self, mut emit: impl FnMut(E::Event)) -> Result<(), Fault> {
        let mut left = MOST_EVENTS;
        loop {
            left = left
                .checked_sub(1)
                .ok_or(Fault::Livelock(Livelock::Drain))?;
            let now = instant(self.clock.now(&mut self.r));
            let event = self.radio.poll(&mut self.r, &mut self.clock);
            let undrained = if let Some(event) = event {
                self.driver.radio(now, RadioId(0), event)
            } else if self.due.is_some_and(|due| due <= now) {
                // What came by radio goes first: it may have to be answered within a gap.
                self.driver.timer(now)
            } else if self.radio.settle(&mut self.r, &mut self.clock) == Settled::More {
                continue;
            } else {
                break;
            };
            let drained = undrained.drain(&mut Hands {
                r: &mut self.r,
                clock: &mut self.clock,
                radio: &mut self.radio,
                emit: &mut emit,
            });
            self.due = drained.map_err(Fault::Livelock)?;
        }
        if self.radio.lost_answers() > 0 {
            return Err(Fault::LostAnswers);
        }
        let due = self
            .due
            .map(ticks)
            .into_iter()
            .chain(self.radio.due())
            .min();
        self.clock.alarm(&mut self.r, clock::CC_ALARM, due);
        Ok(())
    }

    /// Whether nothing is to be done for long enough.
    fn may_sleep(&mut self) -> bool {
        let now = self.clock.now(&mut self.r);
        let rests = |due: Instant| ticks(due) > now + SHORTEST_SLEEP;
        self.radio.may_power_down() && self.due.is_none_or(rests)
    }

    fn sleep(&mut self) -> Result<(), Fault> {
        let until = self.due.map(ticks);
        if !self.clock.is_asleep() {
            self.clock.silence(&mut self.r, clock::CC_ALARM);
            self.radio.power_down(&mut self.r);
        }
        let slept = self.clock.sleep(&mut self.r, until);
        if slept.is_err() {
            self.radio.start(&mut self.r);
        }
        slept.map_err(Fault::Clock)
    }

    fn wake(&mut self) -> Result<(), Fault> {
        if self.clock.is_asleep() {
            self.clock.wake(&mut self.r).map_err(Fault::Clock)?;
            self.radio.start(&mut self.r);
        }
        Ok(())
    }
}

/// What an application sees of a mote.
impl<S, T, R, G, const NEIGHBOURS: usize, const NODES: usize>
    Node<Member<S, T, NEIGHBOURS, NODES, G>, R>
where
    S: ObjectStore,
    T: Seat<S>,
    R: Registers,
    G: Guard,
{
    /// What the mote hands out when it is asked: a [`crate::recording::Recording`], and what the radio is in use for, which
    /// says whether flash may be written.
    pub fn recording(&mut self) -> (&mut S, Usage) {
        let usage = self.radio.usage(&mut self.r);
        (self.driver.engine_mut().store_mut(), usage)
    }
    /// What this start found of the one before: surveys report its restarts from now on.
    pub fn set_before(&mut self, before: &Before) {
        if let Some(restarts) = before.restarts() {
            self.driver.engine_mut().set_restarts(restarts);
        }
    }
    /// As [`Member::set_idled`].
    pub fn set_idled(&mut self) {
        self.driver.engine_mut().set_idled();
    }
    /// The battery was measured: surveys report it from now on, in steps of 10 mV.
    pub fn set_battery(&mut self, level: BatteryLevel) {
        self.driver.engine_mut().set_battery(level);
    }
}
