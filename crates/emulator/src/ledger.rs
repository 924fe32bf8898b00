//! Where a mote's time and charge went: what its parts did, as the simulator's meters have it.
//!
//! Time base: true time. Invariant: the radio's times sum to the processor's. Tests: `tests/all/two_chips.rs`, and
//! `crates/thalweg/tests/all/emulated/sleep.rs`.

use thalweg_sim::{Currents, Energy};
use thalweg_units::Duration;

/// For how long a mote's parts were in which state, in true time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// The radio received, or could have.
    pub receiving: Duration,
    /// It sent.
    pub sending: Duration,
    /// It ramped up or down, or was ready and did neither.
    pub between: Duration,
    /// It was off.
    pub off: Duration,
    /// The processor ran, or stood still while flash was written or erased.
    pub running: Duration,
    /// It slept.
    pub asleep: Duration,
    /// HFXO was on.
    pub crystal: Duration,
}

impl Spent {
    /// The meter of a board that draws `currents`, as of a simulated node. While HFXO runs and the radio is off, the
    /// radio is idle. Not separated: what flash and UARTE draw, for which no board has numbers.
    pub fn energy(&self, currents: &Currents) -> Energy {
        let in_use = self.receiving + self.sending + self.between;
        let idle = self.crystal.saturating_sub(in_use).min(self.off);
        Energy {
            radio_sleep: self.off.saturating_sub(idle),
            radio_idle: idle,
            radio_calibrate: self.between,
            radio_receive: self.receiving,
            radio_transmit: self.sending,
            mcu_active: self.running,
            mcu_low_power: self.asleep,
            currents: *currents,
        }
    }
}
