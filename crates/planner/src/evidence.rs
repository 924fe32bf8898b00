//! What a transfer that broke off told of the links that it used, and plans made anew by it.
//!
//! A survey knows every link a little, and of some time ago; the first packets of a transfer tell of a few links how they
//! are now. Where each relay's count is known, a hop is as its packets fared, and links that nobody saw are less
//! trusted: so good hops are kept. Where only a whole chain is known to be bad,
//! its hops are suspected in proportion to how likely each was to be. Tests: tests/backups.rs.

use crate::link_model::{Expected, LinkModel};
use crate::links::{Hop, LinkQualities};
use crate::protocol_constants::FIRST_PROBE;
use crate::request::RouteRequest;
use thalweg_units::{Channel, ChannelSet, Db};

/// What was seen of links since they were surveyed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    /// Hops with the packets that arrived, and that were sent.
    crossed: Vec<(Hop, u32, u32)>,
    /// Chains of which one hop is bad, or more.
    degraded: Vec<Vec<Hop>>,
    /// Receivers that heard nobody on a channel any more.
    deaf: Vec<(usize, Channel)>,
    /// Nodes that cannot be had now.
    away: Vec<usize>,
}

/// What a link is expected to lose beside what the survey says, where nobody saw it since and another turned out to be bad.
const UNSEEN: f64 = 0.04;
/// How far links are known at least once one turned out to be bad: they have changed by more than the survey tells.
const UNKNOWN: Db = Db(8.0);
/// Packets that what the survey tells counts for beside those that were seen: links are not what they were.
const PRIOR: f64 = 2.0;
/// What is left of the trust in a receiver that heard nobody.
const DEAF: f64 = 0.3;
/// The most suspicion that falls on one hop of a bad chain.
const SUSPICION: f64 = 0.9;

impl Evidence {
    /// Of `of` packets over `hop`, `came` arrived.
    pub fn crossed(&mut self, hop: Hop, came: u32, of: u32) {
        let came = came.min(of);
        if of == 0 {
            return;
        }
        match self.crossed.iter_mut().find(|(seen, ..)| *seen == hop) {
            Some((_, all_came, all)) => (*all_came, *all) = (*all_came + came, *all + of),
            None => self.crossed.push((hop, came, of)),
        }
    }
    /// Too little came over a chain of these hops, and nobody knows where it was lost.
    pub fn degraded(&mut self, chain: Vec<Hop>) {
        self.degraded.push(chain);
    }
    /// Node `node` heard nothing any more on `channel`.
    pub fn deaf(&mut self, node: usize, channel: Channel) {
        self.deaf.push((node, channel));
    }

    /// Of all nodes these cannot be had for the next plan.
    pub fn away(&mut self, nodes: Vec<usize>) {
        self.away = nodes;
    }

    /// What to expect after that of the links that `request` may use.
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
        let links = links.known_to(UNKNOWN);
        let mut expected = Expected::new(&links, channels, &model);
        let unseen = 1.0 - UNSEEN;
        expected.change_all(|before| before * unseen);
        for (hop, came, of) in &self.crossed {
            let (came, of) = (f64::from(*came), f64::from(*of));
            expected.change(*hop, |before| {
                (before * PRIOR / unseen + came) / (PRIOR + of)
            });
        }
        for chain in &self.degraded {
            // That of a hop which was good before is small, and not none: other frames are on the air now.
            let chances: Vec<f64> =
                (chain.iter().map(|hop| expected.degraded(*hop, FIRST_PROBE))).collect();
            let all: f64 = chances.iter().sum();
            for (hop, chance) in chain.iter().zip(chances) {
                let share = match all > 0.0 {
                    true => chance / all,
                    // None was to be expected: one is as likely as the other.
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
        expected.forget(&self.away);
        expected
    }
}

/// What a plan was made of, for when it has to be made anew.
#[derive(Debug, PartialEq)]
pub(crate) struct Basis {
    pub(crate) links: LinkQualities,
    pub(crate) request: RouteRequest,
}
