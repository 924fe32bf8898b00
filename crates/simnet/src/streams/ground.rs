//! Where streams run: a site in two bands with surveyed links. As in FastForward, paths and channels are fixed beforehand
//! (section III-B), without the injected losses.

use super::{CollectError, DualLinks, DualSurveyCost};
use crate::collect::ProgressObserver;
use std::ops::ControlFlow;
use std::sync::Arc;
use thalweg_host::transfer::stream::LinkReport;
use thalweg_planner::streams::{Radios, StreamError, StreamPlan, StreamRequest};
use thalweg_protocols::fastforward::Config;
use thalweg_testbeds::{Loss, Site};
use thalweg_units::{Channel, Channel900, Duration, NodeId, Tuning};

/// A site for streams, whose nodes have measured their links.
#[derive(Debug, Clone)]
pub struct Ground {
    /// The site, with both radios of each node.
    pub site: Site,
    links: Arc<DualLinks>,
}

impl Ground {
    /// `site` after a survey of both bands by its sink.
    ///
    /// # Errors
    /// [`CollectError::Unfit`] where its nodes have one radio; those of the survey.
    pub fn new(site: Site) -> Result<Self, CollectError> {
        let sink = site.testbed.index_of(site.testbed.sink).unwrap_or(0);
        let silent = &mut |_: &str, _| ControlFlow::Continue(());
        Ok(Self::surveyed(site, Radios::Alternating, sink, silent)?.0)
    }

    /// `site` after node `sink` surveyed the links that streams over `radios` can use; and the cost of that.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn surveyed(
        site: Site,
        radios: Radios,
        sink: usize,
        observer: ProgressObserver<'_>,
    ) -> Result<(Self, DualSurveyCost), CollectError> {
        if site.board.second.is_none() {
            return Err(CollectError::Unfit {
                testbed: site.testbed.name.clone(),
                why: "streams need nodes with two radios (board = \"opal\")".to_owned(),
            });
        }
        let (links, cost) = DualLinks::measure(&site, radios, sink, observer)?;
        let since = site.age() + Duration::from_secs_f64(cost.seconds());
        let ground = Self {
            site: site.aged(since)?,
            links: Arc::new(links),
        };
        Ok((ground, cost))
    }

    /// Leaves `nodes` out of paths that are planned from now on.
    pub fn avoid(&mut self, nodes: impl IntoIterator<Item = usize>) {
        Arc::make_mut(&mut self.links).avoid(nodes);
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
    /// A plan for `request` beside `others`, on the channels that were measured. Injected losses are not in it.
    ///
    /// # Errors
    /// [`CollectError::Plan`].
    pub fn plan(
        &self,
        request: &StreamRequest,
        others: &[StreamPlan],
    ) -> Result<StreamPlan, CollectError> {
        let planned = self.links.measured(request).plan(&*self.links, others);
        planned.map_err(|why| self.named(why))
    }
    /// The planner's error in the testbed's names for nodes.
    fn named(&self, why: StreamError) -> CollectError {
        let id = |n: usize| {
            let id = self.site.testbed.id_of(n);
            id.map_or(n, |id| usize::from(id.get()))
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
            _ => why,
        })
    }
    /// The path of `plan` on the first radio alone, on the clearest channels that were measured; on the band's last where
    /// it cannot be planned.
    pub(super) fn on_one_radio(&self, plan: &StreamPlan) -> StreamPlan {
        let path = &plan.nodes;
        let planned = path.first().zip(path.last()).and_then(|(source, sink)| {
            let mut request = self.request(*source, *sink, Some(path.clone()));
            request.radios = Radios::First;
            self.links.measured(&request).plan(&*self.links, &[]).ok()
        });
        let fallback = || vec![Tuning::Ghz2_4(Channel::LAST); plan.links.len()];
        StreamPlan {
            links: planned.map_or_else(fallback, |planned| planned.links),
            nodes: plan.nodes.clone(),
        }
    }
    /// The names of `nodes`.
    pub fn ids(&self, nodes: &[usize]) -> Vec<NodeId> {
        let ids = nodes.iter().filter_map(|n| self.site.testbed.id_of(*n));
        ids.collect()
    }
}

/// A report of each link of `plan`'s path; `count` adds the counts of the node at each hop.
pub(super) fn links(
    ids: &[NodeId],
    plan: &StreamPlan,
    count: impl Fn(usize, &mut LinkReport),
) -> Vec<LinkReport> {
    let hops = plan.nodes.windows(2).zip(&plan.links).enumerate();
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
