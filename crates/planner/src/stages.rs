//! Stages of several relays on alternating radios: a stream's path, and beside it others of the same
//! length (P3, section IV-D.1, over FastForward's radios).
//!
//! Nodes are indices. Invariants: a node is in one stage; neighbouring stages' links are in different
//! bands; all relays of a stage send on one channel, which no link in reach has. Where a radio's part
//! of the path is fixed, so is the band of every stage, so that paths are sought in the graph of (relay,
//! stage) pairs, one after the other: not necessarily the most there are. A path is added only where one
//! channel suits all relays of each stage, beats between them included. Tests: at the end.

use crate::beats::survival;
use crate::streams::{
    Band, Radio, StreamError, StreamPlan, StreamRequest, CLEAR, CLEAR_ENOUGH, MOST_TRANSMISSIONS,
};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use thalweg_units::{Dbm, Tuning};

/// A pipeline of stages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagePlan {
    /// Nodes of each stage: the source, relays, the sink.
    pub stages: Vec<Vec<usize>>,
    /// On what each stage but the last sends.
    pub links: Vec<Tuning>,
}

impl From<&StreamPlan> for StagePlan {
    /// One node a stage.
    fn from(path: &StreamPlan) -> Self {
        Self {
            stages: path.nodes.iter().map(|n| vec![*n]).collect(),
            links: path.links.clone(),
        }
    }
}

impl StagePlan {
    /// How many relays the broadest stage has: how many paths there are.
    pub fn paths(&self) -> usize {
        self.stages.iter().map(Vec::len).max().unwrap_or(0)
    }
}

/// A search gives up after so many nodes tried.
const STEPS: u32 = 5_000;
/// Paths are added as long as every relay is expected to get this share of what its stage is sent.
const GOOD: f64 = 0.9;

/// Channels of stages, and the worst that a receiver of any stage is expected to get.
struct Channels {
    links: Vec<Tuning>,
    worst: f64,
}

/// What `to` is expected to get of frames that all of `senders` send at once: what it gets of the best of
/// them alone, and what survives their beats.
fn together(radio: &impl Radio, senders: &[usize], to: usize, on: Tuning) -> f64 {
    let alone = (senders.iter())
        .map(|from| radio.reception(*from, to, on))
        .fold(0.0, f64::max);
    let levels: Vec<Dbm> = (senders.iter())
        .filter_map(|from| radio.level(*from, to, on).map(Dbm))
        .collect();
    alone * survival(&levels, 0)
}

/// What a path is sought among.
struct Search<'a, R> {
    request: &'a StreamRequest,
    radio: &'a R,
    bands: &'a [Band],
    sink: usize,
    used: BTreeSet<usize>,
    steps: u32,
}

impl<R: Radio> Search<'_, R> {
    /// Transmissions that a link takes at best on the channels of its band, if it is good.
    fn cost(&self, from: usize, to: usize, band: Band) -> Option<f64> {
        let both =
            |on: &Tuning| self.radio.reception(from, to, *on) * self.radio.reception(to, from, *on);
        let channels = self.request.channels(band);
        let best = channels.iter().map(both).fold(0.0, f64::max);
        (best > 0.0 && 1.0 / best <= MOST_TRANSMISSIONS).then(|| 1.0 / best)
    }
    /// From each node of each stage to the sink: transmissions at best.
    fn costs(&self) -> Vec<Vec<Option<f64>>> {
        let nodes = self.radio.nodes();
        let mut costs = vec![vec![None; nodes]; self.bands.len() + 1];
        costs[self.bands.len()][self.sink] = Some(0.0);
        for (stage, band) in self.bands.iter().enumerate().rev() {
            for from in (0..nodes).filter(|n| !self.used.contains(n)) {
                let ahead = (0..nodes).filter_map(|to| {
                    let rest: f64 = costs[stage + 1][to]?;
                    Some(rest + self.cost(from, to, *band).filter(|_| from != to)?)
                });
                costs[stage][from] = ahead.min_by(f64::total_cmp);
            }
        }
        costs
    }
    /// Extends `path` to the sink, cheapest first, to one that `fits`.
    fn extend(
        &mut self,
        path: &mut Vec<usize>,
        costs: &[Vec<Option<f64>>],
        fits: &mut impl FnMut(&[usize]) -> bool,
    ) -> bool {
        let stage = path.len() - 1;
        let (Some(&here), Some(&band)) = (path.last(), self.bands.get(stage)) else {
            return path.last() == Some(&self.sink) && fits(path);
        };
        let mut next: Vec<(f64, usize)> = (costs[stage + 1].iter().enumerate())
            .filter(|(to, _)| !path.contains(to) && !self.used.contains(to))
            .filter_map(|(to, rest)| Some(((*rest)? + self.cost(here, to, band)?, to)))
            .collect();
        next.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (_, to) in next {
            if self.steps == 0 {
                return false;
            }
            self.steps -= 1;
            path.push(to);
            if self.extend(path, costs, fits) {
                return true;
            }
            path.pop();
        }
        false
    }
}

impl StreamRequest {
    /// Stages along the path of `first`, with at most `paths` paths, and a channel for each.
    ///
    /// # Errors
    /// [`StreamError::NoChannel`] where links in reach of each other would have to share one.
    pub fn stages(
        &self,
        radio: &impl Radio,
        first: &StreamPlan,
        paths: usize,
    ) -> Result<StagePlan, StreamError> {
        let bands: Vec<Band> = first.links.iter().map(|on| Band::of(*on)).collect();
        let mut stages: Vec<Vec<usize>> = first.nodes.iter().map(|n| vec![*n]).collect();
        let (Some(&source), Some(&sink)) = (first.nodes.first(), first.nodes.last()) else {
            return Err(StreamError::Path);
        };
        let on_it = first.nodes.iter().filter(|n| **n != source && **n != sink);
        let mut search = Search {
            request: self,
            radio,
            bands: &bands,
            sink,
            used: on_it.copied().collect(),
            steps: STEPS,
        };
        let mut links = self.stage_channels(radio, &stages, &bands)?.links;
        // A path of one link is the only one.
        for _ in 1..if bands.len() > 1 { paths } else { 1 } {
            let costs = search.costs();
            search.steps = STEPS;
            let mut found = None;
            let mut fits = |path: &[usize]| {
                let mut broader = stages.clone();
                for (stage, node) in path.iter().enumerate() {
                    if *node != source && *node != sink {
                        broader[stage].push(*node);
                    }
                }
                let channels = self.stage_channels(radio, &broader, &bands).ok();
                found = (channels.filter(|c| c.worst >= GOOD)).map(|c| (broader, c.links));
                found.is_some()
            };
            search.extend(&mut vec![source], &costs, &mut fits);
            let Some((broader, channels)) = found else {
                break;
            };
            (stages, links) = (broader, channels);
            let relays = stages.iter().flatten().copied();
            search.used = relays.filter(|n| *n != source && *n != sink).collect();
        }
        Ok(StagePlan { stages, links })
    }

    /// A channel for each stage but the last, from the sink on.
    fn stage_channels(
        &self,
        radio: &impl Radio,
        stages: &[Vec<usize>],
        bands: &[Band],
    ) -> Result<Channels, StreamError> {
        // The level at a receiver of the strongest of a stage.
        let strongest = |stage: usize, at: usize, on: Tuning| {
            (stages[stage].iter().filter(|n| **n != at))
                .filter_map(|from| radio.level(*from, at, on))
                .fold(f64::NEG_INFINITY, f64::max)
        };
        // By how much what is wanted at the stage after `link` stands above what `by` sends, heard or not.
        let above = |link: usize, by: usize, on: Tuning| {
            let disturbs = |at| match stages[by].iter().any(|n| *n != at) {
                true => strongest(by, at, on).max(radio.unheard(on)),
                false => f64::NEG_INFINITY,
            };
            (stages[link + 1].iter())
                .map(|at| strongest(link, *at, on) - disturbs(*at))
                .fold(CLEAR_ENOUGH, f64::min)
        };
        let (mut links, mut worst): (Vec<Tuning>, f64) = (Vec::new(), 1.0);
        for (link, band) in bands.iter().enumerate().rev() {
            let used: Vec<(usize, Tuning)> = (links.iter().enumerate())
                .map(|(n, on)| (bands.len() - 1 - n, *on))
                .collect();
            let clear = |on: Tuning, code: u8| {
                (used.iter().filter(|(_, other)| other.code() == code))
                    .map(|(other, _)| above(link, *other, on).min(above(*other, link, on)))
                    .fold(CLEAR_ENOUGH, f64::min)
            };
            let near = |on: Tuning| {
                let beside = [on.code().checked_sub(1), on.code().checked_add(1)];
                (beside.into_iter().flatten())
                    .filter(|code| Tuning::from_code(*code).is_some_and(|t| t.same_band(on)))
                    .filter(|code| clear(on, *code) < -CLEAR)
                    .count()
            };
            let quality = |on: Tuning| {
                let (here, there) = (&stages[link], &stages[link + 1]);
                let forth = there.iter().map(|to| together(radio, here, *to, on));
                let back = here.iter().map(|to| together(radio, there, *to, on));
                forth.chain(back).fold(1.0, f64::min)
            };
            let best = (self.channels(*band).into_iter())
                .map(|on| (on, clear(on, on.code())))
                .filter(|(_, clear)| *clear >= CLEAR)
                .min_by_key(|(on, clear)| {
                    let good = (quality(*on).min(0.99) * 1e2) as u32;
                    (Reverse(good), Reverse(*clear as i32), near(*on), *on)
                });
            let (from, to) = (stages[link][0], stages[link + 1][0]);
            let (on, _) = best.ok_or(StreamError::NoChannel { from, to })?;
            worst = worst.min(quality(on));
            links.push(on);
        }
        links.reverse();
        Ok(Channels { links, worst })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::Radios;
    use thalweg_units::{Channel, Channel900};

    /// Columns of `wide` nodes between a source and a sink; each column hears the next.
    struct Columns {
        columns: usize,
        wide: usize,
        /// By how much each node of a column is weaker than the one before.
        apart_db: f64,
    }
    impl Columns {
        fn column(&self, node: usize) -> usize {
            match node {
                0 => 0,
                n => (n - 1) / self.wide + 1,
            }
        }
    }
    impl Radio for Columns {
        fn nodes(&self) -> usize {
            self.columns * self.wide + 2
        }
        fn reception(&self, from: usize, to: usize, _on: Tuning) -> f64 {
            f64::from(u8::from(self.column(from).abs_diff(self.column(to)) == 1))
        }
        fn unheard(&self, _on: Tuning) -> f64 {
            -110.0
        }
        fn level(&self, from: usize, to: usize, _on: Tuning) -> Option<f64> {
            let away = self.column(from).abs_diff(self.column(to));
            let place = from.saturating_sub(1) % self.wide;
            Some(-60.0 - 8.0 * away as f64 - self.apart_db * place as f64)
        }
    }
    fn request(sink: usize) -> StreamRequest {
        StreamRequest {
            source: 0,
            sink,
            via: None,
            ghz2_4: Channel::all().take(4).collect(),
            mhz900: (1..=4).filter_map(Channel900::new).collect(),
            radios: Radios::Alternating,
            calling: None,
        }
    }

    #[test]
    fn a_stage_has_as_many_relays_as_there_are_paths() {
        let site = Columns {
            columns: 5,
            wide: 3,
            apart_db: 10.0,
        };
        let request = request(16);
        let first = request.plan(&site, &[]).unwrap();
        for paths in 1..=4 {
            let plan = request.stages(&site, &first, paths).unwrap();
            assert_eq!(plan.paths(), paths.min(3));
            assert_eq!(plan.stages.len(), 7);
            let mut all: Vec<usize> = plan.stages.concat();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), plan.stages.concat().len(), "each in one stage");
            assert!(plan.links.windows(2).all(|w| !w[0].same_band(w[1])));
            // Links two apart are in one band and in reach of each other.
            assert!(plan.links.windows(3).all(|w| w[0] != w[2]));
            let columns = plan.stages[1..6].iter().enumerate();
            for (n, stage) in columns {
                assert!(stage.iter().all(|node| site.column(*node) == n + 1));
            }
        }
    }

    #[test]
    fn equals_beat_and_are_not_put_together() {
        let site = Columns {
            columns: 5,
            wide: 2,
            apart_db: 0.0,
        };
        let request = request(11);
        let first = request.plan(&site, &[]).unwrap();
        let plan = request.stages(&site, &first, 2).unwrap();
        assert_eq!((plan.paths(), plan.stages.len()), (1, 7));
    }
}
