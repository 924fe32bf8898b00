//! What multiplies the power of each frame at each ear of a run. Tests: `variation.rs`, `drift.rs`.

use crate::drift::{Drift, Held, World};
use crate::random::{derive, nth};
use crate::variation::{Factors, Variation};
use crate::EarId;
use thalweg_units::{Channel, SimTime};

/// Power variation of a run.
#[derive(Debug)]
pub(crate) struct Draws {
    packet_key: u64,
    packet: Factors,
    drift: Drift,
    /// More than any factor that is drawn.
    pub(crate) most: f64,
}

impl Draws {
    /// Of a run with this `seed` in `world`.
    pub(crate) fn new(variation: Variation, world: World, seed: u64) -> Self {
        Self {
            packet_key: derive(seed, "packets", &[]),
            packet: Factors::new(variation.packet),
            drift: Drift::new(&variation, world),
            most: variation.most().factor(),
        }
    }
    /// The key of what transmission `number` draws.
    #[inline]
    pub(crate) fn key(&self, number: u64) -> u64 {
        nth(self.packet_key, number)
    }
    /// What the power of a frame sent at `start` (nanoseconds of the run), whose word at this ear is `word`, is
    /// multiplied with. `held` is kept for these ears and this channel.
    #[inline]
    pub(crate) fn factor(
        &mut self,
        held: &mut Held,
        (start, word): (u64, u64),
        from: EarId,
        to: EarId,
        channel: Channel,
    ) -> f64 {
        let packet = f64::from(self.packet.pick(word));
        let start = SimTime::from_nanos(start);
        let drift = self.drift.factor(held, start, from, to, channel);
        (packet * f64::from(drift)).min(self.most)
    }
}
