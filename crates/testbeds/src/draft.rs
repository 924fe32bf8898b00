//! Links as the rows of a file give them, on their way to a [`Trace`]: each is a sum over its rows, on a channel or on
//! all. What has a level and no ratio gets the ratio of that level. Nothing here knows what the file looks like.
//! Tests: `matrix_tests.rs`, `import/`.

use std::collections::{BTreeMap, BTreeSet};

use thalweg_units::{Channel, ChannelSet};

use crate::assumed::Assumed;
use crate::error::{Location, Problem, TestbedError};
use crate::names::Names;
use crate::reception::Reception;
use crate::trace::{Trace, TraceLink, Visits};

/// What one row tells of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measure {
    /// Share of frames received, in the file's unit; none where only the level is known.
    pub(crate) ratio: Option<f64>,
    /// Mean level, dBm.
    pub(crate) rssi_dbm: Option<f64>,
    /// Frames that it stands on, or 1.
    pub(crate) weight: f64,
}

/// What rows that tell of the same link and channel are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Repeats {
    /// A slip.
    #[default]
    Wrong,
    /// Measured again: their mean is taken.
    Averaged,
}

/// A row that cannot be added.
pub(crate) enum Refused {
    /// A node and itself.
    Own,
    /// Given before, on that channel or on all.
    Again(Option<Channel>),
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    ratio: f64,
    weight: f64,
    level: f64,
    level_weight: f64,
    rows: u32,
}

/// Sender, receiver and channel, or none for all.
type Key = (u16, u16, Option<Channel>);

/// Sums in the order of their keys; apart for each sender, so that those of a million links are found quickly.
#[derive(Default)]
struct Sums(BTreeMap<u16, BTreeMap<(u16, Option<Channel>), Sum>>);

impl Sums {
    fn entry(&mut self, (from, to, on): Key) -> &mut Sum {
        let of_sender = self.0.entry(from).or_default();
        of_sender.entry((to, on)).or_default()
    }
    fn has(&self, (from, to, on): Key) -> bool {
        let of_sender = self.0.get(&from);
        of_sender.is_some_and(|sums| sums.contains_key(&(to, on)))
    }
    fn iter(&self) -> impl Iterator<Item = (Key, &Sum)> {
        self.0.iter().flat_map(|(from, sums)| {
            let of_sender = sums.iter();
            of_sender.map(|((to, on), sum)| ((*from, *to, *on), sum))
        })
    }
    fn len(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }
}

/// All links.
#[derive(Default)]
pub(crate) struct Draft {
    repeats: Repeats,
    sums: Sums,
    /// The channels that rows name.
    named: ChannelSet,
    /// Rows without a channel.
    open: u64,
    own: u64,
}

impl Draft {
    pub(crate) fn new(repeats: Repeats) -> Self {
        Self {
            repeats,
            ..Self::default()
        }
    }

    /// Adds what a row tells of the link between two indices, on `channels` or on all.
    pub(crate) fn add(
        &mut self,
        (from, to): (u16, u16),
        channels: Option<ChannelSet>,
        measure: Measure,
    ) -> Result<(), Refused> {
        if from == to {
            self.own += 1;
            return Err(Refused::Own);
        }
        let Some(channels) = channels else {
            self.open += 1;
            return self.sum((from, to, None), measure);
        };
        for channel in channels.iter() {
            self.named = self.named.with(channel);
            self.sum((from, to, Some(channel)), measure)?;
        }
        Ok(())
    }

    fn sum(&mut self, key: Key, measure: Measure) -> Result<(), Refused> {
        let sum = self.sums.entry(key);
        sum.rows += 1;
        if sum.rows > 1 && self.repeats == Repeats::Wrong {
            return Err(Refused::Again(key.2));
        }
        if let Some(ratio) = measure.ratio {
            sum.ratio += ratio * measure.weight;
            sum.weight += measure.weight;
        }
        if let Some(dbm) = measure.rssi_dbm {
            // The mean over frames received, as each row's is.
            let heard = measure.weight * measure.ratio.unwrap_or(1.0);
            sum.level += dbm * heard;
            sum.level_weight += heard;
        }
        Ok(())
    }

    /// Takes each direction that no row tells of to be like the other one; tells how many those are, if any.
    pub(crate) fn mirror(&mut self) -> Option<Assumed> {
        let told: BTreeSet<(u16, u16)> = self.sums.iter().map(|((a, b, _), _)| (a, b)).collect();
        let alone = |(a, b): &(u16, u16)| !told.contains(&(*b, *a));
        let back = self.sums.iter().filter(|((a, b, _), _)| alone(&(*a, *b)));
        let back: Vec<_> = back.map(|((a, b, on), sum)| ((b, a, on), *sum)).collect();
        // A copy was not measured again.
        let once = |sum: Sum| Sum { rows: 1, ..sum };
        for (key, sum) in back {
            *self.sums.entry(key) = once(sum);
        }
        let mirrored = told.iter().filter(|pair| alone(pair)).count();
        (mirrored > 0).then_some(Assumed::BothWays(mirrored))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sums.0.is_empty()
    }

    /// How many links have fewer rows than others, where several times were measured.
    pub(crate) fn gaps(&self) -> Option<Assumed> {
        let rows = || self.sums.iter().map(|(_, sum)| sum.rows);
        let most = rows().max().unwrap_or(0);
        let fewer = rows().filter(|rows| *rows < most).count();
        let has_times = self.repeats == Repeats::Averaged && most > 1;
        (has_times && fewer > 0).then_some(Assumed::Gaps(fewer, self.sums.len()))
    }

    /// The channels that links are on: those that rows name, or all.
    pub(crate) fn channels(&self) -> ChannelSet {
        match self.named.is_empty() {
            true => ChannelSet::ALL,
            false => self.named,
        }
    }

    /// The trace, ratios multiplied by `factor`. A row for all channels gives way to one for a channel.
    pub(crate) fn finish(
        self,
        names: Names,
        factor: f64,
        reception: &Reception,
        source_name: &str,
    ) -> Result<Trace, TestbedError> {
        let channels = self.channels();
        let ratios = reception.ratios();
        let (mut links, mut by_level) = (Vec::new(), 0);
        for ((from, to, on), sum) in self.sums.iter() {
            let level = (sum.level_weight > 0.0).then(|| sum.level / sum.level_weight);
            let measured = (sum.weight > 0.0).then(|| (sum.ratio / sum.weight * factor).min(1.0));
            let Some(prr) = measured.or_else(|| level.map(&ratios)) else {
                continue;
            };
            by_level += usize::from(measured.is_none());
            let each: ChannelSet = on.map_or(channels, |channel| [channel].into_iter().collect());
            let given = |c: Channel| self.sums.has((from, to, Some(c)));
            for channel in each.iter().filter(|c| on.is_some() || !given(*c)) {
                links.push(TraceLink {
                    from,
                    to,
                    channel,
                    prr,
                    rssi_dbm: level.map(|dbm| dbm.clamp(-120.0, 20.0)),
                });
            }
        }
        let (nodes, labels) = names.settle();
        let mut trace = Trace {
            nodes,
            labels,
            channels,
            links,
            visits: Visits::default(),
            name: None,
            assumed: self.assumed(by_level, reception),
        };
        if trace.links.is_empty() {
            return Err(Problem::TooFew("links", 1).at(source_name, Location::Whole));
        }
        trace.settle(source_name)?;
        Ok(trace)
    }

    fn assumed(&self, by_level: usize, reception: &Reception) -> Vec<Assumed> {
        let mut assumed = Vec::new();
        if self.open > 0 {
            assumed.push(match self.named.is_empty() {
                true => Assumed::AllChannels(self.open),
                false => Assumed::NamedChannels(self.open, self.named),
            });
        }
        if self.own > 0 {
            assumed.push(Assumed::SelfLinks(self.own));
        }
        let again = self.sums.iter().filter(|(_, sum)| sum.rows > 1);
        let (again, rows) = again.fold((0, 0), |(n, rows), (_, sum)| {
            (n + 1, rows + u64::from(sum.rows))
        });
        if again > 0 {
            assumed.push(Assumed::Averaged(rows, again));
        }
        if by_level > 0 {
            assumed.push(Assumed::RatiosByLevel {
                links: by_level,
                board: reception.board_name.clone(),
                frame_bytes: reception.frame.psdu_bytes,
            });
        }
        assumed
    }
}
