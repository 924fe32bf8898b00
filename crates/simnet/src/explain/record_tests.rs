//! Frames told by hand to a record, and what is made of them.
#![allow(clippy::unwrap_used)]

use super::layout::Layout;
use super::record::Log;
use super::tests::{ch, ids, Toy, GOOD};
use super::*;
use thalweg_medium::chip::CC2420;
use thalweg_medium::{Cause as AirCause, Deaf, EarStatus, Environment};
use thalweg_sim::{AirTrace, Ending, Moment};
use thalweg_units::{Dbm, SimTime};
use thalweg_wire::pipeline::{Group, Head, Header, Kind, Purpose, Request, Tag};
use thalweg_wire::FrameBuf;

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
        let ids = ids();
        let route = route(&toy.plan(), Scheme::P3, &toy.terms(), &ids, 1).unwrap();
        let layout = Layout::new(&route, &ids);
        let mut log = Log::new(layout.clone(), Arc::new(env));
        log.ordered(1, layout);
        Self {
            log,
            now: 1_000_000,
        }
    }
    fn frame(hop: u8, number: u16, group: Group) -> FrameBuf {
        Self::frame_of(1, hop, number, group)
    }
    fn frame_of(transfer: u16, hop: u8, number: u16, group: Group) -> FrameBuf {
        let (kind, tag) = (Kind::Data, Tag::of(transfer));
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
    /// At `at`: a moment of `mpdu`, which `from` has been sending since `start`.
    fn tell(&mut self, at: u64, (from, start): (usize, u64), mpdu: &[u8], moment: Moment<'_>) {
        let (at, start, channel) = (SimTime::from_nanos(at), SimTime::from_nanos(start), ch(15));
        self.log.note(&AirTrace {
            at,
            from,
            channel,
            start,
            mpdu,
            moment,
        });
    }
    /// One frame of `from`, and what `to` had of it at its beginning and end.
    fn say(&mut self, from: usize, frame: &[u8], to: usize, begin: EarStatus, end: Ending) {
        let start = self.now;
        self.now += 2_000_000;
        self.tell(start, (from, start), frame, Moment::Begins(&[(to, begin)]));
        self.tell(self.now, (from, start), frame, Moment::Ends(&[(to, end)]));
        self.now += 1_000_000;
    }
    fn map(&self) -> LossMap {
        let ids = ids();
        let terms = attribute::Terms {
            protocol: Scheme::P3,
            ids: &ids,
            power: Dbm(0.0),
            selective: attribute::Selective::None,
        };
        let map = attribute::Attribution::new(&self.log, &terms).map();
        assert!(map.is_conserved());
        map
    }
    fn causes(&self) -> Vec<Causes> {
        (self.map().first_round().unwrap())
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
        Ending::Other(EarStatus::Taken(thalweg_medium::EarId(4))),
    ] {
        let mut hand = Hand::new();
        let frame = Hand::frame(0, 0, Group::Odd);
        hand.say(0, &frame, 1, EarStatus::Locked, stranger);
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
        EarStatus::Locked,
        ending,
    );
    hand.only(0, Cause::SelfInterference);
}

#[test]
fn a_receiver_that_is_away_is_busy_or_not_listening() {
    let away = [
        (EarStatus::Off(Deaf::Busy), Cause::Busy),
        (EarStatus::Off(Deaf::Sleeping), Cause::NotListening),
        (EarStatus::Elsewhere(ch(11)), Cause::NotListening),
        (EarStatus::Locked, Cause::Busy),
    ];
    for (state, cause) in away {
        let mut hand = Hand::new();
        let end = Ending::Other(EarStatus::Off(Deaf::Busy));
        hand.say(0, &Hand::frame(0, 0, Group::Odd), 1, state, end);
        hand.only(0, cause);
    }
}

#[test]
fn breaking_off_a_frame_of_another_stage_is_self_interference() {
    let mut hand = Hand::new();
    let (other, own) = (Hand::frame(1, 9, Group::Odd), Hand::frame(0, 0, Group::Odd));
    let busy = EarStatus::Off(Deaf::Busy);
    let away = Ending::Other(busy);
    hand.tell(0, (2, 0), &other, Moment::Begins(&[(1, EarStatus::Locked)]));
    hand.tell(9, (0, 9), &own, Moment::Begins(&[(1, busy)]));
    hand.tell(80, (2, 0), &other, Moment::Ends(&[(1, away)]));
    hand.tell(90, (0, 9), &own, Moment::Ends(&[(1, away)]));
    hand.only(0, Cause::SelfInterference);
    // And one that a stronger frame stole before it was broken off.
    let mut hand = Hand::new();
    hand.tell(0, (0, 0), &own, Moment::Begins(&[(1, EarStatus::Locked)]));
    hand.tell(9, (2, 9), &other, Moment::Begins(&[(1, EarStatus::Locked)]));
    hand.tell(80, (0, 0), &own, Moment::Ends(&[(1, away)]));
    hand.tell(90, (2, 9), &other, Moment::Ends(&[(1, away)]));
    hand.only(0, Cause::SelfInterference);
}

#[test]
fn the_receiver_nearest_to_it_tells_why_a_packet_was_lost() {
    let mut hand = Hand::of(4);
    let mpdu = Hand::frame(0, 0, Group::Odd);
    let lost = |cause| Ending::Lost {
        cause,
        interferer: None,
    };
    let begins = [(1, EarStatus::Locked), (3, EarStatus::Locked)];
    let ends = [(1, lost(AirCause::Weak)), (3, lost(AirCause::BeatNull))];
    for moment in [Moment::Begins(&begins), Moment::Ends(&ends)] {
        hand.tell(1, (0, 1), &mpdu, moment);
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
        EarStatus::Locked,
        Ending::Good,
    );
    // Hops in order: stage 1 odd and even, stage 2 odd and even.
    hand.only(2, Cause::NotSent);
    let frame = Hand::frame(1, 0, Group::Odd);
    let end = Ending::Lost {
        cause: AirCause::BeatNull,
        interferer: None,
    };
    hand.say(1, &frame, 3, EarStatus::Locked, end);
    hand.only(2, Cause::BeatNull);
    // A copy that arrives settles it, whatever was told of the others.
    hand.say(1, &frame, 3, EarStatus::WithCopy, Ending::Good);
    assert_eq!(hand.causes()[2].total(), 0);
    // It went on another channel than planned.
    let channels = hand.map().first_round().unwrap().hops.clone();
    assert_eq!((channels[2].channel, channels[3].channel), (15, 20));
}

#[test]
fn a_frame_of_an_attempt_that_broke_off_is_of_its_own_way() {
    let mut hand = Hand::of(4);
    let mut other = Toy::new(&[1, 1], &[12, 15, 20, 25]).plan();
    (other.stages[1][0].node, other.sink) = (3, 5);
    let ids = ids();
    let route = route(&other, Scheme::P3, &TransferTerms::default(), &ids, 2).unwrap();
    hand.log.ordered(2, Layout::new(&route, &ids));
    for transfer in [1, 2] {
        let frame = Hand::frame_of(transfer, 0, 0, Group::Odd);
        hand.say(0, &frame, 1, EarStatus::Locked, Ending::Good);
    }
    let map = hand.map();
    let hops = |at: usize| map.rounds[at].hops.iter().map(|h| h.stage).max();
    assert_eq!((hops(0), hops(1)), (Some(2), Some(3)));
    assert_eq!((map.rounds[0].attempt, map.rounds[1].attempt), (0, 1));
    assert_eq!((map.route.hops, map.ways[0].route.hops), (2, 3));
}

/// A request for `purpose`, of the odd group, as `hop` sends it.
fn request(hop: u8, purpose: Purpose) -> FrameBuf {
    let head = Head {
        kind: Kind::Request,
        tag: Tag::of(1),
        hop,
        group: Group::Odd,
    };
    let request = Request {
        packets: 2,
        object_len: 200,
        digest: [0; 8],
        following: 0,
        purpose,
    };
    FrameBuf::build(|w| {
        Header { head, number: 0 }.emit(w)?;
        request.emit(w)
    })
    .unwrap()
}

#[test]
fn a_request_that_relays_of_both_groups_carry_is_of_both() {
    for (purpose, group) in [
        (Purpose::Report, SubGroup::Odd),
        (Purpose::Across, SubGroup::All),
    ] {
        let mut hand = Hand::new();
        hand.say(
            0,
            &Hand::frame(0, 0, Group::Odd),
            1,
            EarStatus::Locked,
            Ending::Good,
        );
        // Relay 2 is even.
        let [first, second] = [0, 1].map(|hop| request(hop, purpose));
        hand.say(0, &first, 2, EarStatus::Locked, Ending::Good);
        hand.say(2, &second, 3, EarStatus::Locked, Ending::Good);
        let map = hand.map();
        let of_group = |hop: &&HopLoss| hop.group == group;
        let hops = map.route.requests.iter().filter(of_group);
        let arrived: Vec<u32> = hops.map(|hop| hop.arrived).collect();
        let wanted = match group {
            SubGroup::All => [1, 1],
            SubGroup::Odd | SubGroup::Even => [0, 0],
        };
        assert_eq!(arrived, wanted, "{purpose:?}");
    }
}
