//! How long a transfer hop by hop takes: over links that stay as they are, and over links as they may turn out.
//!
//! A relay receives and sends by turns, so a route is as fast as the slowest two hops in a row allow: the longer it is, the
//! more it costs that links change. What a survey leaves open is therefore drawn. A course begins with links that fit what
//! was counted, or, of a ratio that no survey has counted, with the channel that a survey would choose. Every half minute its
//! links have changed by the law of `ageing`. Where a hop carries nothing, nodes give up and are called on other channels.
//! All routes are drawn by the same numbers. Not modelled: routes that lead past a bad link, and losses that come in bursts. Time base:
//! seconds. Tests: `hop_time_tests.rs`.

use crate::ageing;
use crate::link_model::LinkModel;
use crate::protocol_constants::beacon_delivery;
use crate::request::Transfer;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use thalweg_units::{Db, Duration};
use thalweg_wire::hop::{BLOCK, CONTROL_BYTES, HEADER_BYTES};
use thalweg_wire::phy::air_time;

/// A link over which less gets through is none.
const LEAST: f64 = 0.02;
/// From a block's arrival at a relay to the next poll of the node before it, and until that node finds the relay free
/// again: half of the time between polls.
const HANDOVER: Duration = Duration::from_millis(6);
/// Nodes answer calls for so long before data flows.
const CALL: Duration = Duration::from_millis(150);
/// Nodes of a route wait so long for a frame before they leave it, and for so long one is called then.
const GIVEN_UP_S: f64 = 8.0 + 10.0;
/// Beacons of a sweep by which a hop's channel is chosen: two each way.
const BEACONS: usize = 4;
/// A course that takes so many times as long as over links that stay as they are is followed no longer, but for
/// [`ageing::WHOLE_S`] at least.
const LONGEST: f64 = 4.0;
/// Courses that are drawn, and how many of them are shorter, and longer, than what is likely.
const COURSES: usize = 100;
const TAIL: usize = COURSES / 10;

/// What a transfer hop by hop takes over a link, in seconds a packet.
pub(crate) fn cost(forth: f64, back: f64, transfer: &Transfer) -> f64 {
    if forth < LEAST || back < LEAST {
        return f64::INFINITY;
    }
    let gap = transfer.cycle.gap;
    let data = (air_time(HEADER_BYTES + transfer.cycle.payload_bytes) + gap).as_secs_f64();
    let control = (air_time(CONTROL_BYTES) + gap).as_secs_f64() * 2.0;
    let block = f64::from(BLOCK);
    // Rounds until all packets of a block are there, and the first poll.
    let lost = (1.0 - forth).max(1e-3);
    let rounds = 2.0 + block.ln() / -lost.ln();
    data / forth + rounds * control / (forth * back) / block
}

/// The share of frames that a link delivers, 0..=1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    /// As far as is known.
    pub(crate) known: f64,
    /// The number of frames that it was counted over; none for a ratio from a file that does not say.
    pub(crate) frames: Option<f64>,
    /// The margin by the link's level, in decibels, where it lost nothing.
    pub(crate) margin: Option<f64>,
}

impl Share {
    /// A link over which nothing was heard.
    pub(crate) const NONE: Self = Self {
        known: 0.0,
        frames: None,
        margin: None,
    };
}

/// A hop of a route.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HopLinks {
    /// Forth and back, on each channel that it may have.
    pub(crate) channels: Vec<[Share; 2]>,
    /// Seconds a packet that calling takes.
    pub(crate) call: f64,
}

/// Seconds that a packet takes over each hop.
struct Pace(Vec<f64>);

impl Pace {
    fn handover(&self) -> f64 {
        match self.0.len() {
            1 => 0.0,
            _ => HANDOVER.as_secs_f64(),
        }
    }
    /// From one block to the next.
    fn block(&self) -> f64 {
        let pairs = self.0.windows(2).map(|pair| pair[0] + pair[1]);
        pairs.fold(self.0[0], f64::max) * f64::from(BLOCK) + self.handover()
    }
    /// Until the first block has arrived.
    fn first(&self) -> f64 {
        let hop = |cost: &f64| cost * (f64::from(BLOCK) + 2.0) + self.handover();
        CALL.as_secs_f64() + self.0.iter().map(hop).sum::<f64>()
    }
}

/// Blocks of a transfer after its first.
fn blocks(transfer: &Transfer) -> f64 {
    let packets = f64::from(transfer.packets) + 1.0;
    (packets / f64::from(BLOCK)).max(1.0) - 1.0
}

/// How long it takes where a packet takes so many seconds over each hop.
pub(crate) fn steady_s(each: Vec<f64>, transfer: &Transfer) -> f64 {
    let pace = Pace(each);
    pace.first() + blocks(transfer) * pace.block()
}

/// How long it takes as links may turn out, in seconds: the shortest course first.
pub(crate) struct Courses(Vec<f64>);

impl Courses {
    /// Over `hops`, by `model`, where it takes `steady_s` over links that stay as they are.
    pub(crate) fn drawn(
        hops: &[HopLinks],
        model: &LinkModel,
        (transfer, steady_s): (&Transfer, f64),
    ) -> Self {
        let longest_s = match steady_s.is_finite() {
            true => ageing::WHOLE_S.max(LONGEST * steady_s),
            false => ageing::WHOLE_S,
        };
        let mut course = Course {
            curve: Curve::of(model),
            hops,
            transfer,
            longest_s,
            rng: Pcg64Mcg::seed_from_u64(0),
        };
        let mut each: Vec<f64> = (0..COURSES).map(|_| course.seconds()).collect();
        each.sort_by(f64::total_cmp);
        Self(each)
    }
    /// The mean of `of`, a function of how long it takes.
    pub(crate) fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.0.iter().map(|seconds| of(*seconds)).sum::<f64>() / self.0.len() as f64
    }
    /// Between which times eight of ten lie.
    pub(crate) fn likely(&self) -> [f64; 2] {
        [self.0[TAIL], self.0[COURSES - 1 - TAIL]]
    }
}

/// What is drawn of a course.
struct Course<'a> {
    curve: Curve,
    hops: &'a [HopLinks],
    transfer: &'a Transfer,
    longest_s: f64,
    rng: Pcg64Mcg,
}

impl Course<'_> {
    fn seconds(&mut self) -> f64 {
        let hops = self.hops;
        let mut found = self.found_all();
        let (mut seconds, mut left, mut flows) = (0.0, blocks(self.transfer), false);
        while seconds < self.longest_s {
            let each = hops.iter().zip(&found);
            let pace = Pace(each.map(|(hop, found)| self.now(hop, *found)).collect());
            if !pace.block().is_finite() {
                // The next part takes other channels.
                seconds += GIVEN_UP_S;
                (found, flows) = (self.found_all(), false);
                continue;
            }
            if !flows {
                seconds += pace.first();
                flows = true;
            }
            let needed = left * pace.block();
            if needed <= ageing::HALF_S {
                return seconds + needed;
            }
            left -= ageing::HALF_S / pace.block();
            seconds += ageing::HALF_S;
        }
        seconds
    }

    fn found_all(&mut self) -> Vec<[Found; 2]> {
        let hops = self.hops;
        hops.iter().map(|hop| self.surveyed(hop)).collect()
    }
    /// A hop's link as a survey may have found it, forth and back.
    fn surveyed(&mut self, hop: &HopLinks) -> [Found; 2] {
        let mut best = None;
        for link in &hop.channels {
            // Both directions change alike.
            let changed = ageing::change(&mut self.rng).0;
            let found = link.map(|share| self.found(share, changed));
            let heard = match hop.channels.len() {
                1 => 0,
                _ => self.beacons(found),
            };
            if best.is_none_or(|(most, _)| heard > most) {
                best = Some((heard, found));
            }
        }
        best.map_or([Found::NOTHING; 2], |(_, found)| found)
    }
    /// A share that fits what was counted, or that of a link that has `changed` since its ratio was measured.
    fn found(&mut self, share: Share, changed: f64) -> Found {
        let level = share.margin.unwrap_or(f64::NEG_INFINITY);
        let of = |share: f64, curve: &Curve| Found {
            share: share.clamp(curve.share(Curve::LOWEST_DB), 1.0),
            margin: curve.margin(share).max(level),
        };
        let Some(frames) = share.frames else {
            return of(share.known, &self.curve).changed(changed, &self.curve);
        };
        // Wilson's interval of a standard deviation: of all frames none is lost by chance alone.
        let spread = share.known * (1.0 - share.known) + 0.25 / frames;
        let by = ageing::normal(&mut self.rng) * (spread / frames).sqrt();
        of(share.known + by, &self.curve)
    }
    /// How many of a sweep's beacons arrive.
    fn beacons(&mut self, found: [Found; 2]) -> usize {
        let shares = found.map(|found| beacon_delivery(found.share));
        let sent = (0..BEACONS).map(|number| shares[number % 2]);
        sent.filter(|share| self.rng.random::<f64>() < *share)
            .count()
    }
    /// What a packet takes over the hop in this half minute.
    fn now(&mut self, hop: &HopLinks, found: [Found; 2]) -> f64 {
        let by = match self.rng.random::<f64>() < ageing::changed_share(ageing::HALF) {
            true => ageing::change(&mut self.rng).0,
            false => 0.0,
        };
        let [forth, back] = found.map(|found| found.changed(by, &self.curve).share);
        cost(forth, back, self.transfer) + hop.call
    }
}

/// What a link delivers, and the margin over the floor on which that depends, in decibels.
#[derive(Debug, Clone, Copy)]
struct Found {
    share: f64,
    margin: f64,
}

impl Found {
    const NOTHING: Self = Self {
        share: 0.0,
        margin: f64::NEG_INFINITY,
    };
    /// The same link `by` so many decibels stronger: what a strong one loses is not for its level.
    fn changed(self, by: f64, curve: &Curve) -> Self {
        let margin = self.margin + by;
        let before = curve.share(self.margin).max(f64::MIN_POSITIVE);
        let share = (self.share * curve.share(margin) / before).min(1.0);
        Self { share, margin }
    }
}

/// Which share of frames arrives with which margin, in steps.
struct Curve(Vec<f64>);

impl Curve {
    const LOWEST_DB: f64 = -10.0;
    const STEP_DB: f64 = 0.125;
    const STEPS: u16 = 200;

    /// Of a link whose level is known.
    fn of(model: &LinkModel) -> Self {
        let at = |step: u16| Self::LOWEST_DB + Self::STEP_DB * f64::from(step);
        let share = |step| model.delivery_over(Db(at(step)), Db(0.0));
        Self((0..Self::STEPS).map(share).collect())
    }
    fn share(&self, margin: f64) -> f64 {
        let step = ((margin - Self::LOWEST_DB) / Self::STEP_DB).max(0.0) as usize;
        self.0.get(step).or(self.0.last()).copied().unwrap_or(0.0)
    }
    fn margin(&self, share: f64) -> f64 {
        let step = self.0.partition_point(|lower| *lower < share);
        Self::LOWEST_DB + Self::STEP_DB * step as f64
    }
}

#[cfg(test)]
#[path = "hop_time_tests.rs"]
mod tests;
