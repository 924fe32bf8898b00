//! One table of a network's links out of several surveys and of what transfers have seen since.
//!
//! A link's level is the mean of its readings, each weighted by the inverse of its variance. That variance is a reading's
//! own, plus what its pair of nodes may have changed since. The error of the mean is the link's uncertainty. A pair's
//! change is the mean square of the differences between consecutive surveys; the mean over all pairs counts as one more
//! difference of each. A single survey shows no change. Tests: `link_fusion_tests.rs`.

mod sightings;

use crate::ageing::changed_share;
use crate::calibration::STRONG_DB;
use crate::link_model::LinkModel;
use crate::links::{LinkQualities, LinkQuality};
pub use sightings::Sighting;
use sightings::Sightings;
use std::collections::BTreeMap;
use thalweg_units::{Channel, Db, Dbm, Duration};

/// How many surveys and sightings of a link count at most, the newest: each more would count less than a tenth.
pub const MOST_READINGS: usize = 8;
/// Fewer changes than this say nothing of how links change.
const ENOUGH: usize = 40;

/// A survey, and how long before the coming transfer it was made.
#[derive(Debug, Clone, Copy)]
pub struct Dated<'a> {
    /// What was measured.
    pub links: &'a LinkQualities,
    /// How long ago.
    pub age: Duration,
}

/// A network's links, as surveys and transfers have measured them.
#[derive(Debug, Clone)]
pub struct FusedLinks {
    /// Each link.
    pub links: LinkQualities,
    /// How far that can be trusted.
    pub model: LinkModel,
}

/// A reading of a link's level.
#[derive(Debug, Clone, Copy)]
struct Reading {
    level: f64,
    prr: f64,
    sent: Option<u32>,
    age: Duration,
    /// How much of what changes has changed since, 0..=1.
    changed: f64,
}

/// The receivers of a node on a channel.
type Row = Vec<(usize, Option<Reading>)>;

/// A survey as readings.
struct Source<'a> {
    model: &'a LinkModel,
    age: Duration,
    changed: f64,
    /// Per channel and sender: the receivers in order, and the reading where it has a level.
    rows: Vec<Vec<Row>>,
    /// Per channel and node: whether it was heard, and whether it heard anybody.
    took_part: Vec<Vec<(bool, bool)>>,
}

impl<'a> Source<'a> {
    fn new(of: &Dated<'a>, model: &'a LinkModel) -> Self {
        let nodes = of.links.nodes();
        let on = |channel: Channel| {
            let mut took_part = vec![(false, false); nodes];
            for from in 0..nodes {
                for (to, _) in of.links.heard_from(from, channel) {
                    took_part[from].0 = true;
                    took_part[to].1 = true;
                }
            }
            took_part
        };
        let (age, changed) = (of.age, changed_share(of.age));
        let read = |(to, quality): (usize, LinkQuality)| {
            let reading = model.power(&quality).map(|power| Reading {
                level: power.0,
                prr: quality.prr,
                sent: quality.sent,
                age,
                changed,
            });
            (to, reading)
        };
        let row = |from, channel| of.links.heard_from(from, channel).map(read).collect();
        let rows = |channel| (0..nodes).map(|from| row(from, channel)).collect();
        Self {
            model,
            age,
            changed,
            rows: Channel::all().map(rows).collect(),
            took_part: Channel::all().map(on).collect(),
        }
    }

    /// The level of a link in this survey. One that was not heard, though both nodes took part, was below the level that may
    /// be missed.
    fn reading(&self, from: usize, to: usize, channel: Channel) -> Option<Reading> {
        let row = self.rows[channel.index()].get(from)?;
        if let Ok(at) = row.binary_search_by_key(&to, |(to, _)| *to) {
            return row[at].1;
        }
        let nodes = &self.took_part[channel.index()];
        let both = nodes.get(from)?.0 && nodes.get(to)?.1;
        both.then(|| Reading {
            level: self.model.unheard().0,
            prr: 0.0,
            sent: None,
            age: self.age,
            changed: self.changed,
        })
    }
}

impl FusedLinks {
    /// The links by `newest`, surveys before it and what transfers saw, for radios with this effective `floor`.
    pub fn of(newest: Dated<'_>, earlier: &[Dated<'_>], seen: &[Sighting], floor: Dbm) -> Self {
        Self::by(
            LinkModel::learned(newest.links, floor),
            newest,
            earlier,
            seen,
        )
    }

    /// The same with the `model` that was learned of the newest survey before.
    pub fn by(
        mut model: LinkModel,
        newest: Dated<'_>,
        earlier: &[Dated<'_>],
        seen: &[Sighting],
    ) -> Self {
        let links = newest.links.clone();
        if earlier.is_empty() {
            model.ageing = model.since(&links, newest.age);
        }
        if earlier.is_empty() && seen.is_empty() {
            return Self { links, model };
        }
        let surveys: Vec<Dated<'_>> = ([newest].into_iter())
            .chain(earlier.iter().copied())
            .filter(|survey| survey.links.nodes() == links.nodes())
            .take(MOST_READINGS)
            .collect();
        // Others use channels now and then: each survey saw some seconds of that.
        let tables = surveys.iter().map(|survey| survey.links);
        model = model.with_outage_in(tables);
        let sources: Vec<Source<'_>> = surveys.iter().map(|s| Source::new(s, &model)).collect();
        let spread = Spread::of(&sources, model.unknown.0.powi(2));
        let mut sightings = Sightings::of(seen);
        let mut fused = Self { links, model };
        for_each_link(&sources, |from, to, channel| {
            let read = |source: &Source<'_>| source.reading(from, to, channel);
            let mut readings: Vec<Reading> = sources.iter().filter_map(read).collect();
            let change = spread.change_of(from, to);
            let seen = sightings.of_link((from, to, channel), &model, || {
                spread.mean(&readings, change).level
            });
            if !seen.is_empty() {
                readings.extend(seen);
                readings.sort_by_key(|reading| reading.age);
                readings.truncate(MOST_READINGS);
            }
            if !readings.is_empty() {
                let mean = spread.mean(&readings, change);
                let quality = model.quality_of(&mean, &readings);
                // Both nodes are in the table.
                let _ = fused.links.put(from, to, channel, quality);
            }
        });
        let of_age = |survey: &Dated<'_>| Reading {
            level: 0.0,
            prr: 0.0,
            sent: None,
            age: survey.age,
            changed: changed_share(survey.age),
        };
        let ages: Vec<Reading> = surveys.iter().map(of_age).collect();
        fused.model.unknown = spread.mean(&ages, spread.change).unknown;
        fused
    }
}

/// Calls `visit` with every link that any of `sources` heard.
fn for_each_link(sources: &[Source<'_>], mut visit: impl FnMut(usize, usize, Channel)) {
    let nodes = sources
        .first()
        .map_or(0, |source| source.took_part[0].len());
    let mut receivers: Vec<usize> = Vec::new();
    for channel in Channel::all() {
        for from in 0..nodes {
            let rows = sources.iter().map(|s| &s.rows[channel.index()][from]);
            receivers.clear();
            receivers.extend(rows.flatten().map(|(to, _)| to));
            receivers.sort_unstable();
            receivers.dedup();
            receivers.iter().for_each(|to| visit(from, *to, channel));
        }
    }
}

/// The mean of a link's readings.
struct Mean {
    level: f64,
    prr: f64,
    /// Standard deviation of its level in the coming transfer.
    unknown: Db,
}

/// By how much readings of a link differ: variances in square decibels.
struct Spread {
    /// Of readings where nothing changed.
    reading: f64,
    /// Of links around what lasts of them: the mean of all, and of pairs of nodes.
    change: f64,
    pairs: BTreeMap<(usize, usize), f64>,
}

impl Spread {
    /// Of the strong links of `sources`, newest first, where readings of a link that does not change have the variance `reading`. A link
    /// is strong by the average of two surveys, so that none is chosen for having become weaker, or stronger.
    fn of(sources: &[Source<'_>], reading: f64) -> Self {
        let strong = sources.first().map_or(0.0, |s| s.model.floor.0 + STRONG_DB);
        // Per pair: half of the squared differences of two readings, and how many there are; in all, how many could change between.
        let mut pairs: BTreeMap<(usize, usize), [f64; 2]> = BTreeMap::new();
        let mut changed = 0.0;
        for_each_link(sources, |from, to, channel| {
            for two in sources.windows(2) {
                let [newer, older] = [0, 1].map(|at| two[at].reading(from, to, channel));
                let (Some(newer), Some(older)) = (newer, older) else {
                    continue;
                };
                if 0.5 * (newer.level + older.level) >= strong {
                    let of = pairs.entry((from.min(to), from.max(to))).or_default();
                    *of = [
                        of[0] + 0.5 * (newer.level - older.level).powi(2),
                        of[1] + 1.0,
                    ];
                    changed += changed_share(older.age.saturating_sub(newer.age));
                }
            }
        });
        let count: f64 = pairs.values().map(|[_, count]| count).sum();
        if count < ENOUGH as f64 || changed <= 0.0 {
            let pairs = BTreeMap::new();
            return Self {
                reading,
                change: 0.0,
                pairs,
            };
        }
        let mean = pairs.values().map(|[sum, _]| sum).sum::<f64>() / count;
        // Links that stand still may be read better than the survey thought; not even then are they read without error.
        let reading = reading.min(mean).max(1e-3);
        let change = |both: f64| ((both - reading) * count / changed).max(0.0);
        // Both directions change alike, so they count once.
        let own = |[sum, count]: [f64; 2]| change((mean + 0.5 * sum) / (1.0 + 0.5 * count));
        Self {
            reading,
            change: change(mean),
            pairs: pairs
                .into_iter()
                .map(|(pair, of)| (pair, own(of)))
                .collect(),
        }
    }
    fn change_of(&self, a: usize, b: usize) -> f64 {
        let own = self.pairs.get(&(a.min(b), a.max(b)));
        own.copied().unwrap_or(self.change)
    }
    /// The mean of `readings`, one or more, of a link that changes so.
    fn mean(&self, readings: &[Reading], change: f64) -> Mean {
        let changed = |reading: &Reading| change * reading.changed;
        // A reading differs from what is to come by either's change.
        let weight = |reading: &Reading| 1.0 / (self.reading + 2.0 * changed(reading)).max(1e-9);
        let all: f64 = readings.iter().map(weight).sum();
        let mean = |of: &dyn Fn(f64, &Reading) -> f64| -> f64 {
            readings
                .iter()
                .map(|reading| of(weight(reading) / all, reading))
                .sum()
        };
        let of_readings = mean(&|w, reading| w * w * (self.reading + changed(reading)));
        let old = mean(&|w, reading| w * reading.changed);
        Mean {
            level: mean(&|w, reading| w * reading.level),
            prr: mean(&|w, reading| w * reading.prr).clamp(0.0, 1.0),
            unknown: Db((of_readings + change * old * old).sqrt()),
        }
    }
}

impl LinkModel {
    /// A link of this `mean` of `readings`.
    fn quality_of(&self, mean: &Mean, readings: &[Reading]) -> LinkQuality {
        let sent = readings.iter().filter_map(|reading| reading.sent);
        LinkQuality {
            prr: mean.prr,
            rssi: Some(self.register(Dbm(mean.level), mean.prr)),
            sent: sent.reduce(u32::saturating_add),
            unknown: Some(mean.unknown),
        }
    }

    /// The RSSI register's reading of a link of `level`, of whose frames the share `prr` arrives: the inverse of
    /// [`LinkModel::power`].
    pub(crate) fn register(&self, level: Dbm, prr: f64) -> Dbm {
        let heard = (level + Db(2.0 * (1.0 - prr))).milliwatts().0;
        let read = heard + self.register_noise.milliwatts().0;
        Dbm(10.0 * libm::log10(read))
    }
}

#[cfg(test)]
#[path = "link_fusion_tests.rs"]
mod tests;
