//! Where a node's time and charge go: the time in each state of radio and microcontroller.
//!
//! Invariant: the times of each of the two sum to the time elapsed, to the nanosecond. The
//! microcontroller is active while handlers run ([`crate::Board::handler`] each), during a `Load`, and
//! from strobe to last symbol of a `Stream` whose code waits in the interrupt handler (P3, section
//! IV-G; not with [`McuRuns::ForHandlers`]), or as long as its radio is on ([`McuRuns::WithRadio`]); else in low-power mode. Reading a
//! frame out is part of the handler. Tests: `energy_tests.rs`.

use crate::board::{Board, Currents, McuRuns};
use thalweg_units::{Duration, SimTime};

/// What a radio does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RadioState {
    /// Powered down.
    Sleep,
    /// Its oscillator starts, or runs with the synthesiser off.
    Idle,
    /// It calibrates for receiving or transmitting.
    Calibrate,
    /// Its receiver is on.
    Receive,
    /// It transmits.
    Transmit,
}

/// Time and energy of one node from the beginning to the time of asking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Energy {
    /// Radio powered down.
    pub radio_sleep: Duration,
    /// Radio idle.
    pub radio_idle: Duration,
    /// Radio calibrating.
    pub radio_calibrate: Duration,
    /// Radio's receiver on.
    pub radio_receive: Duration,
    /// Radio transmitting.
    pub radio_transmit: Duration,
    /// Microcontroller running.
    pub mcu_active: Duration,
    /// Microcontroller in its low-power mode.
    pub mcu_low_power: Duration,
    /// What the board draws.
    pub currents: Currents,
}

impl Energy {
    /// The time all this is over.
    pub fn elapsed(&self) -> Duration {
        self.mcu_active + self.mcu_low_power
    }
    /// The time the radio was not powered down.
    pub fn radio_on(&self) -> Duration {
        self.radio_idle + self.radio_calibrate + self.radio_receive + self.radio_transmit
    }
    /// Charge through the radio, in millicoulombs (milliampere-seconds).
    pub fn radio_charge_mc(&self) -> f64 {
        let c = &self.currents;
        self.radio_sleep.as_secs_f64() * c.radio_sleep_ma
            + self.radio_idle.as_secs_f64() * c.radio_idle_ma
            + self.radio_calibrate.as_secs_f64() * c.radio_calibrate_ma
            + self.radio_receive.as_secs_f64() * c.radio_receive_ma
            + self.radio_transmit.as_secs_f64() * c.radio_transmit_ma
    }
    /// Charge through the microcontroller, in millicoulombs.
    pub fn mcu_charge_mc(&self) -> f64 {
        self.mcu_active.as_secs_f64() * self.currents.mcu_active_ma
            + self.mcu_low_power.as_secs_f64() * self.currents.mcu_low_power_ma
    }
    /// Energy of the radio, in joules.
    pub fn radio_joules(&self) -> f64 {
        self.radio_charge_mc() * self.currents.supply_v * 1e-3
    }
    /// Energy of the microcontroller, in joules.
    pub fn mcu_joules(&self) -> f64 {
        self.mcu_charge_mc() * self.currents.supply_v * 1e-3
    }
    /// Energy of all, in joules.
    pub fn joules(&self) -> f64 {
        self.radio_joules() + self.mcu_joules()
    }
    /// What was used since `earlier`, a reading of the same node's meter; zero where it is later.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let less = |a: Duration, b: Duration| a.saturating_sub(b);
        Self {
            radio_sleep: less(self.radio_sleep, earlier.radio_sleep),
            radio_idle: less(self.radio_idle, earlier.radio_idle),
            radio_calibrate: less(self.radio_calibrate, earlier.radio_calibrate),
            radio_receive: less(self.radio_receive, earlier.radio_receive),
            radio_transmit: less(self.radio_transmit, earlier.radio_transmit),
            mcu_active: less(self.mcu_active, earlier.mcu_active),
            mcu_low_power: less(self.mcu_low_power, earlier.mcu_low_power),
            currents: self.currents,
        }
    }
}

/// A node's meter. Calls come in time order.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    state: RadioState,
    since: SimTime,
    /// States that will follow by themselves (waking, then calibrating, then receiving).
    planned: [Option<(SimTime, RadioState)>; 2],
    times: [Duration; 5],
    /// Until then the radio is idle: a handler has not started it again.
    paused_until: SimTime,
    mcu_active: Duration,
    mcu_until: SimTime,
}

impl Meter {
    pub(crate) fn new() -> Self {
        Self {
            state: RadioState::Sleep,
            since: SimTime::ZERO,
            planned: [None; 2],
            times: [Duration::ZERO; 5],
            paused_until: SimTime::ZERO,
            mcu_active: Duration::ZERO,
            mcu_until: SimTime::ZERO,
        }
    }
    /// From `at` on the radio does this, and later by itself what `then` says, soonest first.
    pub(crate) fn radio(
        &mut self,
        at: SimTime,
        state: RadioState,
        then: [Option<(SimTime, RadioState)>; 2],
    ) {
        self.account(at);
        self.state = state;
        self.planned = then;
        self.paused_until = at;
    }
    /// The radio went off with a frame's end at `now`. What it does next by itself begins at `until`; until then it is idle.
    pub(crate) fn pause(&mut self, now: SimTime, until: SimTime) {
        self.account(now);
        self.paused_until = until;
    }
    /// Whether the receiver is on at `now`.
    pub(crate) fn receives(&mut self, now: SimTime) -> bool {
        self.account(now);
        self.state == RadioState::Receive
    }
    /// The microcontroller runs from `from` to `until`, or is running already.
    pub(crate) fn mcu(&mut self, from: SimTime, until: SimTime) {
        self.mcu_active += until.since(from.max(self.mcu_until));
        self.mcu_until = self.mcu_until.max(until);
    }
    /// The sleeping receiver is on at `at`, since its driver switched it on ahead: it had started up for
    /// `wake` and calibrated for `calibrate`, as far as it slept so long.
    pub(crate) fn started_ahead(&mut self, at: SimTime, wake: Duration, calibrate: Duration) {
        let slept = at.since(self.since);
        self.radio(at, RadioState::Receive, [None; 2]);
        let calibrated = slept.min(calibrate);
        let woke = slept.saturating_sub(calibrated).min(wake);
        self.times[RadioState::Calibrate as usize] += calibrated;
        self.times[RadioState::Idle as usize] += woke;
        let asleep = &mut self.times[RadioState::Sleep as usize];
        *asleep = asleep.saturating_sub(calibrated + woke);
    }
    /// The radio, asleep until now, had been idle for as much of `lead` as it slept.
    pub(crate) fn led(&mut self, now: SimTime, lead: Duration) {
        self.account(now);
        let asleep = &mut self.times[RadioState::Sleep as usize];
        let led = lead.min(*asleep);
        *asleep = asleep.saturating_sub(led);
        self.times[RadioState::Idle as usize] += led;
    }
    fn account(&mut self, to: SimTime) {
        while let [Some((at, state)), next] = self.planned {
            if at > to {
                break;
            }
            self.spend(at);
            (self.since, self.state, self.planned) = (at.max(self.since), state, [next, None]);
        }
        self.spend(to);
        self.since = self.since.max(to);
    }
    fn spend(&mut self, to: SimTime) {
        let paused = match self.state {
            RadioState::Receive | RadioState::Calibrate => {
                self.paused_until.min(to).since(self.since)
            }
            _ => Duration::ZERO,
        };
        self.times[RadioState::Idle as usize] += paused;
        self.times[self.state as usize] += to.since(self.since).saturating_sub(paused);
    }
    /// The reading at `now`.
    pub(crate) fn read(&self, now: SimTime, board: &Board) -> Energy {
        let mut upto = self.clone();
        upto.account(now);
        let [radio_sleep, radio_idle, radio_calibrate, radio_receive, radio_transmit] = upto.times;
        let elapsed = now.since(SimTime::ZERO);
        let mcu_active = match board.mcu {
            // What is running now was credited until its end.
            McuRuns::ForEvents | McuRuns::ForHandlers => {
                self.mcu_active.saturating_sub(self.mcu_until.since(now))
            }
            McuRuns::WithRadio => elapsed.saturating_sub(radio_sleep),
        };
        Energy {
            radio_sleep,
            radio_idle,
            radio_calibrate,
            radio_receive,
            radio_transmit,
            mcu_active,
            mcu_low_power: elapsed.saturating_sub(mcu_active),
            currents: board.currents,
        }
    }
}

#[cfg(test)]
#[path = "energy_tests.rs"]
mod tests;
