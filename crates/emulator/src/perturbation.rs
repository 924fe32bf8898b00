//! How much worse than typical a chip may be: what a network must stand before anybody trusts it on silicon.

use crate::core::Costs;
use crate::soc::{FrameStart, RadioTimes};
use std::num::NonZeroU32;
use thalweg_units::Duration;

/// Cycles of a microsecond.
const MICROSECOND: u64 = 64;

/// The radio reports the end of some frames late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateEnd {
    /// One of so many.
    pub one_in: NonZeroU32,
    /// By how much.
    pub by: Duration,
}

/// What differs from [`RadioTimes::TYPICAL`] and [`Costs::CORTEX_M4`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Perturbation {
    /// The receive chain takes so much instead of 22 us.
    pub chain: Option<Duration>,
    /// Motes' chains differ by up to so much either way.
    pub chain_spread: Duration,
    /// Ramp-up takes so much longer.
    pub ramp: Duration,
    /// One more cycle every so many instructions.
    pub stretch: Option<NonZeroU32>,
    /// Frames whose end the radio reports late.
    pub late_end: Option<LateEnd>,
    /// What FRAMESTART means instead of the more likely reading.
    pub frame_start: Option<FrameStart>,
    /// Every other mote's crystal is so many parts in 10^9 fast, and the others' as slow, instead of drawn.
    pub crystals_off_ppb: Option<i32>,
}

/// SplitMix64's last steps.
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn cycles(of: Duration) -> u64 {
    of.as_nanos() * MICROSECOND / 1_000
}

impl Perturbation {
    /// Nothing differs.
    pub const NONE: Self = Self {
        chain: None,
        chain_spread: Duration::ZERO,
        ramp: Duration::ZERO,
        stretch: None,
        late_end: None,
        frame_start: None,
        crystals_off_ppb: None,
    };

    /// The radio of mote `mote`, otherwise as `base`.
    #[must_use]
    pub fn radio(&self, base: RadioTimes, mote: usize, seed: u64) -> RadioTimes {
        let spread = cycles(self.chain_spread);
        let off = match spread {
            0 => 0,
            spread => mix(seed ^ mix(mote as u64)) % (2 * spread + 1),
        };
        let chain = self.chain.map_or(base.chain, cycles);
        RadioTimes {
            chain: (chain + off).saturating_sub(spread),
            fast: base.fast + cycles(self.ramp),
            normal: base.normal + cycles(self.ramp),
            frame_start: self.frame_start.unwrap_or(base.frame_start),
            ..base
        }
    }

    /// By how much the crystal of mote `mote` is fast, in parts in 10^9, where it was drawn as `drawn`.
    pub(crate) const fn drift(&self, mote: usize, drawn: i32) -> i32 {
        match self.crystals_off_ppb {
            Some(ppb) if mote % 2 == 0 => ppb,
            Some(ppb) => -ppb,
            None => drawn,
        }
    }

    /// What instructions cost, otherwise as `base`.
    #[must_use]
    pub const fn costs(&self, base: Costs) -> Costs {
        Costs {
            stretch: match self.stretch {
                None => base.stretch,
                stretch => stretch,
            },
            ..base
        }
    }

    /// The delay with which a mote's radio reports the end of its `number`th frame.
    pub(crate) fn late_end(&self, seed: u64, mote: usize, number: u64) -> Duration {
        match self.late_end {
            Some(LateEnd { one_in, by })
                if mix(seed ^ mix(mote as u64) ^ mix(!number)) % u64::from(one_in.get()) == 0 =>
            {
                by
            }
            _ => Duration::ZERO,
        }
    }
}
