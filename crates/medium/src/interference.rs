//! Foreign traffic: bursts of power that every ear of a floor sees at the same time (which is what
//! correlates their losses), at each ear with a power of its own.
//!
//! Wi-Fi covers channels 11-14, 16-19 and 21-24 (its own channels 1, 6, 11); the rest, 15, 20, 25
//! and 26, is clean but for rare common bursts (microwave ovens, Bluetooth). Bursts are drawn by blocks
//! of time, each from its own stream, so they do not depend on the order of calls. Not modelled: Wi-Fi that defers to 802.15.4. Tests: `interference_tests.rs`.

use crate::random::{derive, exponential, nth, open_unit, stream, uniform};
use thalweg_units::{Channel, Duration, SimTime};

/// Bands of interference on a floor: Wi-Fi channels 1, 6, 11, and what lies between them.
pub const BANDS: usize = 4;

/// The band of interference that `channel` is in.
pub const fn band_of(channel: Channel) -> usize {
    match channel.number() {
        11..=14 => 0,
        16..=19 => 1,
        21..=24 => 2,
        _ => 3,
    }
}

/// A process of bursts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Source {
    /// Names its streams.
    pub id: u64,
    /// Share of time under load.
    pub on_share: f64,
    /// Bursts per second under load.
    pub on_rate_hz: f64,
    /// Bursts per second otherwise.
    pub off_rate_hz: f64,
    /// Mean length of a burst; lengths are uniform from half to one and a half of it.
    pub mean_burst: Duration,
    /// How long load lasts or does not, at least.
    pub load_period: Duration,
}

/// The bursts around an environment.
#[derive(Debug, Clone, Default)]
pub struct Interference {
    /// By floor and band.
    sources: Vec<[Option<Source>; BANDS]>,
    /// Of each ear: its floor, and what it receives from each band's bursts, in milliwatts.
    ears: Vec<(u16, [f32; BANDS])>,
}

impl Interference {
    /// None.
    pub fn none() -> Self {
        Self::default()
    }
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.sources.iter().flatten().all(Option::is_none)
    }
    /// `sources` by floor and band; `ears`: the floor of each, and the power of each band there.
    pub fn new(sources: Vec<[Option<Source>; BANDS]>, ears: Vec<(u16, [f32; BANDS])>) -> Self {
        Self { sources, ears }
    }
    /// This around `own` ears, and `other` around those numbered after them.
    pub(crate) fn beside(mut self, own: usize, other: Self) -> Self {
        if self.ears.is_empty() && other.ears.is_empty() {
            return Self::none();
        }
        // An ear on a floor without sources is not disturbed.
        let floors = self.sources.len() as u16;
        let ids = u64::from(floors) * BANDS as u64;
        self.ears.resize(own, (u16::MAX, [0.0; BANDS]));
        let more = other.ears.into_iter();
        let floor_of = |floor: u16| floor.saturating_add(floors);
        self.ears
            .extend(more.map(|(floor, power)| (floor_of(floor), power)));
        let renamed = |source: Source| Source {
            id: source.id + ids,
            ..source
        };
        let sources = other.sources.into_iter();
        self.sources
            .extend(sources.map(|floor| floor.map(|s| s.map(renamed))));
        self
    }
    /// What disturbs `ear` on `channel`: the place of the source in [`Bursts`], and its power in
    /// milliwatts.
    #[inline]
    pub(crate) fn at(&self, ear: usize, channel: Channel) -> Option<(usize, f64)> {
        let (floor, power) = self.ears.get(ear)?;
        let band = band_of(channel);
        self.sources.get(usize::from(*floor))?.get(band)?.as_ref()?;
        Some((
            usize::from(*floor) * BANDS + band,
            f64::from(*power.get(band)?),
        ))
    }
    fn source(&self, place: usize) -> Option<&Source> {
        self.sources
            .get(place / BANDS)?
            .get(place % BANDS)?
            .as_ref()
    }
    fn len(&self) -> usize {
        self.sources.len() * BANDS
    }
}

/// Bursts are drawn this much time at once, and none is longer.
const BLOCK_NS: u64 = 50_000_000;
/// Blocks kept per source: a frame of any chip fits in them.
const KEPT: usize = 4;

/// A burst: from, to, in nanoseconds.
pub(crate) type Burst = (u64, u64);

#[derive(Debug, Clone, Default)]
struct Block {
    number: Option<u64>,
    bursts: Vec<Burst>,
}

/// The bursts of one run, drawn as they are asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bursts {
    seed: u64,
    blocks: Vec<[Block; KEPT]>,
}

impl Bursts {
    pub(crate) fn new(interference: &Interference, seed: u64) -> Self {
        Self {
            seed,
            blocks: vec![<[Block; KEPT]>::default(); interference.len()],
        }
    }

    /// Calls `each` with every burst of the source at `place` that overlaps `from..to`, in order. A
    /// source has one transmitter: bursts of neighbouring blocks that meet follow each other.
    pub(crate) fn overlapping(
        &mut self,
        interference: &Interference,
        place: usize,
        from: u64,
        to: u64,
        mut each: impl FnMut(Burst),
    ) {
        let (Some(source), Some(blocks)) = (interference.source(place), self.blocks.get_mut(place))
        else {
            return;
        };
        let last = to / BLOCK_NS;
        // The block before may have a burst that reaches over.
        let mut number = (from / BLOCK_NS).saturating_sub(1);
        let mut taken = 0;
        while number <= last {
            if let Some(block) = blocks.get_mut(number as usize % KEPT) {
                if block.number != Some(number) {
                    draw_block(self.seed, source, number, &mut block.bursts);
                    block.number = Some(number);
                }
                let start = block.bursts.partition_point(|burst| burst.1 <= from);
                for &burst in block.bursts.get(start..).unwrap_or(&[]) {
                    let begin = burst.0.max(taken);
                    if begin >= to {
                        break;
                    }
                    if begin < burst.1 {
                        each((begin, burst.1));
                        taken = burst.1;
                    }
                }
            }
            number += 1;
        }
    }

    /// Whether a burst of the source at `place` is on at `at`.
    pub(crate) fn is_on(&mut self, interference: &Interference, place: usize, at: SimTime) -> bool {
        let at = at.as_nanos();
        let mut on = false;
        self.overlapping(interference, place, at, at + 1, |_| on = true);
        on
    }

    /// Foreign power at `at`; `external` as [`Interference::at`] gives it.
    pub(crate) fn power_at(
        &mut self,
        interference: &Interference,
        external: Option<(usize, f64)>,
        at: SimTime,
    ) -> f64 {
        match external {
            Some((source, power)) if self.is_on(interference, source, at) => power,
            _ => 0.0,
        }
    }

    /// The bursts between `from` and `to`, in order.
    pub(crate) fn gather(
        &mut self,
        interference: &Interference,
        external: Option<(usize, f64)>,
        from: u64,
        to: SimTime,
        into: &mut Vec<Burst>,
    ) {
        into.clear();
        if let Some((source, _)) = external {
            self.overlapping(interference, source, from, to.as_nanos(), |burst| {
                into.push(burst);
            });
        }
    }
}

fn draw_block(seed: u64, source: &Source, number: u64, bursts: &mut Vec<Burst>) {
    bursts.clear();
    let start = number * BLOCK_NS;
    let period = start / source.load_period.as_nanos().max(BLOCK_NS);
    let load = open_unit(nth(derive(seed, "load", &[source.id]), period));
    let rate = if load < source.on_share {
        source.on_rate_hz
    } else {
        source.off_rate_hz
    };
    if rate <= 0.0 {
        return;
    }
    let mut rng = stream(seed, "bursts", &[source.id, number]);
    let mean = source.mean_burst.as_nanos() as f64;
    let mut t = start as f64;
    loop {
        t += exponential(&mut rng) * 1e9 / rate;
        if t >= (start + BLOCK_NS) as f64 {
            return;
        }
        let length = (mean * (0.5 + uniform(&mut rng))).min(BLOCK_NS as f64);
        let begin = t as u64;
        // One sender at a time: a burst that would begin during another makes that one longer.
        match bursts.last_mut() {
            Some(last) if last.1 > begin => last.1 = last.1.max(begin + length as u64),
            _ => bursts.push((begin, begin + length as u64)),
        }
    }
}

#[cfg(test)]
#[path = "interference_tests.rs"]
mod tests;
