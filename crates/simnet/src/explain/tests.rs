//! Toy networks in which one thing goes wrong, and what must hold of every map.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::collect::random_object;
use std::ops::ControlFlow::Continue;
use thalweg_host::job::Retry;
use thalweg_medium::chip::CC2420;
use thalweg_medium::random::derive;
use thalweg_medium::{Environment, Interference, Source};
use thalweg_planner::{Group as PlanGroup, LinkQualities, Member, RouteRequest};
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Channel, Dbm, Duration, NodeId};
use thalweg_wire::route::{Hopping, Percent};

/// A link on which half of the longest frames arrive.
const HALF: f64 = -96.6;
pub(super) const GOOD: f64 = -60.0;
const PACKETS: usize = 60;

pub(super) fn ch(number: u8) -> Channel {
    Channel::new(number).unwrap()
}

/// Of the nodes of all networks here.
pub(super) fn ids() -> Vec<NodeId> {
    let testbed = Testbed::load("indriya").unwrap();
    testbed.nodes.iter().map(|n| n.id).collect()
}

/// Source 0, so many relays at each stage (odd ones first, even ones alternating), then the sink.
/// Floods on channel 26 reach everyone but the `deaf`.
pub(super) struct Toy {
    stages: Vec<usize>,
    channels: Vec<u8>,
    deaf: Option<usize>,
    threshold: Option<Percent>,
    interference: Interference,
}

impl Toy {
    pub(super) fn new(stages: &[usize], channels: &[u8]) -> Self {
        Self {
            stages: stages.to_vec(),
            channels: channels.to_vec(),
            deaf: None,
            threshold: None,
            interference: Interference::none(),
        }
    }
    fn nodes(&self) -> usize {
        2 + self.stages.iter().sum::<usize>()
    }
    /// Each node's stage.
    fn stage(&self, node: usize) -> usize {
        let mut first = 1;
        for (at, count) in self.stages.iter().enumerate() {
            if node < first + count {
                return if node == 0 { 0 } else { at + 1 };
            }
            first += count;
        }
        if node == 0 {
            0
        } else {
            self.stages.len() + 1
        }
    }
    pub(super) fn plan(&self) -> Plan {
        let n = self.nodes();
        let mut links = LinkQualities::new(n);
        for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
            if self.stage(a).abs_diff(self.stage(b)) == 1 {
                let rssi = Some(Dbm(GOOD));
                links.record_prr(a, b, Channel::LAST, 1.0, rssi).unwrap();
            }
        }
        let mut request = RouteRequest::new(0, n - 1);
        (request.hops, request.min_paths) = (Some(self.stages.len() + 1), 1);
        let mut rng = thalweg_medium::random::stream(1, "toy", &[]);
        let mut plan = thalweg_planner::plan(&links, &request, &mut rng).unwrap();
        plan.channels = self.channels.iter().map(|c| ch(*c)).collect();
        let (mut node, mut path) = (0, vec![0]);
        plan.stages = (self.stages.iter())
            .map(|count| {
                path.push(node + 1);
                let member = |at: usize| {
                    node += 1;
                    let group = match at % 2 {
                        0 => PlanGroup::Odd,
                        _ => PlanGroup::Even,
                    };
                    Member {
                        node,
                        group,
                        path: None,
                    }
                };
                (0..*count).map(member).collect()
            })
            .collect();
        path.push(n - 1);
        plan.pip.path = path;
        plan
    }
    /// A session where `gain` tells the links of the pipeline's channels.
    fn session(&self, seed: u64, gain: impl Fn(usize, usize, u8) -> Option<f64>) -> Motes {
        let n = self.nodes();
        let mut env = Environment::from_gains(n, &CC2420, seed, |from, to, channel| {
            let rssi = match channel.number() {
                26 if self.deaf == Some(to) => None,
                26 => Some(GOOD),
                number => gain(from, to, number),
            };
            rssi.map(Dbm)
        });
        env.interference = self.interference.clone();
        let mut testbed = Testbed::load("indriya").unwrap();
        testbed.nodes.truncate(n);
        let source = testbed.nodes[0].id;
        let site = Site::new(testbed, seed).in_environment(Arc::new(env));
        let mut session = Motes::open(&site, seed).unwrap();
        session.offer(0, random_object(seed, source, PACKETS * 118));
        session
    }
    pub(super) fn terms(&self) -> TransferTerms {
        TransferTerms {
            threshold: self.threshold,
            deadline_s: 20,
            retry: Retry::NEVER,
            ..TransferTerms::default()
        }
    }
    fn run(&self, protocol: Scheme, gain: impl Fn(usize, usize, u8) -> Option<f64>) -> LossMap {
        let mut session = self.session(1, gain);
        let (plan, terms) = (self.plan(), self.terms());
        let (_, map) = fetch(&mut session, &plan, protocol, &terms, &mut |_| Continue(())).unwrap();
        assert!(map.is_conserved(), "{map:#?}");
        map
    }
    /// Neighbouring stages are linked well.
    fn near(&self, from: usize, to: usize) -> Option<f64> {
        (self.stage(from).abs_diff(self.stage(to)) == 1).then_some(GOOD)
    }
}

/// The first round's losses at `stage`, where more than `least` of `cause` must be.
fn at(map: &LossMap, stage: usize, group: SubGroup, cause: Cause, least: u32) {
    let hops = &map.first_round().unwrap().hops;
    let hop = hops
        .iter()
        .find(|h| h.stage == stage && h.group == group)
        .unwrap();
    let (of, all) = (hop.lost.of(cause), hop.lost.total());
    assert!(
        of >= least && of * 10 >= all * 8,
        "{cause:?}: {}",
        map.to_text()
    );
}

#[test]
fn a_faint_link_is_weak() {
    let toy = Toy::new(&[1], &[12, 15, 20]);
    let map = toy.run(Scheme::Pip(Hopping::Fixed), |from, to, _| {
        match (from, to) {
            (0, 1) => Some(HALF),
            _ => toy.near(from, to),
        }
    });
    at(&map, 1, SubGroup::All, Cause::Weak, 20);
    assert_eq!(map.first_round().unwrap().hops[1].lost.total(), 0);
}

#[test]
fn equal_senders_beat() {
    let toy = Toy::new(&[4], &[12, 15, 20]);
    let map = toy.run(Scheme::P3, |from, to, _| match (from, to) {
        (_, 5) => Some(-88.0),
        _ => toy.near(from, to),
    });
    at(&map, 2, SubGroup::Odd, Cause::BeatNull, 1);
    let hop = map
        .first_round()
        .unwrap()
        .hops
        .iter()
        .find(|h| h.stage == 2)
        .unwrap();
    assert!((hop.mean_senders() - 2.0).abs() < 1e-9);
}

#[test]
fn a_relay_that_lacks_the_packet_is_missed() {
    let toy = Toy::new(&[4], &[12, 15, 20]);
    // Relays 1 and 3 are odd: 1 hears everything and is not heard, 3 the other way round.
    let map = toy.run(Scheme::P3, |from, to, _| match (from, to) {
        (0, 3) => Some(HALF),
        (1, 5) => None,
        _ => toy.near(from, to),
    });
    at(&map, 2, SubGroup::Odd, Cause::SenderMissing, 8);
}

#[test]
fn what_the_threshold_keeps_back_is_withheld() {
    let mut toy = Toy::new(&[4], &[12, 15, 20]);
    toy.threshold = Percent::new(100);
    let map = toy.run(Scheme::P3, |from, to, _| match (from, to) {
        (0, 1 | 3) => Some(HALF),
        (1 | 3, 5) => Some(-70.0 - from as f64 * 4.0),
        _ => toy.near(from, to),
    });
    at(&map, 2, SubGroup::Odd, Cause::Withheld, 1);
}

#[test]
fn a_node_that_never_woke_does_not_listen() {
    let mut toy = Toy::new(&[2], &[12, 15, 20]);
    toy.deaf = Some(1);
    let map = toy.run(Scheme::P3, |from, to, _| toy.near(from, to));
    at(&map, 1, SubGroup::Odd, Cause::NotListening, 20);
}

#[test]
fn a_stage_four_further_on_is_self_interference() {
    let toy = Toy::new(&[1; 5], &[25, 15, 20, 12, 25, 15, 20]);
    let map = toy.run(Scheme::Pip(Hopping::Fixed), |from, to, channel| {
        match (from, to, channel) {
            (4, 1, 15) => Some(-58.0),
            _ => toy.near(from, to),
        }
    });
    at(&map, 1, SubGroup::All, Cause::SelfInterference, 10);
}

#[test]
fn a_loud_neighbour_channel_is_told() {
    let toy = Toy::new(&[2], &[12, 15, 16]);
    let map = toy.run(Scheme::P3, |from, to, channel| match (from, to, channel) {
        (2, 1, 16) => Some(-15.0),
        (0, 1, _) => Some(-85.0),
        _ => toy.near(from, to),
    });
    at(&map, 1, SubGroup::Odd, Cause::AdjacentChannel, 10);
}

#[test]
fn bursts_are_external() {
    let mut toy = Toy::new(&[1], &[20, 12, 25]);
    let source = Source {
        id: 1,
        on_share: 0.9,
        on_rate_hz: 100.0,
        off_rate_hz: 10.0,
        mean_burst: Duration::from_millis(1),
        load_period: Duration::from_millis(200),
    };
    let power = Dbm(-55.0).milliwatts().0 as f32;
    let ears = vec![(0, [power, 0.0, 0.0, 0.0]); toy.nodes()];
    toy.interference = Interference::new(vec![[Some(source), None, None, None]], ears);
    let map = toy.run(Scheme::Pip(Hopping::Fixed), |from, to, _| {
        toy.near(from, to)
    });
    at(&map, 1, SubGroup::All, Cause::External, 5);
}

#[test]
fn control_frames_have_their_own_tables_by_direction() {
    let toy = Toy::new(&[1], &[12, 15, 20]);
    let map = toy.run(Scheme::Pip(Hopping::Fixed), |from, to, _| {
        match (from, to) {
            (1, 0) => Some(-95.5),
            _ => toy.near(from, to),
        }
    });
    let stages = |hops: &[HopLoss]| hops.iter().map(|h| h.stage).collect::<Vec<_>>();
    assert_eq!(
        (stages(&map.route.requests), stages(&map.route.nacks)),
        (vec![1, 2], vec![1, 0])
    );
    assert!(map
        .route
        .requests
        .iter()
        .all(|h| h.entered > 0 && h.lost.total() == 0));
    assert_eq!(map.route.nacks[0].lost.total(), 0);
}

#[test]
fn every_packet_is_accounted_for_and_watching_changes_nothing() {
    for seed in 1..=6 {
        let toy = Toy::new(&[4, 4], &[12, 15, 20, 25]);
        let gain = |from: usize, to: usize, channel: u8| {
            let ids = [from.min(to) as u64, from.max(to) as u64, u64::from(channel)];
            let depth = derive(seed, "gain", &ids) % 20;
            toy.near(from, to).map(|_| -80.0 - depth as f64)
        };
        let (plan, mut terms) = (toy.plan(), toy.terms());
        terms.threshold = Percent::new(90);
        for protocol in [Scheme::P3, Scheme::Pip(Hopping::Fixed)] {
            let mut plain = toy.session(seed, gain);
            let go = &mut |_| Continue(());
            let unseen = plain.fetch(&plan, protocol, &terms, go).unwrap();
            let mut session = toy.session(seed, gain);
            let ((outcome, object), map) =
                fetch(&mut session, &plan, protocol, &terms, go).unwrap();
            assert_eq!(unseen, (outcome.clone(), object));
            assert!(map.is_conserved(), "seed {seed}: {}", map.to_text());
            let hops = &map.first_round().unwrap().hops;
            let sum = |stage: usize| hops.iter().filter(move |h| h.stage == stage);
            let sent: u32 = sum(1).map(|h| h.entered).sum();
            let arrived: u32 = sum(3).map(|h| h.arrived).sum();
            let unsent = |h: &HopLoss| h.lost.of(Cause::NotSent);
            assert_eq!(map.route.requests.iter().map(unsent).sum::<u32>(), 0);
            let lost: u32 = hops.iter().map(|h| h.lost.total()).sum();
            assert_eq!(
                (sent as usize, arrived + lost),
                (PACKETS, sent),
                "seed {seed}"
            );
            if let Some(r1) = outcome.summary.first_round_reliability {
                assert_eq!((r1 * PACKETS as f64).round() as u32, arrived, "seed {seed}");
            }
        }
    }
}

#[test]
fn text_json_and_picture_tell_the_same() {
    let toy = Toy::new(&[4], &[12, 15, 20]);
    let map = toy.run(Scheme::P3, |from, to, _| match (from, to) {
        (0, 3) => Some(HALF),
        (1, 5) => None,
        _ => toy.near(from, to),
    });
    let json = serde_json::to_string(&map).unwrap();
    assert_eq!(serde_json::from_str::<LossMap>(&json).unwrap(), map);
    let lost = map.first_round().unwrap().lost().of(Cause::SenderMissing);
    let named = format!("sender missing {lost}");
    assert!(
        lost > 0 && map.to_text().contains(&named),
        "{}",
        map.to_text()
    );
    assert!(map.to_svg().contains(&named));
    assert!(json.contains("\"sender-missing\""));
    let mut totals = Totals::default();
    totals.add(&map);
    let once = totals.lost();
    totals.add(&map);
    assert_eq!((totals.transfers, totals.lost()), (2, 2 * once));
}
