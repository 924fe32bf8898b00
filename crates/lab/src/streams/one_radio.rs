//! A path that a protocol over one radio per node carries an object over: what burst forwarding and PIP
//! have in common.

use super::ground::Links;
use super::{Ground, LinkReport, Terms};
use thalweg_planner::streams::StreamPlan;
use thalweg_units::{Channel, NodeId};

/// A path with a channel for each link.
pub(super) struct OneRadio<'a> {
    pub(super) plan: &'a StreamPlan,
    pub(super) object: &'a [u8],
    pub(super) terms: &'a Terms,
    pub(super) ids: Vec<NodeId>,
    channels: Vec<Channel>,
}

impl<'a> OneRadio<'a> {
    /// The path of `plan` on channels that are clear as `links` knows the site.
    pub(super) fn new(
        ground: &Ground,
        (plan, object): (&'a StreamPlan, &'a [u8]),
        terms: &'a Terms,
        links: &Links,
    ) -> Self {
        Self {
            plan,
            object,
            terms,
            ids: ground.site.testbed.nodes.iter().map(|n| n.id).collect(),
            channels: ground.on_one_radio(plan, links),
        }
    }

    /// The channel of the link that leads to the node after `hop` hops; the source's own is any.
    pub(super) fn own(&self, hop: usize) -> Channel {
        let link = hop.checked_sub(1).and_then(|link| self.channels.get(link));
        link.copied().unwrap_or(Channel::LAST)
    }
    /// The links' channels, where the path could be planned.
    pub(super) fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// What is told of each link; `counts` adds what the node at each place of the path counted.
    pub(super) fn links(&self, counts: impl Fn(usize, &mut LinkReport)) -> Vec<LinkReport> {
        let pairs = self.plan.nodes.windows(2).enumerate();
        pairs
            .map(|(hop, pair)| {
                let mut report = LinkReport {
                    from: self.ids[pair[0]].get(),
                    to: self.ids[pair[1]].get(),
                    on: format!("2.4G:{}", self.own(hop + 1)),
                    sent: 0,
                    retransmissions: 0,
                    unacknowledged: 0,
                    overflows: 0,
                    withheld: 0,
                    duplicates: 0,
                    queue_peak: 0,
                    queue_mean: 0.0,
                };
                counts(hop, &mut report);
                report
            })
            .collect()
    }
}
