//! How far a survey's numbers can be trusted, read off the survey itself.
//!
//! Links are reciprocal but for errors and changes, and a pair's directions are measured at different times: their
//! difference beside the nodes' own offsets is the uncertainty of a link. The beacons that arrived at each level show how
//! widely reception spreads around the radio's curve. Strong links lose frames to other users of the channel alone.
//! Nothing else is known of the site. `link_fusion` does the same for several surveys. Tests: `calibration_tests.rs`.

use crate::ageing::Ageing;
use crate::link_model::{LinkModel, QUANTILE_90};
use crate::links::{LinkQualities, LinkQuality};
use crate::protocol_constants;
use thalweg_units::{Channel, Db, Dbm, Duration};

/// Fewer pairs or links than this say nothing.
const ENOUGH: usize = 40;
/// Ratio from which a mean level is that of all frames, and not of the stronger ones that arrived.
const WHOLE: f64 = 0.9;
/// Spreads tried, in steps: none is less than a radio's own curve, and beyond the last a survey says nothing.
const SPREADS: std::ops::RangeInclusive<u32> = 2..=20;
/// A step, in decibels.
const SPREAD_STEP: f64 = 0.25;
/// Share of frames that are lost for other reasons than their level; keeps one of them from deciding a fit.
const OTHERWISE_LOST: f64 = 0.03;
/// How far a site's floor may lie above its radio's, in steps of half a decibel.
const SHIFTS: std::ops::RangeInclusive<u32> = 4..=24;
/// How much likelier a higher floor must be: the logarithm of a hundred.
const SURE: f64 = 4.6;
/// Beacons of a link from which their count says something of the curve. Links that lost all of their beacons are not in the
/// table, so with fewer beacons the others have lost too little near the floor, whatever the spread.
const COUNTED: u32 = 5;
/// How far apart both directions of a pair are measured where nodes beacon in turns: a third of a survey, which takes a
/// minute. In a sweep it is a second.
const TURNS_APART: Duration = Duration::from_secs(20);
/// From the middle of a sweep to when its tables are in: 4.5 s in a building of 139 nodes that are swept on four channels.
const SWEPT_BEFORE: Duration = Duration::from_millis(4_500);
/// Margin from which a radio's curve loses nothing, in decibels.
pub(crate) const STRONG_DB: f64 = 10.0;
/// Links whose losses count as foreign frames lie less than this above that: stronger ones may drown foreign frames, and are
/// seldom hops of a chain.
const OUTAGE_BAND_DB: f64 = 15.0;
/// Links used for a fit; more say the same.
const MOST_LINKS: usize = 4_000;

impl LinkModel {
    /// The model of a radio with this effective `floor`, or a higher one where `links` say so, and with its spreads by `links`;
    /// those of [`LinkModel::UNKNOWN`] where they are too few.
    pub fn learned(links: &LinkQualities, floor: Dbm) -> Self {
        let mut model = Self {
            floor,
            ..Self::UNKNOWN
        };
        model.floor = above_the_floor(links, &model).unwrap_or(floor);
        Self {
            unknown: between_directions(links).unwrap_or(model.unknown),
            packet: around_the_curve(links, &model).unwrap_or(model.packet),
            ..model
        }
        .with_outage_in([links])
    }

    /// The same with the outage that strong links show, where enough beacons were sent over these.
    pub(crate) fn with_outage_in<'a>(
        self,
        surveys: impl IntoIterator<Item = &'a LinkQualities>,
    ) -> Self {
        match self.outage_in(surveys) {
            Some((outage, outage_at_most)) => Self {
                outage,
                outage_at_most,
                ..self
            },
            None => self,
        }
    }

    /// How links may have changed since `links` were measured `age` ago.
    pub(crate) fn since(&self, links: &LinkQualities, age: Duration) -> Ageing {
        let (age, apart) = match all(links).any(|quality| quality.is_swept()) {
            true => (age + SWEPT_BEFORE, Duration::ZERO),
            false => (age, TURNS_APART),
        };
        let margins = all(links).filter_map(|quality| self.power(&quality));
        let margins = margins.map(|power| (power - self.floor).0);
        Ageing::since(age, apart, margins)
    }

    /// The share of long frames that links far above the curve lose; none where too few beacons were sent over these. A swept
    /// link that lost one of two beacons is not weak, so its level is that of the beacons that arrived. Surveys in turns
    /// count before sweeps. The second is what it may be at the most: one survey in ten with such counts has more.
    fn outage_in<'a>(
        &self,
        surveys: impl IntoIterator<Item = &'a LinkQualities>,
    ) -> Option<(f64, f64)> {
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
            if over.is_some_and(|over| (0.0..OUTAGE_BAND_DB).contains(&over)) {
                counts[0] += (1.0 - quality.prr) * sent;
                counts[1] += sent;
            }
        }
        let shares = |[lost, sent]: [f64; 2]| {
            // Of a number that was counted once, and may be none.
            let most = lost + 1.0 + QUANTILE_90 * (lost + 1.0).sqrt();
            (sent >= ENOUGH as f64).then(|| (lost / sent, (most / sent).min(1.0)))
        };
        let long = protocol_constants::of_long_frames;
        let swept = shares(sweeps).map(|(share, most)| (long(share), long(most)));
        shares(turns).or(swept)
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

/// Standard deviation of one direction's level.
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
                // Links far above the curve say nothing of it.
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
    let step = counted.len().div_ceil(MOST_LINKS);
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

/// The floor under which the counts are likeliest, where that is two decibels or more above the model's: antennas in metal,
/// noise of machines. Less than that is within the nodes' own differences.
fn above_the_floor(links: &LinkQualities, model: &LinkModel) -> Option<Dbm> {
    let counted = |quality: LinkQuality| {
        let is_swept = quality.is_swept();
        let level = match is_swept {
            true => model.heard(&quality)?,
            false => model.power(&quality)?,
        };
        let sent = f64::from(quality.sent?);
        let received = quality.prr * sent;
        (received >= 1.0).then_some((level, received, sent, is_swept))
    };
    let counted: Vec<_> = all(links).filter_map(counted).collect();
    if counted.len() < ENOUGH {
        return None;
    }
    let outage = model.outage_in([links]).map_or(0.0, |(outage, _)| outage);
    let long_lost = outage.max(OTHERWISE_LOST);
    let swept_lost = protocol_constants::of_beacons(outage).max(OTHERWISE_LOST);
    let step = counted.len().div_ceil(MOST_LINKS);
    let floor = |shift: u32| model.floor + Db(f64::from(shift) * 0.5);
    let likelihood = |shift: u32| {
        let of = |(level, received, sent, is_swept): &(Dbm, f64, f64, bool)| {
            let long = model.delivery_at(*level - floor(shift)).max(1e-4);
            let p = match is_swept {
                true => (1.0 - swept_lost) * protocol_constants::beacon_delivery(long),
                false => (1.0 - long_lost) * long,
            };
            let counts = received * libm::log(p) + (sent - received) * libm::log1p(-p);
            // Links that lost all their beacons are not in the table.
            counts - libm::log1p(-libm::pow(1.0 - p, *sent))
        };
        counted.iter().step_by(step).map(of).sum::<f64>()
    };
    let best = SHIFTS
        .map(|shift| (likelihood(shift), shift))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > likelihood(0) + SURE).then(|| floor(best.1))
}

#[cfg(test)]
#[path = "calibration_tests.rs"]
mod tests;
