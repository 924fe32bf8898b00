//! How the links of a world change in time: a random process that can be evaluated at any time, so that a survey and
//! a transfer an hour later see the same world.
//!
//! A link's level is a sum of steps: each part holds for its span and is then drawn again, at moments that differ from
//! pair to pair. The variance of a change grows linearly within a span and then no more; spans of half a second, half a
//! minute, a quarter of an hour, two hours and a day together follow the logarithm of time, as the traces in
//! `docs/radio-model.md` do. What is common to a link's channels falls with their distance as measured (below). Scales are
//! drawn per pair and span. Not modelled: days and nights, links in a fade that change more. Tests: `drift_tests.rs`.

use crate::random::{derive, nth};
use crate::variation::{pick, quantiles, Change, Factors, Variation};
use crate::EarId;
use thalweg_units::{Channel, Db, Duration, SimTime};

/// A world: which draws it makes, and how old it is where a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct World {
    /// Which draws.
    pub seed: u64,
    /// What has passed since time zero of the world when a run on it begins.
    pub age: Duration,
}

/// How long a burst holds, in nanoseconds.
const BURST_NS: u64 = 500_000_000;
/// Bursts in a turn: what holds longer holds for turns, of half a minute.
const TURN: u64 = 60;
/// How long each part of a change holds, in turns.
const SPANS: [u64; 4] = [1, 30, 240, 2_880];
/// Of what changes in a quarter of an hour, the share that changes in half a minute. An assumption: people make the
/// changes (Grenoble's links change by 1.3 dB from one visit to the next by day, and by 0.08 dB by night), and people
/// move within a minute.
const QUICK: f64 = 0.5;

/// Shares of the variance that are common to a channel alone, to blocks of three, and of eight. Between channels 1, 2, 3,
/// 4, 5, 6 and 7 apart the correlation is .51, .35, .23, .15, .11, .08 and .04; that of the changes in the trace of
/// Grenoble is .51, .33, .22, .16, .11, .08 and .05, and nil beyond 9 (631,205 changes of links above .95).
const SHARES: [f64; 3] = [0.325, 0.375, 0.3];

/// The names of the blocks that `channel` is in, as `cell` lays them.
#[inline]
fn blocks(cell: u64, channel: u64) -> [u64; SHARES.len()] {
    let (of_three, of_eight) = ((((cell >> 20) & 0xffff) * 3) >> 16, (cell >> 36) & 7);
    [
        channel,
        0x100 | ((channel + of_three) / 3),
        0x200 | ((channel + of_eight) / 8),
    ]
}

/// Variance of the logarithm of a scale. The 99th percentile of a change is 3.7 and the 99.9th 7.5 times the standard
/// deviation; in Grenoble 4.2 and 9 after 2.7 hours, 4.0 and 7.5 after 15. Scales of channels far apart are the same:
/// there the logarithms of changes correlate with .35, here with .38.
const LOG_SCALE_VARIANCE: f64 = 0.75;

/// One part of a change.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// How long it holds, in turns.
    span: u64,
    /// Standard deviation, in decibels.
    sigma: f64,
}

/// Variances of what holds for each of [`SPANS`], so that changes come to `change`.
fn variances(change: &Change) -> [f64; 4] {
    let half = |db: Db| 0.5 * db.0 * db.0;
    let Change {
        after_15_min,
        after_2_h,
        after_1_day,
    } = change;
    let (quarter, hours, day) = (half(*after_15_min), half(*after_2_h), half(*after_1_day));
    let [_, q, h, d] = SPANS.map(|span| span as f64);
    // A part that holds for a span T contributes t / T of its variance to a change over t < T.
    let daily = ((day - hours) / (1.0 - h / d)).max(0.0);
    let hourly = ((hours - quarter - daily * (h - q) / d) / (1.0 - q / h)).max(0.0);
    let quick = (quarter - hourly * q / h - daily * q / d).max(0.0);
    [QUICK * quick, (1.0 - QUICK) * quick, hourly, daily]
}

/// Entries of the memory of changes.
const KEPT: usize = 1 << 12;

/// The last factor of a link's power. It holds as long as its burst, so nothing is drawn until then.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Held {
    /// When the burst ends, in nanoseconds of the run; zero where nothing is held.
    until: u64,
    factor: f32,
}

/// [`Held`] of links by sender and channel, in the order of that sender's links; empty for a sender that never sends.
#[derive(Debug)]
pub(crate) struct HeldRows(Vec<Vec<Held>>);

impl HeldRows {
    /// Of so many senders.
    pub(crate) fn new(senders: usize) -> Self {
        Self(vec![Vec::new(); senders * Channel::COUNT])
    }
    /// What is held of the `links` of `from` on `channel`.
    #[inline]
    pub(crate) fn of(&mut self, from: EarId, channel: Channel, links: usize) -> &mut [Held] {
        let row = (self.0).get_mut(from.0 as usize * Channel::COUNT + channel.index());
        let Some(row) = row else { return &mut [] };
        if row.len() < links {
            row.resize(links, Held::default());
        }
        row
    }
}

/// How the links of a run change.
#[derive(Debug, Clone)]
pub(crate) struct Drift {
    key: u64,
    age_ns: u64,
    /// Factors of a burst, by what they are common to; none where there are no bursts.
    bursts: Option<[Factors; SHARES.len()]>,
    parts: Vec<Part>,
    normal: Vec<f32>,
    scales: Vec<f32>,
    /// Changes as factors, by the low bits of whose they are, and whose exactly.
    kept: Vec<(u64, f32)>,
}

impl Drift {
    pub(crate) fn new(variation: &Variation, world: World) -> Self {
        let parts = SPANS.into_iter().zip(variances(&variation.change));
        let mut parts: Vec<Part> = parts
            .map(|(span, variance)| Part {
                span,
                sigma: variance.sqrt(),
            })
            .collect();
        parts.retain(|part| part.sigma > 0.0);
        let deviation = LOG_SCALE_VARIANCE.sqrt();
        // The mean of its square is one.
        let scale = |z| libm::exp(deviation * z - LOG_SCALE_VARIANCE);
        let (normal, scales, kept) = match parts.is_empty() {
            true => (Vec::new(), Vec::new(), Vec::new()),
            false => (quantiles(|z| z), quantiles(scale), vec![(0, 1.0); KEPT]),
        };
        let burst = variation.burst.0;
        Self {
            key: derive(world.seed, "change", &[]),
            age_ns: world.age.as_nanos(),
            bursts: (burst > 0.0)
                .then(|| SHARES.map(|share| Factors::new(Db(burst * share.sqrt())))),
            parts,
            normal,
            scales,
            kept,
        }
    }

    /// What the mean power between two ears is multiplied with at `at` of the run; the same in both directions. `held` is
    /// kept for this pair and channel.
    #[inline]
    pub(crate) fn factor(
        &mut self,
        held: &mut Held,
        at: SimTime,
        a: EarId,
        b: EarId,
        channel: Channel,
    ) -> f32 {
        // In the burst that ends then: neither after it nor before it.
        if held.until.wrapping_sub(at.as_nanos()).wrapping_sub(1) >= BURST_NS {
            *held = self.draw(at, a, b, channel);
        }
        held.factor
    }

    #[inline(never)]
    fn draw(&mut self, at: SimTime, a: EarId, b: EarId, channel: Channel) -> Held {
        let (low, high) = (a.min(b), a.max(b));
        let pair = nth(self.key, u64::from(low.0) << 32 | u64::from(high.0));
        // Pairs change at moments of their own.
        let since_zero = self.age_ns + at.as_nanos() + pair % BURST_NS;
        let burst = since_zero / BURST_NS;
        let until = at.as_nanos() + (BURST_NS - since_zero % BURST_NS);
        let place = channel.index() as u64;
        let mut factor = 1.0;
        if let Some(bursts) = &self.bursts {
            let cell = nth(pair, burst);
            for (block, factors) in blocks(cell, place).into_iter().zip(bursts) {
                factor *= factors.pick(nth(cell, block));
            }
        }
        if !self.parts.is_empty() {
            factor *= self.change(pair, (burst + (pair >> 40) % TURN) / TURN, place);
        }
        Held { until, factor }
    }

    /// The part of it that holds longer than bursts.
    #[inline]
    fn change(&mut self, pair: u64, turn: u64, channel: u64) -> f32 {
        let whose = nth(pair ^ channel, turn);
        let place = whose as usize % KEPT;
        if let Some((owner, factor)) = self.kept.get(place) {
            if *owner == whose {
                return *factor;
            }
        }
        let factor = Db(self.level(pair, turn, channel)).factor() as f32;
        if let Some(slot) = self.kept.get_mut(place) {
            *slot = (whose, factor);
        }
        factor
    }

    /// Decibels around the mean.
    fn level(&self, pair: u64, turn: u64, channel: u64) -> f64 {
        let of_part = |part: &Part| {
            let key = nth(!pair, part.span);
            let cell = nth(key, (turn + key % part.span) / part.span);
            let scale = pick(&self.scales, cell >> 40).unwrap_or(1.0);
            let drawn = |block| pick(&self.normal, nth(cell, block)).unwrap_or(0.0);
            let z = |(block, share): (u64, f64)| share.sqrt() * f64::from(drawn(block));
            let all = blocks(cell, channel).into_iter().zip(SHARES);
            part.sigma * f64::from(scale) * all.map(z).sum::<f64>()
        };
        self.parts.iter().map(of_part).sum()
    }
}

#[cfg(test)]
#[path = "drift_tests.rs"]
mod tests;
