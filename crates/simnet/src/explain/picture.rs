//! A loss map's first round as a picture ([`thalweg_draw::stages`]). Tests: `tests.rs`.

use super::cause::{Cause, Causes};
use super::layout::{Part, SubGroup};
use super::map::{HopLoss, LossMap, MapNode, RouteMap};
use super::text::{lost_by, sum};
use thalweg_draw::stages::{Hop, Lane, Member, Stages, Voice};
use thalweg_draw::BarPart;

impl LossMap {
    /// The first round as an SVG document, with the route that it took.
    pub fn to_svg(&self) -> String {
        let none = Vec::new();
        let first = self.first_round();
        let hops = first.map_or(&none, |r| &r.hops);
        let route = self.route_of(first.map_or(0, |r| r.attempt));
        let mut lost = Causes::default();
        hops.iter().for_each(|h| lost.add(&h.lost));
        let mut nodes: Vec<Member> = (route.nodes.iter())
            .map(|n| route.member(hops, n, &self.named(n.node)))
            .collect();
        nodes.sort_by_key(|member| (member.stage, member.lane));
        let stages = Stages {
            title: format!(
                "{}, node {} to node {}: where packets were lost in the first round",
                self.protocol.to_uppercase(),
                self.named(self.source),
                self.named(self.sink)
            ),
            subtitle: self.subtitle(route, hops),
            stages: (0..=route.hops)
                .map(|stage| route.stage_name(stage))
                .collect(),
            nodes,
            hops: hops.iter().map(hop).collect(),
            lost: parts(&lost),
            notes: [
                ("requests", &route.requests, route.hops),
                ("NACKs", &route.nacks, 0),
            ]
            .into_iter()
            .filter(|(_, hops, _)| !hops.is_empty())
            .map(|(name, hops, end)| sum(name, hops, end))
            .collect(),
        };
        stages.to_svg()
    }

    fn subtitle(&self, route: &RouteMap, hops: &[HopLoss]) -> String {
        let sum = |stage: usize, of: fn(&HopLoss) -> u32| -> u32 {
            hops.iter().filter(|h| h.stage == stage).map(of).sum()
        };
        let (sent, arrived) = (sum(1, |h| h.entered), sum(route.hops, |h| h.arrived));
        let ways = match self.ways.len() {
            0 => String::new(),
            n => format!(", over {} ways", n + 1),
        };
        format!(
            "{arrived} of {sent} packets arrived ({:.1} %); {} rounds in all{ways}",
            f64::from(arrived) * 100.0 / f64::from(sent.max(1)),
            self.rounds.len()
        )
    }
}

impl RouteMap {
    fn stage_name(&self, stage: usize) -> String {
        let channel = self.channels.get(stage).map_or(0, |c| *c);
        match stage {
            0 => "source".to_owned(),
            s if s == self.hops => match self.last_even {
                Some(even) => format!("sink, ch {channel}/{even}"),
                None => format!("sink, ch {channel}"),
            },
            s => format!("stage {s}, ch {channel}"),
        }
    }

    /// The node `at` a place, which people call `named`.
    fn member(&self, hops: &[HopLoss], at: &MapNode, named: &str) -> Member {
        let MapNode {
            node,
            stage,
            group,
            part,
        } = *at;
        let (mut got, mut of, mut lost) = (0, 0, Causes::default());
        for hop in hops.iter().filter(|h| h.stage == stage) {
            for r in hop.receivers.iter().filter(|r| r.node == node) {
                (got, of) = (got + r.got, of + hop.entered);
                lost.add(&r.lost);
            }
        }
        let (mut had, mut sent) = (0, 0);
        for hop in hops.iter().filter(|h| h.stage == stage + 1) {
            for s in hop.senders.iter().filter(|s| s.node == node) {
                (had, sent) = (had + s.had, sent + s.sent);
            }
        }
        let mut hint = format!("node {named}");
        if stage > 0 {
            hint.push_str(&format!(": got {got} of {of}{}", lost_by(&lost)));
        }
        if stage < self.hops {
            hint.push_str(&format!("; sent {sent} of {had}"));
        }
        Member {
            name: node.to_string(),
            stage,
            lane: lane(group),
            received: f64::from(got) / f64::from(of.max(1)),
            voice: match (stage < self.hops && had > 0 && 2 * sent < had, part) {
                // Some of the packets pass it by, and others it has no call to send.
                (_, Part::StandsBy) if 2 * sent < of => Voice::StoodBy,
                (true, _) => Voice::KeptBack,
                (false, _) => Voice::Spoke,
            },
            hint,
        }
    }
}

const fn lane(group: SubGroup) -> Lane {
    match group {
        SubGroup::Odd => Lane::Upper,
        SubGroup::Even => Lane::Lower,
        SubGroup::All => Lane::Only,
    }
}

fn hop(hop: &HopLoss) -> Hop {
    Hop {
        stage: hop.stage,
        lane: lane(hop.group),
        entered: hop.entered,
        lost: parts(&hop.lost),
    }
}

fn parts(lost: &Causes) -> Vec<BarPart> {
    let part = |(cause, count): (Cause, u32)| BarPart {
        name: cause.name(),
        colour: cause.colour(),
        count,
    };
    lost.ranked().into_iter().map(part).collect()
}
