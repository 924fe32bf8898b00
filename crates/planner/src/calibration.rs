//! What a survey tells of itself: how far its own numbers can be trusted.
//!
//! Three things are read off it. Links are reciprocal but for what measuring and time add, and a pair's directions are
//! measured minutes apart: what they differ by beside the nodes' own offsets is what is not known of a link. And how
//! many beacons arrived at each level tells how widely reception spreads around the radio's curve. What
//! strong links lose is lost to others on the channel, where others are louder. Nothing else is known of the site. What
//! several surveys tell is in `picture`. Tests: below.

use crate::ageing::Ageing;
use crate::link_model::LinkModel;
use crate::links::{LinkQualities, LinkQuality};
use crate::protocol_constants;
use thalweg_units::{Channel, Db, Dbm, Duration};

/// Of fewer pairs or links nothing is learned.
const ENOUGH: usize = 40;
/// Ratio from which a mean level is that of all frames, and not of the stronger ones that arrived.
const WHOLE: f64 = 0.9;
/// Spreads tried, in decibels: none is less than a radio's own curve, and beyond the last a survey tells nothing.
const SPREADS: std::ops::RangeInclusive<u32> = 2..=20;
const SPREAD_STEP: f64 = 0.25;
/// Share of frames that are lost for other reasons than their level; keeps one of them from deciding a fit.
const OTHERWISE_LOST: f64 = 0.03;
/// Beacons of a link from which their count tells of the curve. Links of which nothing came through are not known of, so
/// that of fewer beacons those that are known have lost too little near the floor, whatever the spread.
const COUNTED: u32 = 5;
/// How far apart both directions of a pair are measured where nodes beacon in turns: a third of a survey, which takes a
/// minute. In a sweep it is a second.
const TURNS_APART: Duration = Duration::from_secs(20);
/// From the middle of a sweep to when its tables are in: 4.5 s in a building of 139 nodes that are swept on four channels.
const SWEPT_BEFORE: Duration = Duration::from_millis(4_500);
/// Margin from which a radio's curve loses nothing, in decibels.
pub(crate) const STRONG_DB: f64 = 10.0;
/// Links that tell of others' frames lie less than so much above that: stronger ones may be louder than what disturbs others, and are
/// seldom hops of a chain.
const TELLING_DB: f64 = 15.0;
/// Links that are looked at for a fit; more say the same.
const LOOKED_AT: usize = 4_000;

impl LinkModel {
    /// The model of a radio with this effective `floor` as `links` tell it; [`LinkModel::UNKNOWN`] spreads where they
    /// tell too little.
    pub fn learned(links: &LinkQualities, floor: Dbm) -> Self {
        let model = Self {
            floor,
            ..Self::UNKNOWN
        };
        Self {
            unknown: between_directions(links).unwrap_or(model.unknown),
            packet: around_the_curve(links, &model).unwrap_or(model.packet),
            outage: model.outage_in([links]).unwrap_or(model.outage),
            ..model
        }
    }

    /// What links may have become since `links` were measured `age` ago.
    pub(crate) fn since(&self, links: &LinkQualities, age: Duration) -> Ageing {
        let (age, apart) = match all(links).any(|quality| quality.is_swept()) {
            true => (age + SWEPT_BEFORE, Duration::ZERO),
            false => (age, TURNS_APART),
        };
        let margins = all(links).filter_map(|quality| self.power(&quality));
        let margins = margins.map(|power| (power - self.floor).0);
        Ageing::since(age, apart, margins)
    }

    /// The share of long frames that links far above the curve lose; none where too few beacons were sent over these. One of two
    /// beacons that others took is half of a link's share, which does not make it a weak one: links of so few are known by what
    /// came through. Where some of `surveys` were sent in turns, these tell it.
    pub(crate) fn outage_in<'a>(
        &self,
        surveys: impl IntoIterator<Item = &'a LinkQualities>,
    ) -> Option<f64> {
        // Beacons lost and sent, in turns and in sweeps.
        let [mut turns, mut sweeps] = [[0.0; 2]; 2];
        for (quality, sent) in surveys
            .into_iter()
            .flat_map(all)
            .filter_map(|quality| Some((quality, f64::from(quality.sent?))))
        {
            let (level, counts) = match quality.is_swept() {
                true => (self.heard(&quality), &mut sweeps),
                false => (self.power(&quality), &mut turns),
            };
            let over = level.map(|level| (level - self.floor).0 - STRONG_DB);
            if over.is_some_and(|over| (0.0..TELLING_DB).contains(&over)) {
                counts[0] += (1.0 - quality.prr) * sent;
                counts[1] += sent;
            }
        }
        let share = |[lost, sent]: [f64; 2]| (sent >= ENOUGH as f64).then(|| lost / sent);
        share(turns).or_else(|| share(sweeps).map(protocol_constants::of_long_frames))
    }
}

/// Every link on every channel.
fn all(links: &LinkQualities) -> impl Iterator<Item = LinkQuality> + '_ {
    Channel::all().flat_map(move |channel| {
        (0..links.nodes()).flat_map(move |node| {
            let heard = links.heard_from(node, channel);
            heard.map(|(_, quality)| quality)
        })
    })
}

/// Both directions of every pair on every channel, where both are whole: nodes, and the difference in decibels.
fn differences(links: &LinkQualities) -> Vec<(usize, usize, f64)> {
    let whole = |quality: LinkQuality| quality.rssi.filter(|_| quality.prr >= WHOLE);
    let mut found = Vec::new();
    for channel in Channel::all() {
        for a in 0..links.nodes() {
            for (b, there) in links.heard_from(a, channel).filter(|(b, _)| a < *b) {
                let back = links.quality(b, a, channel).and_then(whole);
                if let (Some(there), Some(back)) = (whole(there), back) {
                    found.push((a, b, there.0 - back.0));
                }
            }
        }
    }
    found
}

/// Standard deviation of what is not known of one direction.
fn between_directions(links: &LinkQualities) -> Option<Db> {
    let found = differences(links);
    if found.len() < ENOUGH {
        return None;
    }
    // What a node sends stronger, or reads higher, than others shows in all its pairs.
    let mut own = vec![(0.0, 0.0); links.nodes()];
    for (a, b, d) in &found {
        for (node, d) in [(*a, *d), (*b, -*d)] {
            own[node].0 += d;
            own[node].1 += 1.0;
        }
    }
    let offset = |node: usize| own[node].0 / f64::max(own[node].1, 1.0);
    let rest = |(a, b, d): &(usize, usize, f64)| d - (offset(*a) - offset(*b));
    let squares: f64 = found.iter().map(|found| rest(found).powi(2)).sum();
    Some(Db((0.5 * squares / found.len() as f64).sqrt()))
}

/// Standard deviation with which reception spreads around the radio's own curve: the one under which the counts are
/// likeliest.
fn around_the_curve(links: &LinkQualities, model: &LinkModel) -> Option<Db> {
    let mut counted = Vec::new();
    for channel in Channel::all() {
        for from in 0..links.nodes() {
            for (_, quality) in links.heard_from(from, channel) {
                let Some((sent, power)) = quality.sent.zip(model.power(&quality)) else {
                    continue;
                };
                let margin = power - model.floor;
                // Far above the curve nothing is told of it.
                if quality.prr > 0.0 && margin.0 < STRONG_DB && sent >= COUNTED {
                    let received = quality.prr * f64::from(sent);
                    counted.push((margin, received, f64::from(sent) - received));
                }
            }
        }
    }
    if counted.len() < ENOUGH {
        return None;
    }
    let step = counted.len().div_ceil(LOOKED_AT);
    let likelihood = |spread: u32| {
        let tried = LinkModel {
            packet: Db(f64::from(spread) * SPREAD_STEP),
            unknown: Db(0.0),
            ..*model
        };
        let of = |(margin, received, lost): &(Db, f64, f64)| {
            let p = (1.0 - OTHERWISE_LOST) * tried.delivery_at(*margin).max(1e-4);
            received * libm::log(p) + lost * libm::log1p(-p)
        };
        counted.iter().step_by(step).map(of).sum::<f64>()
    };
    let best = SPREADS
        .map(|spread| (likelihood(spread), spread))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, spread)| Db(f64::from(spread) * SPREAD_STEP))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect;
    use rand::{Rng as _, SeedableRng as _};
    use rand_pcg::Pcg64Mcg;

    const FLOOR: Dbm = Dbm(-95.5);

    /// A table whose two directions differ by `between` decibels (rms, over and above nodes' offsets), and whose
    /// frames spread by `around` decibels.
    fn table(between: f64, around: f64) -> LinkQualities {
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let nodes = 30;
        let mut links = LinkQualities::new(nodes);
        let offsets: Vec<f64> = (0..nodes).map(|_| 2.0 * normal()).collect();
        let truth = LinkModel {
            packet: Db(around),
            unknown: Db(0.0),
            floor: FLOOR,
            ..LinkModel::UNKNOWN
        };
        for a in 0..nodes {
            for b in a + 1..nodes {
                let level = -90.0 + 4.0 * normal();
                for (from, to) in [(a, b), (b, a)] {
                    let level = level + offsets[from] + between * normal();
                    let p = truth.delivery_at(Db(level - FLOOR.0));
                    let received = (0..20).filter(|_| normal() < inverse(p)).count() as u32;
                    // As a register has it: with the noise.
                    let rssi =
                        (Dbm(level).milliwatts().0 + truth.register_noise.milliwatts().0).log10();
                    let rssi = (received > 0).then_some(Dbm(10.0 * rssi));
                    (links.record(from, to, Channel::LAST, received, 20, rssi)).unwrap();
                }
            }
        }
        links
    }

    /// The standard normal's quantile.
    fn inverse(p: f64) -> f64 {
        let below = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2) < p;
        bisect::last(-6.0, 6.0, below)
    }

    #[test]
    fn spreads_are_read_off_the_survey() {
        for (between, around) in [(0.5, 1.0), (2.0, 1.0), (1.0, 3.0)] {
            let model = LinkModel::learned(&table(between, around), FLOOR);
            assert!(
                (model.unknown.0 - between).abs() < 0.35,
                "{between}: {:?}",
                model.unknown
            );
            assert!(
                (model.packet.0 - around).abs() < 0.8,
                "{around}: {:?}",
                model.packet
            );
        }
    }

    #[test]
    fn what_strong_links_lose_is_the_outage() {
        let mut links = LinkQualities::new(30);
        for (from, to) in (0..900)
            .map(|pair| (pair / 30, pair % 30))
            .filter(|(a, b)| a != b)
        {
            // Those that are too loud to be disturbed tell nothing.
            let (received, level) = match to {
                0..15 => (10, -60.0),
                _ => (9 + (from + to) as u32 % 2, -75.0),
            };
            (links.record(from, to, Channel::LAST, received, 10, Some(Dbm(level)))).unwrap();
        }
        let outage = LinkModel::learned(&links, FLOOR).outage;
        assert!((outage - 0.05).abs() < 0.01, "{outage}");
    }

    #[test]
    fn a_link_that_lost_one_of_two_is_as_strong_as_one_that_did_not() {
        let mut links = LinkQualities::new(30);
        let pairs = (0..900).map(|pair| (pair / 30, pair % 30));
        for (from, to) in pairs.filter(|(a, b)| a != b) {
            let received = 1 + u32::from((from + to) % 10 > 0);
            // Half a decibel above what counts as strong.
            let rssi = Some(Dbm(FLOOR.0 + STRONG_DB + 1.1));
            (links.record(from, to, Channel::LAST, received, 2, rssi)).unwrap();
        }
        let lost = LinkModel::learned(&links, FLOOR).outage;
        assert!(
            (lost / protocol_constants::of_long_frames(0.05) - 1.0).abs() < 0.1,
            "{lost}"
        );
    }

    #[test]
    fn too_few_links_tell_nothing() {
        let mut links = LinkQualities::new(3);
        links
            .record(0, 1, Channel::LAST, 10, 10, Some(Dbm(-70.0)))
            .unwrap();
        let model = LinkModel::learned(&links, Dbm(-101.5));
        assert_eq!(model.packet, LinkModel::UNKNOWN.packet);
        assert_eq!(model.unknown, LinkModel::UNKNOWN.unknown);
        assert_eq!(model.floor, Dbm(-101.5));
    }
}
