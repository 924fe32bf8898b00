//! What a transfer that broke off found out about its links, for the next plan.
//!
//! A survey measures every link a little, some time ago; the first packets of a transfer measure a few links now.
//! Where each relay reported its count, a hop is as good as its packets fared, and links that carried none are trusted
//! less: so good hops are kept. Where only a whole chain is known to be bad, its hops are suspected in proportion
//! to how likely each was to be. Tests: tests/all/backups.rs.

use crate::link_model::{Expected, LinkModel};
use crate::links::{Hop, LinkQualities};
use crate::protocol_constants::FIRST_PROBE;
use crate::request::RouteRequest;
use thalweg_units::{Channel, ChannelSet, Db};

/// What transfers found out about links since these were surveyed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    /// Hops with the packets that arrived, and that were sent.
    hops: Vec<(Hop, u32, u32)>,
    /// Chains of which one hop is bad, or more.
    suspects: Vec<Vec<Hop>>,
    /// Receivers that stopped hearing anything on a channel.
    deaf: Vec<(usize, Channel)>,
    /// Nodes that are not available now.
    excluded: Vec<usize>,
}

/// What a link is expected to lose beyond what the survey says, where it carried nothing since and another turned out to be bad.
const UNTRIED: f64 = 0.04;
/// Least uncertainty of a link's level once one turned out to be bad: links have changed by more than the survey shows.
const UNKNOWN: Db = Db(8.0);
/// Packets that the survey counts for beside those of the transfer: links are not what they were.
const PRIOR: f64 = 2.0;
/// The share of a link's delivery that is believed where its receiver heard nothing.
const DEAF: f64 = 0.3;
/// The most suspicion that falls on one hop of a bad chain.
const SUSPICION: f64 = 0.9;

impl Evidence {
    /// Of `sent` packets over `hop`, `arrived` arrived.
    pub fn record_hop(&mut self, hop: Hop, arrived: u32, sent: u32) {
        let arrived = arrived.min(sent);
        if sent == 0 {
            return;
        }
        match self.hops.iter_mut().find(|(recorded, ..)| *recorded == hop) {
            Some((_, arrivals, total)) => {
                (*arrivals, *total) = (*arrivals + arrived, *total + sent);
            }
            None => self.hops.push((hop, arrived, sent)),
        }
    }
    /// Too little arrived over a chain of these hops; where it was lost is not known.
    pub fn suspect(&mut self, chain: Vec<Hop>) {
        self.suspects.push(chain);
    }
    /// Node `node` stopped hearing anything on `channel`.
    pub fn record_deaf(&mut self, node: usize, channel: Channel) {
        self.deaf.push((node, channel));
    }
    /// The next plan must do without these nodes, and without no others.
    pub fn exclude(&mut self, nodes: Vec<usize>) {
        self.excluded = nodes;
    }

    /// What to expect of the links that `request` may use, given all that.
    pub(crate) fn expected(
        &self,
        links: &LinkQualities,
        channels: ChannelSet,
        request: &RouteRequest,
    ) -> Expected {
        if *self == Self::default() {
            return Expected::new(links, channels, &request.model);
        }
        let model = LinkModel {
            unknown: Db(request.model.unknown.0.max(UNKNOWN.0)),
            ..request.model
        };
        let links = links.with_least_unknown(UNKNOWN);
        let mut expected = Expected::new(&links, channels, &model);
        let untried = 1.0 - UNTRIED;
        expected.change_all(|before| before * untried);
        for (hop, arrived, sent) in &self.hops {
            let (arrived, sent) = (f64::from(*arrived), f64::from(*sent));
            expected.change(*hop, |before| {
                (before * PRIOR / untried + arrived) / (PRIOR + sent)
            });
        }
        for chain in &self.suspects {
            // The chance of a hop that was good before is small, but not zero: other frames are on the air now.
            let chances: Vec<f64> =
                (chain.iter().map(|hop| expected.degraded(*hop, FIRST_PROBE))).collect();
            let all: f64 = chances.iter().sum();
            for (hop, chance) in chain.iter().zip(chances) {
                let share = match all > 0.0 {
                    true => chance / all,
                    // No hop was expected to be bad: all are as likely.
                    false => 1.0 / chain.len() as f64,
                };
                expected.change(*hop, |before| before * (1.0 - share.min(SUSPICION)));
            }
        }
        for &(to, channel) in &self.deaf {
            for from in 0..expected.nodes() {
                expected.change(Hop { from, to, channel }, |before| before * DEAF);
            }
        }
        expected.forget(&self.excluded);
        expected
    }
}

/// What a plan was made from, to make it again.
#[derive(Debug, PartialEq)]
pub(crate) struct Basis {
    pub(crate) links: LinkQualities,
    pub(crate) request: RouteRequest,
}
