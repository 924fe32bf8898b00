//! The highest rate at which a chain loses nothing, found as the paper found it: faster and faster
//! until a packet is lost (CIT, section 3).
//!
//! Short runs come down from the time that one packet takes through everything, two per cent at a
//! time; at the first loss, whole runs halve what is between. A rate that works again beyond the
//! first loss is not looked for.

use super::chain::{Bench, Chain, Result, Trial};
use thalweg_units::Duration;

/// Packets of a short run.
const SHORT: u16 = 60;
/// Halvings of the last step: two per cent become a hundredth of one.
const HALVINGS: u32 = 8;
/// How often a whole run may fail at an interval at which a short one did not.
const RETREATS: u32 = 25;

impl Chain {
    /// The shortest interval at which `packets` packets arrive whole, and the run at it; none where
    /// there is no such interval.
    pub fn highest_rate(&self, bench: &Bench, packets: u16) -> Result<Option<(Duration, Trial)>> {
        let short = packets.min(SHORT);
        let works = |interval| self.run(bench, interval, short).map(|trial| trial.whole);
        let phy = &bench.site.board.chip.phy;
        let shortest = phy.air_time(self.mpdu_bytes()) + bench.site.board.timing.turnaround;
        let mut good = self.slow(bench);
        if !works(good)? {
            return Ok(None);
        }
        let mut bad = None;
        while bad.is_none() && good > shortest {
            let next = good.saturating_sub(Duration::from_nanos(good.as_nanos() / 50));
            match works(next)? {
                true => good = next,
                false => bad = Some(next),
            }
        }
        // No faster than it can be: the source is what limits.
        let mut bad = bad.unwrap_or(good);
        let mut best = self.run(bench, good, packets)?;
        for _ in 0..RETREATS {
            if best.whole {
                break;
            }
            bad = good;
            good = good + Duration::from_nanos(good.as_nanos() / 200);
            best = self.run(bench, good, packets)?;
        }
        if !best.whole {
            return Ok(None);
        }
        for _ in 0..HALVINGS {
            let middle = Duration::from_nanos((good.as_nanos() + bad.as_nanos()) / 2);
            if middle >= good {
                break;
            }
            let trial = self.run(bench, middle, packets)?;
            if trial.whole {
                (good, best) = (middle, trial);
            } else {
                bad = middle;
            }
        }
        // A source that cannot keep the interval sends at its own.
        let gaps = u64::from(best.received.saturating_sub(1)).max(1);
        let kept = Duration::from_nanos(best.time.as_nanos().div_ceil(gaps));
        Ok(Some((good.max(kept), best)))
    }

    /// An interval at which a packet is through all hops, with everything that it costs, before the
    /// next one comes.
    fn slow(&self, bench: &Bench) -> Duration {
        let (board, bytes) = (&bench.site.board, self.mpdu_bytes() as u64);
        let (costs, timing) = (board.software_costs(), board.timing);
        let software = timing.forward_software
            + timing.event_latency
            + costs.strobe
            + costs.condition
            + costs.retune * 2
            + costs.os * 2
            + costs.cca_settle
            + costs.read_base
            + costs.read_byte * bytes
            + timing.load_base
            + timing.load_byte * bytes;
        let air = board.chip.phy.air_time(self.mpdu_bytes()) + timing.turnaround * 2;
        (air + software) * (self.hops() as u64 + 1)
    }
}
