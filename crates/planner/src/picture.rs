//! One picture of a network's links out of several surveys, and of what transfers saw since.
//!
//! A link's level is the mean of its readings with the weights of ordinary kriging (Cressie, Statistics for Spatial Data,
//! section 3.2): readings count by how much links change from their time to that of the coming transfer, and among each other.
//! The error of that mean is what is not known of the link. Levels far from the mean of a link's channels are in part
//! errors, so each is drawn towards that mean by the share that errors have. Of one survey alone nothing changes. Tests: `picture_tests.rs`.

use crate::change::{Change, Changes, ENOUGH};
use crate::expect::LinkModel;
use crate::learned::STRONG_DB;
use crate::links::{LinkQualities, LinkQuality};
use crate::root;
use std::collections::{BTreeMap, BTreeSet};
use thalweg_units::{Channel, Db, Dbm, Duration};

/// So many surveys and sightings of a link count at most, the newest: each more would count less than a tenth.
pub const MOST: usize = 8;
/// Frames of a transfer that count as frames of one survey; links change while more are sent.
const COUNTED: u32 = 30;
/// Of so many channels, a link's mean over channels tells of each.
const CHANNELS: usize = 3;

/// A survey, and how long before the coming transfer it was made.
#[derive(Debug, Clone, Copy)]
pub struct Dated<'a> {
    /// What was measured.
    pub links: &'a LinkQualities,
    /// How long ago.
    pub age: Duration,
}

/// What a transfer saw of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sighting {
    /// Who sent.
    pub from: usize,
    /// Who received.
    pub to: usize,
    /// On which channel.
    pub channel: Channel,
    /// Frames that were sent.
    pub sent: u32,
    /// Frames that were received.
    pub received: u32,
    /// How long before the coming transfer.
    pub age: Duration,
}

/// What is known of a network's links.
#[derive(Debug, Clone)]
pub struct Picture {
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
    age_s: f64,
}

/// What readings of a link come to.
#[derive(Debug, Clone, Copy)]
struct Merged {
    channel: Channel,
    level: f64,
    /// Variance of what is not known of it in the coming transfer.
    variance: f64,
    /// Of that, what readings are off by from what lasts of the link: their own changes and errors.
    error: f64,
    prr: f64,
    sent: Option<u32>,
}

/// A survey as readings.
struct Source<'a> {
    links: &'a LinkQualities,
    model: &'a LinkModel,
    age_s: f64,
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
        Self {
            links: of.links,
            model,
            age_s: of.age.as_secs_f64(),
            took_part: Channel::all().map(on).collect(),
        }
    }

    /// The level of a link as this survey has it. One that was not heard, though both nodes took part, was below what may be
    /// missed.
    fn reading(&self, from: usize, to: usize, channel: Channel) -> Option<Reading> {
        let age_s = self.age_s;
        if let Some(quality) = self.links.quality(from, to, channel) {
            let level = self.model.power(&quality)?.0;
            let (prr, sent) = (quality.prr, quality.sent);
            return Some(Reading {
                level,
                prr,
                sent,
                age_s,
            });
        }
        let of = &self.took_part[channel.index()];
        let both = of.get(from)?.0 && of.get(to)?.1;
        both.then(|| Reading {
            level: self.model.unheard().0,
            prr: 0.0,
            sent: None,
            age_s,
        })
    }
}

impl Picture {
    /// What `newest`, surveys before it and what transfers saw tell of links whose radios have this effective `floor`.
    pub fn of(newest: Dated<'_>, earlier: &[Dated<'_>], seen: &[Sighting], floor: Dbm) -> Self {
        let mut model = LinkModel::learned(newest.links, floor);
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
            .take(MOST)
            .collect();
        // Others use channels now and then: each survey saw some seconds of that.
        let tables = surveys.iter().map(|survey| survey.links);
        model.outage = model.outage_in(tables).unwrap_or(model.outage);
        let sources: Vec<Source<'_>> = surveys.iter().map(|s| Source::new(s, &model)).collect();
        let nugget = model.unknown.0.powi(2);
        let changes = match sources.len() {
            1 => Changes::none(nugget),
            _ => Changes::of(changes(&sources), nugget),
        };
        let mut sightings: BTreeMap<(usize, usize, Channel), Vec<&Sighting>> = BTreeMap::new();
        for sighting in seen {
            let Sighting {
                from, to, channel, ..
            } = *sighting;
            let of = sightings.entry((from, to, channel)).or_default();
            of.push(sighting);
        }
        let weighing = Weighing {
            changes: &changes,
            model: &model,
        };
        let mut merged: BTreeMap<(usize, usize), Vec<Merged>> = BTreeMap::new();
        for_each_link(&sources, |from, to, channel| {
            let readings = sources
                .iter()
                .filter_map(|source| source.reading(from, to, channel));
            let seen = sightings.get(&(from, to, channel));
            let seen = seen.map_or(&[][..], Vec::as_slice);
            if let Some(one) = weighing.merged(readings.collect(), seen, (from, to, channel)) {
                merged.entry((from, to)).or_default().push(one);
            }
        });
        let own = match sources.len() {
            1 => None,
            _ => variance_of_channels(&merged, &model),
        };
        let mut picture = Self { links, model };
        picture.model.tails = changes.tails();
        for ((from, to), mut channels) in merged {
            if let Some(own) = own.filter(|_| channels.len() >= CHANNELS) {
                towards_their_mean(&mut channels, own);
            }
            for one in channels {
                // Both nodes are in the table.
                let _ = picture
                    .links
                    .put(from, to, one.channel, one.quality(&model));
            }
        }
        picture.model.unknown = weighing.usual(&surveys);
        picture
    }
}

impl Merged {
    /// As a table of links has it.
    fn quality(&self, model: &LinkModel) -> LinkQuality {
        LinkQuality {
            prr: self.prr,
            rssi: Some(model.register(Dbm(self.level), self.prr)),
            sent: self.sent,
            unknown: Some(Db(self.variance.sqrt())),
        }
    }
}

/// Calls `visit` with every link that any of `sources` heard.
fn for_each_link(sources: &[Source<'_>], mut visit: impl FnMut(usize, usize, Channel)) {
    let nodes = sources.first().map_or(0, |source| source.links.nodes());
    for channel in Channel::all() {
        for from in 0..nodes {
            let heard = sources
                .iter()
                .flat_map(|s| s.links.heard_from(from, channel));
            let receivers: BTreeSet<usize> = heard.map(|(to, _)| to).collect();
            receivers
                .into_iter()
                .for_each(|to| visit(from, to, channel));
        }
    }
}

/// What strong links changed by between any two surveys. Strong is what both have on average: a link is not chosen
/// for having become weaker, or stronger.
fn changes(sources: &[Source<'_>]) -> Vec<Change> {
    let mut found = Vec::new();
    let Some(model) = sources.first().map(|source| source.model) else {
        return found;
    };
    let strong = model.floor.0 + STRONG_DB;
    for_each_link(sources, |from, to, channel| {
        let read = |source: &Source<'_>| source.reading(from, to, channel);
        let readings: Vec<Option<Reading>> = sources.iter().map(read).collect();
        for (at, newer) in readings.iter().enumerate() {
            for (after, older) in readings.iter().enumerate().skip(at + 1) {
                if let (Some(newer), Some(older)) = (newer, older) {
                    if 0.5 * (newer.level + older.level) >= strong {
                        found.push(Change {
                            pair: (from.min(to), from.max(to)),
                            lag_s: (older.age_s - newer.age_s).abs(),
                            by: newer.level - older.level,
                            is_next: after == at + 1,
                        });
                    }
                }
            }
        }
    });
    found
}

/// What readings count for, of pairs like most.
struct Weights {
    weights: Vec<f64>,
    /// Variance of what a reading now differs by from their mean.
    variance: f64,
    /// What their mean varies by more than it varies with what is to come: the variance of its errors.
    error: f64,
}

/// How readings are weighed.
struct Weighing<'a> {
    changes: &'a Changes,
    model: &'a LinkModel,
}

impl Weighing<'_> {
    /// What `readings` of a link come to with those of transfers that `seen` has; none of no reading.
    fn merged(
        &self,
        mut readings: Vec<Reading>,
        seen: &[&Sighting],
        (from, to, channel): (usize, usize, Channel),
    ) -> Option<Merged> {
        if !seen.is_empty() {
            let ages: Vec<f64> = readings.iter().map(|reading| reading.age_s).collect();
            let Weights { weights, .. } = self.weights(&ages);
            let level = weighted(&weights, readings.iter().map(|reading| reading.level));
            let seen = seen
                .iter()
                .map(|sighting| self.model.sighted(sighting, level));
            readings.extend(seen);
            readings.sort_by(|a, b| a.age_s.total_cmp(&b.age_s));
            readings.truncate(MOST);
        }
        readings.first()?;
        let ages: Vec<f64> = readings.iter().map(|reading| reading.age_s).collect();
        let Weights {
            weights,
            variance,
            error,
        } = self.weights(&ages);
        let scale = self.changes.scale(from, to);
        let sent = readings.iter().filter_map(|reading| reading.sent);
        Some(Merged {
            channel,
            level: weighted(&weights, readings.iter().map(|reading| reading.level)),
            variance: self.unknown(variance, scale, readings.len()),
            error: error * scale,
            prr: weighted(&weights, readings.iter().map(|reading| reading.prr)).clamp(0.0, 1.0),
            sent: sent.reduce(u32::saturating_add),
        })
    }

    /// What is not known of a link whose kriging variance is `variance` for pairs like most, of so many readings. That
    /// is of another reading; the level itself is not off by what readings are.
    fn unknown(&self, variance: f64, scale: f64, readings: usize) -> f64 {
        let nugget = self.changes.nugget();
        let least = nugget / readings.max(1) as f64;
        (variance * scale - nugget).max(least)
    }

    /// The same of a link like most.
    fn usual(&self, surveys: &[Dated<'_>]) -> Db {
        let ages: Vec<f64> = surveys.iter().map(|s| s.age.as_secs_f64()).collect();
        let Weights { variance, .. } = self.weights(&ages);
        Db(self.unknown(variance, 1.0, ages.len()).sqrt())
    }

    /// Weights of readings so old.
    fn weights(&self, ages: &[f64]) -> Weights {
        let semi = |a: f64, b: f64| self.changes.semivariance((a - b).abs());
        let mut count = ages.len();
        let weights = loop {
            let system = |row: usize, column: usize| match (row, column) {
                (row, column) if row == column => 0.0,
                (row, column) if row < count && column < count => semi(ages[row], ages[column]),
                _ => 1.0,
            };
            let right = |row: usize| match row < count {
                true => semi(ages[row], 0.0),
                false => 1.0,
            };
            let solved = solved(count + 1, system, right);
            match solved.filter(|found| found[..count].iter().all(|w| *w >= 0.0)) {
                Some(mut weights) => {
                    weights.truncate(count);
                    break weights;
                }
                // What counts less than nothing is left out, the oldest first.
                None if count > 1 => count -= 1,
                None => break vec![1.0],
            }
        };
        let now: f64 = weights
            .iter()
            .zip(ages)
            .map(|(w, age)| w * semi(*age, 0.0))
            .sum();
        let mut among = 0.0;
        for (i, (wi, a)) in weights.iter().zip(ages).enumerate() {
            for (j, (wj, b)) in weights.iter().zip(ages).enumerate() {
                if i != j {
                    among += wi * wj * semi(*a, *b);
                }
            }
        }
        Weights {
            weights,
            variance: 2.0 * now - among,
            error: (now - among).max(0.0),
        }
    }
}

fn weighted(weights: &[f64], values: impl Iterator<Item = f64>) -> f64 {
    weights
        .iter()
        .zip(values)
        .map(|(weight, value)| weight * value)
        .sum()
}

/// The solution of a system of linear equations; none where it has none.
fn solved(
    size: usize,
    system: impl Fn(usize, usize) -> f64,
    right: impl Fn(usize) -> f64,
) -> Option<Vec<f64>> {
    let row = |row: usize| {
        let mut of: Vec<f64> = (0..size).map(|column| system(row, column)).collect();
        of.push(right(row));
        of
    };
    let mut rows: Vec<Vec<f64>> = (0..size).map(row).collect();
    for at in 0..size {
        let pivot = (at..size).max_by(|a, b| rows[*a][at].abs().total_cmp(&rows[*b][at].abs()))?;
        if rows[pivot][at].abs() < 1e-12 {
            return None;
        }
        rows.swap(at, pivot);
        let pivot = rows[at].clone();
        for (other, row) in rows
            .iter_mut()
            .enumerate()
            .filter(|(other, _)| *other != at)
        {
            let _ = other;
            let factor = row[at] / pivot[at];
            for (value, of_pivot) in row.iter_mut().zip(&pivot).skip(at) {
                *value -= factor * of_pivot;
            }
        }
    }
    let values = rows.iter().enumerate();
    Some(values.map(|(at, row)| row[size] / row[at]).collect())
}

/// Variance of a link's channels around their mean that is no error; none where too few links tell.
fn variance_of_channels(
    merged: &BTreeMap<(usize, usize), Vec<Merged>>,
    model: &LinkModel,
) -> Option<f64> {
    let strong = model.floor.0 + STRONG_DB;
    let (mut between, mut errors, mut count) = (0.0, 0.0, 0usize);
    for channels in merged.values().filter(|all| all.len() >= CHANNELS) {
        let mean = mean_level(channels);
        if mean < strong {
            continue;
        }
        let squares: f64 = channels.iter().map(|one| (one.level - mean).powi(2)).sum();
        between += squares / (channels.len() - 1) as f64;
        errors += channels.iter().map(|one| one.error).sum::<f64>() / channels.len() as f64;
        count += 1;
    }
    (count >= ENOUGH).then(|| ((between - errors) / count as f64).max(0.0))
}

fn mean_level(channels: &[Merged]) -> f64 {
    channels.iter().map(|one| one.level).sum::<f64>() / channels.len().max(1) as f64
}

/// Draws the levels of a link's `channels`, which differ by a variance of `own`, towards their mean, by the share that
/// errors have in what they seem to differ by.
fn towards_their_mean(channels: &mut [Merged], own: f64) {
    let mean = mean_level(channels);
    for one in channels {
        let share = own / (own + one.error).max(f64::MIN_POSITIVE);
        one.level = mean + share * (one.level - mean);
        one.variance = (one.variance - (1.0 - share) * one.error).max(0.0);
    }
}

impl LinkModel {
    /// What a register reads of a link of `level`, of whose frames a share of `prr` arrives: what [`LinkModel::power`] takes
    /// back.
    fn register(&self, level: Dbm, prr: f64) -> Dbm {
        let heard = (level + Db(2.0 * (1.0 - prr))).milliwatts().0;
        let read = heard + self.register_noise.milliwatts().0;
        Dbm(10.0 * libm::log10(read))
    }

    /// The reading that `sighting` makes of a link which is at `level` by all else that is known: that level, or the nearest
    /// under which the count is no surprise.
    fn sighted(&self, sighting: &Sighting, level: f64) -> Reading {
        let sent = f64::from(sighting.sent.max(1));
        let share = (f64::from(sighting.received) / sent).min(1.0);
        // Wilson's interval of a standard deviation: of all frames none is lost by chance alone.
        let (middle, wide) = (
            (share + 0.5 / sent) / (1.0 + 1.0 / sent),
            (share * (1.0 - share) / sent + 0.25 / (sent * sent)).sqrt() / (1.0 + 1.0 / sent),
        );
        // What others take of the channel is no fault of the link.
        let kept = 1.0 - self.outage;
        let low = self.margin_of((middle - wide) / kept.max(0.5));
        let high = self.margin_of((middle + wide) / kept.max(0.5));
        let level = level.clamp(self.floor.0 + low, self.floor.0 + high.max(low));
        Reading {
            level,
            prr: share,
            sent: Some(sighting.sent.min(COUNTED)),
            age_s: sighting.age.as_secs_f64(),
        }
    }

    /// The margin, in decibels, with which a share of `delivery` arrives of a link whose level is known.
    fn margin_of(&self, delivery: f64) -> f64 {
        if delivery >= 0.999 {
            return 10.0 * STRONG_DB;
        }
        let below = |margin| self.delivery_over(Db(margin), Db(0.0)) < delivery;
        root::last(-2.0 * STRONG_DB, 2.0 * STRONG_DB, below)
    }
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
