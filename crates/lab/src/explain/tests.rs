//! Toy networks in which one thing goes wrong, and what must hold of every map.
#![allow(clippy::unwrap_used)]

use super::layout::Layout;
use super::record::Log;
use super::*;
use crate::collect::random_object;
use std::ops::ControlFlow::Continue;
use thalweg_medium::chip::CC2420;
use thalweg_medium::random::derive;
use thalweg_medium::{Cause as AirCause, Deaf, Environment, Interference, Source, Standing};
use thalweg_planner::{Group as PlanGroup, LinkQualities, Member, RouteRequest};
use thalweg_sim::{AirTrace, Ending, Moment};
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Channel, Dbm, Duration, SimTime};
use thalweg_wire::pipeline::{Group, Head, Header, Kind, Tag};
use thalweg_wire::route::Percent;
use thalweg_wire::FrameBuf;

/// A link on which half of the longest frames arrive.
const HALF: f64 = -96.6;
const GOOD: f64 = -60.0;
const PACKETS: usize = 60;

fn ch(number: u8) -> Channel {
    Channel::new(number).unwrap()
}

/// Source 0, so many relays at each stage (odd ones first, even ones alternating), then the sink.
/// Floods on channel 26 reach everyone but the `deaf`.
struct Toy {
    stages: Vec<usize>,
    channels: Vec<u8>,
    deaf: Option<usize>,
    threshold: Option<Percent>,
    interference: Interference,
}

impl Toy {
    fn new(stages: &[usize], channels: &[u8]) -> Self {
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
    fn plan(&self) -> Plan {
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
    fn session(&self, seed: u64, gain: impl Fn(usize, usize, u8) -> Option<f64>) -> Session {
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
        let mut session = Session::open(&site, seed).unwrap();
        session.offer(0, random_object(seed, source, PACKETS * 118));
        session
    }
    fn terms(&self) -> Terms {
        Terms {
            threshold: self.threshold,
            deadline_s: 20,
            attempts: 1,
            ..Terms::default()
        }
    }
    fn run(&self, protocol: Protocol, gain: impl Fn(usize, usize, u8) -> Option<f64>) -> LossMap {
        let mut session = self.session(1, gain);
        let (plan, terms) = (self.plan(), self.terms());
        let (_, _, map) =
            fetch(&mut session, &plan, protocol, &terms, &mut |_| Continue(())).unwrap();
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
    let map = toy.run(Protocol::Pip, |from, to, _| match (from, to) {
        (0, 1) => Some(HALF),
        _ => toy.near(from, to),
    });
    at(&map, 1, SubGroup::All, Cause::Weak, 20);
    assert_eq!(map.first_round().unwrap().hops[1].lost.total(), 0);
}

#[test]
fn equal_senders_beat() {
    let toy = Toy::new(&[4], &[12, 15, 20]);
    let map = toy.run(Protocol::P3, |from, to, _| match (from, to) {
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
    let map = toy.run(Protocol::P3, |from, to, _| match (from, to) {
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
    let map = toy.run(Protocol::P3, |from, to, _| match (from, to) {
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
    let map = toy.run(Protocol::P3, |from, to, _| toy.near(from, to));
    at(&map, 1, SubGroup::Odd, Cause::NotListening, 20);
}

#[test]
fn a_stage_four_further_on_is_self_interference() {
    let toy = Toy::new(&[1; 5], &[25, 15, 20, 12, 25, 15, 20]);
    let map = toy.run(Protocol::Pip, |from, to, channel| {
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
    let map = toy.run(Protocol::P3, |from, to, channel| {
        match (from, to, channel) {
            (2, 1, 16) => Some(-15.0),
            (0, 1, _) => Some(-85.0),
            _ => toy.near(from, to),
        }
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
    let map = toy.run(Protocol::Pip, |from, to, _| toy.near(from, to));
    at(&map, 1, SubGroup::All, Cause::External, 5);
}

#[test]
fn control_frames_have_their_own_tables_by_direction() {
    let toy = Toy::new(&[1], &[12, 15, 20]);
    let map = toy.run(Protocol::Pip, |from, to, _| match (from, to) {
        (1, 0) => Some(-95.5),
        _ => toy.near(from, to),
    });
    let stages = |hops: &[HopLoss]| hops.iter().map(|h| h.stage).collect::<Vec<_>>();
    assert_eq!(
        (stages(&map.requests), stages(&map.nacks)),
        (vec![1, 2], vec![1, 0])
    );
    assert!(map
        .requests
        .iter()
        .all(|h| h.entered > 0 && h.lost.total() == 0));
    assert_eq!(map.nacks[0].lost.total(), 0);
}

/// Frames told by hand to a record of source 0, relays 1 and 2, sink 3; node 4 is a stranger.
struct Hand {
    log: Log,
    now: u64,
}

impl Hand {
    fn new() -> Self {
        Self::of(2)
    }
    fn of(relays: usize) -> Self {
        let toy = Toy::new(&[relays], &[12, 15, 20]);
        let env = Environment::full_mesh(relays + 3, &CC2420, Dbm(GOOD), 1);
        let layout = Layout::new(&toy.plan(), Protocol::P3);
        Self {
            log: Log::new(layout, Arc::new(env)),
            now: 1_000_000,
        }
    }
    fn frame(hop: u8, number: u16, group: Group) -> FrameBuf {
        let (kind, tag) = (Kind::Data, Tag::of(1));
        let head = Head {
            kind,
            tag,
            hop,
            group,
        };
        FrameBuf::build(|w| {
            Header { head, number }.emit(w)?;
            w.bytes(&[7; 40]).map(|_| ())
        })
        .unwrap()
    }
    /// One frame of `from`, and what `to` had of it at its beginning and end.
    fn say(&mut self, from: usize, frame: &[u8], to: usize, begin: Standing, end: Ending) {
        let start = SimTime::from_nanos(self.now);
        let channel = ch(15);
        self.now += 2_000_000;
        let mut tell = |at: u64, moment: Moment<'_>| {
            let at = SimTime::from_nanos(at);
            let mpdu = frame;
            self.log.note(&AirTrace {
                at,
                from,
                channel,
                start,
                mpdu,
                moment,
            });
        };
        tell(start.as_nanos(), Moment::Begins(&[(to, begin)]));
        tell(self.now, Moment::Ends(&[(to, end)]));
        self.now += 1_000_000;
    }
    fn causes(&self) -> Vec<Causes> {
        let ids = Testbed::load("indriya").unwrap();
        let ids: Vec<_> = ids.nodes.iter().map(|n| n.id).collect();
        let terms = attribute::Terms {
            protocol: Protocol::P3,
            ids: &ids,
            power: Dbm(0.0),
            selective: attribute::Selective::Nobody,
        };
        let map = attribute::Attribution::new(&self.log, &terms).map();
        assert!(map.is_conserved());
        map.first_round()
            .unwrap()
            .hops
            .iter()
            .map(|h| h.lost.clone())
            .collect()
    }
    fn only(&self, hop: usize, cause: Cause) {
        let causes = self.causes();
        assert_eq!(causes[hop].ranked(), [(cause, 1)]);
        assert_eq!(causes.iter().map(Causes::total).sum::<u32>(), 1);
    }
}

#[test]
fn a_strangers_frame_is_a_collision() {
    for stranger in [
        Ending::Lost {
            cause: AirCause::Collision,
            interferer: Some(4),
        },
        Ending::Other(Standing::Taken(thalweg_medium::EarId(4))),
    ] {
        let mut hand = Hand::new();
        let frame = Hand::frame(0, 0, Group::Odd);
        hand.say(0, &frame, 1, Standing::Locked, stranger);
        hand.only(0, Cause::Collision);
    }
    let mut hand = Hand::new();
    let ending = Ending::Lost {
        cause: AirCause::Collision,
        interferer: Some(2),
    };
    hand.say(
        0,
        &Hand::frame(0, 0, Group::Odd),
        1,
        Standing::Locked,
        ending,
    );
    hand.only(0, Cause::SelfInterference);
}

#[test]
fn a_receiver_that_is_away_is_busy_or_not_listening() {
    let away = [
        (Standing::Off(Deaf::Busy), Cause::Busy),
        (Standing::Off(Deaf::Sleeping), Cause::NotListening),
        (Standing::Elsewhere(ch(11)), Cause::NotListening),
        (Standing::Locked, Cause::Busy),
    ];
    for (standing, cause) in away {
        let mut hand = Hand::new();
        let end = Ending::Other(Standing::Off(Deaf::Busy));
        hand.say(0, &Hand::frame(0, 0, Group::Odd), 1, standing, end);
        hand.only(0, cause);
    }
}

#[test]
fn breaking_off_a_frame_of_another_stage_is_self_interference() {
    let mut hand = Hand::new();
    let (other, own) = (Hand::frame(1, 9, Group::Odd), Hand::frame(0, 0, Group::Odd));
    let mut tell = |at: u64, from: usize, start: u64, mpdu: &[u8], moment: Moment<'_>| {
        let (at, start, channel) = (SimTime::from_nanos(at), SimTime::from_nanos(start), ch(15));
        hand.log.note(&AirTrace {
            at,
            from,
            channel,
            start,
            mpdu,
            moment,
        });
    };
    let busy = Standing::Off(Deaf::Busy);
    let away = Ending::Other(busy);
    tell(0, 2, 0, &other, Moment::Begins(&[(1, Standing::Locked)]));
    tell(9, 0, 9, &own, Moment::Begins(&[(1, busy)]));
    tell(80, 2, 0, &other, Moment::Ends(&[(1, away)]));
    tell(90, 0, 9, &own, Moment::Ends(&[(1, away)]));
    hand.only(0, Cause::SelfInterference);
    // And one that a stronger frame stole before it was broken off.
    let mut hand = Hand::new();
    let mut tell = |at: u64, from: usize, start: u64, mpdu: &[u8], moment: Moment<'_>| {
        let (at, start, channel) = (SimTime::from_nanos(at), SimTime::from_nanos(start), ch(15));
        hand.log.note(&AirTrace {
            at,
            from,
            channel,
            start,
            mpdu,
            moment,
        });
    };
    tell(0, 0, 0, &own, Moment::Begins(&[(1, Standing::Locked)]));
    tell(9, 2, 9, &other, Moment::Begins(&[(1, Standing::Locked)]));
    tell(80, 0, 0, &own, Moment::Ends(&[(1, away)]));
    tell(90, 2, 9, &other, Moment::Ends(&[(1, away)]));
    hand.only(0, Cause::SelfInterference);
}

#[test]
fn the_receiver_nearest_to_it_tells_why_a_packet_was_lost() {
    let mut hand = Hand::of(4);
    let mpdu = Hand::frame(0, 0, Group::Odd);
    let start = SimTime::from_nanos(1);
    let lost = |cause| Ending::Lost {
        cause,
        interferer: None,
    };
    let begins = [(1, Standing::Locked), (3, Standing::Locked)];
    let ends = [(1, lost(AirCause::Weak)), (3, lost(AirCause::BeatNull))];
    for moment in [Moment::Begins(&begins), Moment::Ends(&ends)] {
        let (at, from, channel) = (start, 0, ch(15));
        let mpdu = &mpdu;
        hand.log.note(&AirTrace {
            at,
            from,
            channel,
            start,
            mpdu,
            moment,
        });
    }
    hand.only(0, Cause::BeatNull);
}

#[test]
fn what_is_had_and_not_sent_is_told() {
    let mut hand = Hand::new();
    hand.say(
        0,
        &Hand::frame(0, 0, Group::Odd),
        1,
        Standing::Locked,
        Ending::Good,
    );
    // Hops in order: stage 1 odd and even, stage 2 odd and even.
    hand.only(2, Cause::NotSent);
    let frame = Hand::frame(1, 0, Group::Odd);
    let end = Ending::Lost {
        cause: AirCause::BeatNull,
        interferer: None,
    };
    hand.say(1, &frame, 3, Standing::Locked, end);
    hand.only(2, Cause::BeatNull);
    // A copy that arrives settles it, whatever was told of the others.
    hand.say(1, &frame, 3, Standing::WithCopy, Ending::Good);
    assert_eq!(hand.causes()[2].total(), 0);
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
        for protocol in [Protocol::P3, Protocol::Pip] {
            let mut plain = toy.session(seed, gain);
            let go = &mut |_| Continue(());
            let unseen = plain.fetch(&plan, protocol, &terms, go).unwrap();
            let mut session = toy.session(seed, gain);
            let (outcome, object, map) = fetch(&mut session, &plan, protocol, &terms, go).unwrap();
            assert_eq!(unseen, (outcome.clone(), object));
            assert!(map.is_conserved(), "seed {seed}: {}", map.to_text());
            let hops = &map.first_round().unwrap().hops;
            let sum = |stage: usize| hops.iter().filter(move |h| h.stage == stage);
            let sent: u32 = sum(1).map(|h| h.entered).sum();
            let arrived: u32 = sum(3).map(|h| h.arrived).sum();
            let unsent = |h: &HopLoss| h.lost.of(Cause::NotSent);
            assert_eq!(map.requests.iter().map(unsent).sum::<u32>(), 0);
            let lost: u32 = hops.iter().map(|h| h.lost.total()).sum();
            assert_eq!(
                (sent as usize, arrived + lost),
                (PACKETS, sent),
                "seed {seed}"
            );
            if let Some(r1) = outcome.first_round_reliability {
                assert_eq!((r1 * PACKETS as f64).round() as u32, arrived, "seed {seed}");
            }
        }
    }
}

#[test]
fn text_json_and_picture_tell_the_same() {
    let toy = Toy::new(&[4], &[12, 15, 20]);
    let map = toy.run(Protocol::P3, |from, to, _| match (from, to) {
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
    let mut twice = totals.clone();
    twice.merge(&totals);
    assert_eq!((twice.transfers, twice.lost()), (2, 2 * totals.lost()));
    assert_eq!(
        twice.share(Cause::SenderMissing),
        totals.share(Cause::SenderMissing)
    );
}
