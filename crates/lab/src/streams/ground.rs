//! Where streams run: a site in two bands, and what a planner knows of it beforehand (FastForward determines
//! paths and channels beforehand too, section III-B), without the losses that were injected.

use super::{CollectError, DualLinks};
use std::sync::Arc;
use thalweg_gateway::carry::stream::LinkReport;
use thalweg_medium::{EarId, Environment};
use thalweg_planner::stages::StagePlan;
use thalweg_planner::streams::{Radio, Radios, StreamError, StreamPlan, StreamRequest};
use thalweg_protocols::fastforward::Config;
use thalweg_sim::Board;
use thalweg_testbeds::{Loss, Site};
use thalweg_units::{Channel, Channel900, Db, Dbm, Duration, NodeId, Tuning};

/// A site for streams.
#[derive(Debug, Clone)]
pub struct Ground {
    /// The site, with both radios of each node.
    pub site: Site,
    /// Reception ratio and interference of each pair, by band and channel.
    links: Arc<Links>,
}

#[derive(Debug)]
pub(super) struct Links {
    nodes: usize,
    /// Reception ratio and level, by place of the channel, then sender, then receiver; 2.4 GHz before
    /// 900 MHz.
    of: Vec<(f32, Option<f32>)>,
}

/// Signals this much below the noise floor disturb nobody.
const HARMLESS: Db = Db(-3.0);

impl Ground {
    /// What can be known of `site` before streams.
    ///
    /// # Errors
    /// [`CollectError::Unfit`] where its nodes have one radio.
    pub fn new(site: Site) -> Result<Self, CollectError> {
        if site.board.second.is_none() {
            return Err(CollectError::Unfit {
                testbed: site.testbed.name.clone(),
                why: "streams need nodes with two radios (board = \"opal\")".to_owned(),
            });
        }
        let boards = [site.board.clone(), site.board.with_second_radio()];
        let calm = site.undisturbed().environment;
        let links = Arc::new(Links::of(&calm, site.testbed.len(), &boards));
        Ok(Self { site, links })
    }

    /// The same `by` later.
    ///
    /// # Errors
    /// [`CollectError::Site`].
    pub fn later(self, by: Duration) -> Result<Self, CollectError> {
        let site = self.site.aged(self.site.age() + by)?;
        Ok(Self { site, ..self })
    }

    /// The same with losses on `links` in both bands, for data frames of `psdu_bytes`.
    ///
    /// # Errors
    /// [`CollectError::Site`] where a node or a link is not the testbed's.
    pub fn with_losses(self, links: &[Loss], psdu_bytes: usize) -> Result<Self, CollectError> {
        let site = self.site.with_losses(links, psdu_bytes)?;
        Ok(Self { site, ..self })
    }

    /// A request over this site's channels, but the one on which nodes are called.
    pub fn request(&self, source: usize, sink: usize, via: Option<Vec<usize>>) -> StreamRequest {
        StreamRequest {
            source,
            sink,
            via,
            ghz2_4: self.site.testbed.channels.iter().collect(),
            mhz900: (1..=Channel900::COUNT as u8)
                .filter_map(Channel900::new)
                .filter(|c| Tuning::Mhz900(*c) != Config::CALLING)
                .collect(),
            radios: Radios::Alternating,
            calling: Some(Config::CALLING),
        }
    }
    /// A plan for `request` beside `others`. What was injected is not known to it.
    ///
    /// # Errors
    /// [`CollectError::Plan`].
    pub fn plan(
        &self,
        request: &StreamRequest,
        others: &[StreamPlan],
    ) -> Result<StreamPlan, CollectError> {
        let planned = request.plan(&*self.links, others);
        planned.map_err(|why| self.named(why))
    }
    /// A plan for `request` from what was measured, on the channels that were.
    ///
    /// # Errors
    /// [`CollectError::Plan`].
    pub fn plan_from(
        &self,
        measured: &DualLinks,
        request: &StreamRequest,
    ) -> Result<StreamPlan, CollectError> {
        let planned = measured.known(request).plan(measured, &[]);
        planned.map_err(|why| self.named(why))
    }
    /// The path of `plan` broadened to at most `paths` paths of its length, from what was measured; from
    /// what is known beforehand where nothing was.
    ///
    /// # Errors
    /// [`CollectError::Plan`].
    pub fn stages(
        &self,
        measured: Option<&DualLinks>,
        plan: &StreamPlan,
        paths: usize,
    ) -> Result<StagePlan, CollectError> {
        let ends = plan.nodes.first().zip(plan.nodes.last());
        let (source, sink) = ends.ok_or(StreamError::Path)?;
        let request = self.request(*source, *sink, None);
        let planned = match measured {
            None => request.stages(&*self.links, plan, paths),
            Some(measured) => measured.known(&request).stages(measured, plan, paths),
        };
        planned.map_err(|why| self.named(why))
    }
    /// The planner's error in the testbed's names for nodes.
    fn named(&self, why: StreamError) -> CollectError {
        let id = |n: usize| {
            let known = self.site.testbed.id_of(n);
            known.map_or(n, |id| usize::from(id.get()))
        };
        CollectError::Plan(match why {
            StreamError::NoPath { from, to } => StreamError::NoPath {
                from: id(from),
                to: id(to),
            },
            StreamError::NoChannel { from, to } => StreamError::NoChannel {
                from: id(from),
                to: id(to),
            },
            StreamError::FewChannels | StreamError::Path => why,
        })
    }
    /// The path of `plan` on the first radio alone, on the clearest channels there are as `links` knows
    /// the site; on the band's last where it cannot be planned.
    pub(super) fn on_one_radio(&self, plan: &StagePlan, links: &Links) -> StagePlan {
        let path = path_of(plan);
        let planned = path.first().zip(path.last()).and_then(|(source, sink)| {
            let mut request = self.request(*source, *sink, Some(path.clone()));
            request.radios = Radios::First;
            request.plan(links, &[]).ok()
        });
        let blind = || vec![Tuning::Ghz2_4(Channel::LAST); plan.links.len()];
        StagePlan {
            links: planned.map_or_else(blind, |planned| planned.links),
            stages: plan.stages.clone(),
        }
    }
    /// What a planner knows of the links.
    pub(super) fn links(&self) -> &Links {
        &self.links
    }
    /// The names of `nodes`.
    pub fn ids(&self, nodes: &[usize]) -> Vec<NodeId> {
        let ids = nodes.iter().filter_map(|n| self.site.testbed.id_of(*n));
        ids.collect()
    }
}

/// One node of each stage: the path, where each has one.
pub(super) fn path_of(plan: &StagePlan) -> Vec<usize> {
    let stages = plan.stages.iter();
    stages.filter_map(|stage| stage.first().copied()).collect()
}

/// What is told of each link of `plan`'s path; `count` adds what the node at each place of it counted.
pub(super) fn links(
    ids: &[NodeId],
    plan: &StagePlan,
    count: impl Fn(usize, &mut LinkReport),
) -> Vec<LinkReport> {
    let path = path_of(plan);
    let hops = path.windows(2).zip(&plan.links).enumerate();
    hops.map(|(hop, (pair, on))| {
        let mut report = LinkReport {
            from: ids[pair[0]].get(),
            to: ids[pair[1]].get(),
            on: on.to_string(),
            ..LinkReport::default()
        };
        count(hop, &mut report);
        report
    })
    .collect()
}

impl Links {
    /// Of `nodes` nodes with the radios of `boards`, a band each.
    pub(super) fn of(environment: &Environment, nodes: usize, boards: &[Board]) -> Self {
        let mut of = Vec::with_capacity(boards.len() * Channel::COUNT * nodes * nodes);
        for (band, board) in boards.iter().enumerate() {
            let expected = environment.expected(127, board.tx_power);
            let floor: Dbm = board.chip.noise_floor + HARMLESS;
            for channel in Channel::all() {
                for from in 0..nodes {
                    for to in 0..nodes {
                        let ear = |n: usize| EarId((n + band * nodes) as u32);
                        let (a, b) = (ear(from), ear(to));
                        let level = (environment.mean_rssi(a, b, channel))
                            .map(|rssi| rssi.0 + board.tx_power.0)
                            .filter(|level| *level > floor.0);
                        let ratio = level.map_or(0.0, |_| expected(a, b, channel));
                        of.push((ratio as f32, level.map(|level| level as f32)));
                    }
                }
            }
        }
        Self { nodes, of }
    }
    fn at(&self, from: usize, to: usize, on: Tuning) -> Option<&(f32, Option<f32>)> {
        let band = usize::from(matches!(on, Tuning::Mhz900(_)));
        let channel = band * Channel::COUNT + on.place().index();
        self.of.get((channel * self.nodes + from) * self.nodes + to)
    }
}

impl Radio for Links {
    fn nodes(&self) -> usize {
        self.nodes
    }
    fn reception(&self, from: usize, to: usize, on: Tuning) -> f64 {
        self.at(from, to, on).map_or(0.0, |link| f64::from(link.0))
    }
    fn level(&self, from: usize, to: usize, on: Tuning) -> Option<f64> {
        self.at(from, to, on)?.1.map(f64::from)
    }
}
