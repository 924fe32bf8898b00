//! Carrier sense, address filters, acknowledgements and preambles, on both media alike; capabilities
//! before anything runs.

use super::Order::{Acknowledge, Assess, Hear as HearOnly, Listen, Preamble, Sense, Sleep, Stream};
use super::*;
use crate::{boards, NetworkError, Wakes};
use thalweg_engine::{Abilities, Lack, Misfit};
use thalweg_medium::chip::Chip;
use thalweg_medium::ether::{Ether, Reach};
use thalweg_medium::{Air, Medium};
use thalweg_units::NodeId;
use thalweg_wire::addressed::{Ack, Congestion, Header};
use thalweg_wire::FrameBuf;

const NODES: usize = 3;

fn site(chip: &'static Chip) -> Environment {
    Environment::full_mesh(NODES, chip, Dbm(-60.0), 1)
}
fn medium(chip: &'static Chip) -> Medium {
    Medium::new(Arc::new(site(chip)), 1)
}
fn ether(chip: &'static Chip) -> Ether {
    let reach = Reach::of_environment(&site(chip), chip, Channel::LAST, Dbm(0.0));
    Ether::new(reach, 1)
}
fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}
/// Node n has address n + 1.
fn puppets(wanted: Wants) -> Vec<Puppet> {
    let puppet = |n| Puppet {
        wanted: Some(Wants {
            address: Some(id(n as u16 + 1)),
            ..wanted
        }),
        ..Puppet::default()
    };
    (0..NODES).map(puppet).collect()
}
/// Three nodes that listen.
fn listening<A: Air>(air: A, board: &Board) -> Network<Puppet, A> {
    let boards = std::slice::from_ref(board);
    let mut net = Network::on(air, boards, puppets(Wants::of(&[])), 1).unwrap();
    (0..NODES).for_each(|n| net.command(n, Listen(26)));
    net
}
fn board(name: &str) -> Board {
    boards::load(name).unwrap()
}
/// `check` on both media.
macro_rules! on_both {
    ($check:ident, $board:expr) => {
        let board = $board;
        $check(listening(medium(board.chip), &board));
        $check(listening(ether(board.chip), &board));
    };
}

fn frame(to: Option<u16>, from: u16) -> Vec<u8> {
    let header = Header {
        sequence: 5,
        to: to.map(id),
        from: id(from),
    };
    FrameBuf::build(|w| header.emit(w)).unwrap().to_vec()
}
fn send(to: u16, from: u16, cca: Cca) -> Order {
    Stream(frame(Some(to), from), When::Now, cca)
}
fn ack() -> Order {
    let congestion = Congestion::Clear;
    let sequence = 5;
    Acknowledge(
        Ack {
            sequence,
            congestion,
        }
        .bytes(),
    )
}
/// When node `n` saw what, in microseconds.
fn log<A: Air>(net: &Network<Puppet, A>, n: usize) -> Vec<(u64, &Seen)> {
    let seen = net.engine(n).seen.iter();
    seen.map(|(at, _, seen)| (at.as_nanos() / 1000, seen))
        .collect()
}
fn is_frame(seen: &Seen, bytes: usize) -> bool {
    matches!(seen, Seen::Frame { mpdu, .. } if mpdu.len() == bytes)
}

fn takes_the_standards_time<A: Air>(mut net: Network<Puppet, A>) {
    net.command(0, send(2, 1, Cca::Require));
    // Assessment 128 us, turnaround 192 us, 17 bytes on the air.
    let end = 128 + 192 + 17 * 32;
    run(&mut net, end);
    assert!(matches!(answer(&net, 0, 1), (at, Seen::Sent { .. }) if at == end));
    let [(0, Seen::Done), (at, seen)] = log(&net, 1)[..] else {
        panic!("{:?}", log(&net, 1))
    };
    assert!(at == end && is_frame(seen, 9));
    net.command(1, ack());
    run(&mut net, 10_000);
    let (at, seen) = *log(&net, 0).last().unwrap();
    assert!(at == end + 192 + 352 && is_frame(seen, 3));
    assert_eq!(net.stats().air_frames, 2);
    // Nothing is left to acknowledge in time, and node 2 has received nothing for itself.
    net.command(1, ack());
    run(&mut net, 20_000);
    let late = |seen: &Seen| matches!(seen, Seen::Refused(Refusal::Late { .. }));
    assert!(late(&answer(&net, 1, 2).1));
}

#[test]
fn a_frame_and_its_acknowledgement_take_the_standards_time() {
    on_both!(takes_the_standards_time, board("ieee802154"));
}

fn filters<A: Air>(mut net: Network<Puppet, A>) {
    net.command(2, HearOnly(thalweg_engine::Hear::Addressed));
    net.command(0, send(2, 1, Cca::Skip));
    run(&mut net, 300);
    net.command(2, send(2, 3, Cca::Require));
    net.command(1, Sense);
    run(&mut net, 10_000);
    // Looked at from 300 us on, and it was busy then.
    assert_eq!(
        answer(&net, 2, 2),
        (428, Seen::Refused(Refusal::ChannelBusy))
    );
    assert_eq!(answer(&net, 1, 1), (300, Seen::Sensed(Dbm(-60.0))));
    assert!(heard(&net, 2).is_empty(), "it was for another");
    // Everybody's is its own, and so is an acknowledgement of its frame.
    net.command(0, Stream(frame(None, 1), When::Now, Cca::Skip));
    run(&mut net, 20_000);
    net.command(2, send(2, 3, Cca::Skip));
    run(&mut net, 20_000 + 192 + 17 * 32);
    net.command(1, ack());
    run(&mut net, 40_000);
    let told = heard(&net, 2);
    assert!(
        is_frame(&told[0].1, 9) && is_frame(&told[1].1, 3),
        "{told:?}"
    );
}

#[test]
fn a_busy_channel_refuses_and_a_filter_keeps_quiet() {
    on_both!(filters, board("ieee802154"));
}

/// What becomes of the assessment `order` of node 1 while a frame is on the air from 192 to 736 us.
fn assessed<A: Air>(
    air: A,
    before: Option<Order>,
    order: Order,
    after: Option<Order>,
) -> Vec<(u64, Seen)> {
    let mut net = listening(air, &board("ieee802154"));
    before.into_iter().for_each(|order| net.command(1, order));
    net.command(0, send(2, 1, Cca::Skip));
    run(&mut net, 300);
    net.command(1, order);
    run(&mut net, 400);
    after.into_iter().for_each(|order| net.command(1, order));
    run(&mut net, 10_000);
    let told = log(&net, 1)
        .into_iter()
        .map(|(at, seen)| (at, seen.clone()));
    told.filter(|(_, seen)| matches!(seen, Seen::Sensed(_) | Seen::Refused(_)))
        .collect()
}

#[test]
fn an_assessment_ends_with_the_first_clear_look_the_last_or_a_reception() {
    let look = |samples| {
        Assess(Assessment {
            samples,
            between: us(200),
            clear: Dbm(-80.0),
        })
    };
    let ended = (400, Seen::Refused(Refusal::Superseded));
    let told = |at, dbm| vec![(at, Seen::Sensed(Dbm(dbm)))];
    for (before, order, after, expected) in [
        // 300, 500 and 700 us are busy.
        (Some(Sleep), look(9), None, told(900, -99.0)),
        (Some(Sleep), look(2), None, told(500, -60.0)),
        (Some(Sleep), look(0), None, told(300, -60.0)),
        // A receiver has locked.
        (None, look(9), None, told(300, -60.0)),
        (Some(Sleep), look(9), Some(Sleep), vec![ended.clone()]),
        (
            Some(Sleep),
            look(9),
            Some(look(9)),
            vec![ended, (800, Seen::Sensed(Dbm(-99.0)))],
        ),
    ] {
        let (b, o, a) = (before.clone(), order.clone(), after.clone());
        assert_eq!(assessed(ether(&CC2420), b, o, a), expected);
        assert_eq!(assessed(medium(&CC2420), before, order, after), expected);
    }
}

fn answers_bare<A: Air>(mut net: Network<Puppet, A>) {
    net.command(0, Preamble(118));
    net.command(0, send(2, 1, Cca::Skip));
    // A byte of turnaround, 118 of preamble, 2 of sync word, 9 of frame.
    let byte = |n: u64| n * 416_664 / 1000;
    run(&mut net, byte(130) + 1);
    assert_eq!(answer(&net, 0, 2).0, byte(130));
    assert!(is_frame(&heard(&net, 1)[0].1, 9));
    // Two bytes later, fourteen without a preamble, which only its addressee finds.
    net.command(1, ack());
    run(&mut net, 100_000);
    assert_eq!(answer(&net, 1, 1).0, byte(146));
    let (at, seen) = &heard(&net, 0)[0];
    assert!(*at == byte(146) && is_frame(seen, 3), "{seen:?}");
    assert_eq!(heard(&net, 2).len(), 1, "the long frame");
}

#[test]
fn mica2_answers_without_a_preamble_and_sends_with_a_longer_one_if_told_to() {
    on_both!(answers_bare, board("mica2"));
}

fn has_nothing_to_answer<A: Air>(mut net: Network<Puppet, A>) {
    net.command(0, ack());
    run(&mut net, 10);
    assert_eq!(answer(&net, 0, 1).1, Seen::Refused(Refusal::Empty));
}

#[test]
fn nothing_received_is_nothing_to_acknowledge() {
    on_both!(has_nothing_to_answer, board("mica2"));
}

fn starts_ahead<A: Air>(mut net: Network<Puppet, A>) {
    let at_rest = |net: &Network<Puppet, A>| (net.energy(1), net.joules(1));
    net.command(1, Sleep);
    net.command(0, send(2, 1, Cca::Skip));
    run(&mut net, 1_000_000);
    assert!(heard(&net, 1).is_empty(), "it sleeps");
    let (energy, joules) = at_rest(&net);
    assert_eq!(energy.radio_sleep.as_micros(), 1_000_000);
    // 110 uA of the microcontroller and 0.2 uA of the radio at 3 V.
    assert!((joules - 3.0 * 110.2e-6).abs() < 1e-9, "{joules}");
    // A radio that listens keeps the microcontroller running.
    let awake = net.joules(2);
    assert!((awake - 3.0 * (7.4e-3 + 8.0e-3)).abs() < 1e-5, "{awake}");
    // It is on when asked for, and has started up before.
    net.command(1, Listen(26));
    assert_eq!(answer(&net, 1, 2), (1_000_000, Seen::Done));
    let (energy, _) = at_rest(&net);
    let start_up = energy.radio_idle + energy.radio_calibrate;
    assert_eq!(start_up.as_micros(), 2_450);
    assert_eq!(energy.radio_sleep.as_micros(), 1_000_000 - 2_450);
}

#[test]
fn a_radio_that_is_switched_on_ahead_pays_for_its_start() {
    on_both!(starts_ahead, board("mica2"));
}

fn starts_when_asked<A: Air>(mut net: Network<Puppet, A>) {
    run(&mut net, 10_000);
    assert_eq!(answer(&net, 1, 0), (2_450, Seen::Done));
    // Put to sleep again before it is on.
    for order in [Sleep, Listen(26)] {
        net.command(1, order);
    }
    run(&mut net, 11_000);
    net.command(1, Sleep);
    run(&mut net, 50_000);
    let superseded = Seen::Refused(Refusal::Superseded);
    assert_eq!(answer(&net, 1, 2), (12_450, superseded));
    let energy = net.energy(1);
    assert_eq!(energy.radio_on(), us(11_000));
    assert_eq!(energy.radio_receive, us(10_000 - 2_450));
}

#[test]
fn a_receiver_that_is_woken_when_asked_takes_its_time() {
    let board = || Board {
        wakes: Wakes::WhenAsked,
        ..board("mica2")
    };
    on_both!(starts_when_asked, board());
}

#[test]
fn boards_whose_software_takes_time_sense_and_filter_too() {
    for name in ["telosb", "telosb-contiki", "opal"] {
        let board = board(name).with_one_radio();
        let mut net = listening(medium(board.chip), &board);
        run(&mut net, 5_000);
        net.command(1, Sense);
        net.command(2, HearOnly(thalweg_engine::Hear::Addressed));
        net.command(0, send(2, 1, Cca::Skip));
        run(&mut net, 20_000);
        assert!(matches!(answer(&net, 1, 1).1, Seen::Sensed(power) if power.0 < -95.0));
        assert_eq!(
            (heard(&net, 1).len(), heard(&net, 2).len()),
            (1, 0),
            "{name}"
        );
    }
}

#[test]
fn what_is_lacking_is_told_before_anything_runs() {
    let lack = |air: &dyn Fn() -> Result<(), NetworkError>| match air() {
        Err(NetworkError::Misfit { node: 0, what }) => Some(what),
        _ => None,
    };
    let telosb = || [board("telosb")];
    let over_ether =
        |wants| lack(&|| Network::on(ether(&CC2420), &telosb(), puppets(wants), 1).map(|_| ()));
    let over_medium =
        |wants| lack(&|| Network::on(medium(&CC2420), &telosb(), puppets(wants), 1).map(|_| ()));
    let misfit = |lack| {
        Some(Misfit {
            radio: RadioId(0),
            lack,
        })
    };
    // What only synchronous senders have.
    for ability in [Ability::Heads, Ability::Synchrony] {
        assert_eq!(over_medium(Wants::of(&[ability])), None);
        assert_eq!(
            over_ether(Wants::of(&[ability])),
            misfit(Lack::Ability(ability))
        );
    }
    let other = ch(20);
    let channels = thalweg_units::ChannelSet::EMPTY.with(other);
    let wants = Wants {
        channels,
        ..Wants::of(&[])
    };
    assert_eq!(
        (over_medium(wants), over_ether(wants)),
        (None, misfit(Lack::Channel(other)))
    );
    // A CC2420 sends at 0 dBm at most, makes its own preambles, has one buffer and no sibling.
    let loud = Wants {
        power: Some(Dbm(5.0)),
        ..Wants::of(&[])
    };
    assert_eq!(over_medium(loud), misfit(Lack::Power(Dbm(5.0))));
    let many = Wants {
        slots: 2,
        ..Wants::of(&[])
    };
    assert_eq!(over_medium(many), misfit(Lack::Slots(2)));
    let fine = Wants {
        after_rx_step: Duration::from_nanos(100),
        ..Wants::of(&[])
    };
    assert_eq!(
        over_medium(fine),
        misfit(Lack::Step(Duration::from_nanos(100)))
    );
    assert_eq!(
        over_medium(Wants::of(&[Ability::Preamble])),
        misfit(Lack::Ability(Ability::Preamble))
    );
    assert!(!Abilities::ALL
        .without(Abilities::of(&[Ability::Heads]))
        .has(Abilities::ALL));
    let error = NetworkError::Misfit {
        node: 7,
        what: over_ether(wants).unwrap(),
    };
    assert_eq!(
        error.to_string(),
        "node 7: radio 0 cannot be tuned to channel 20"
    );
}

#[test]
fn an_engine_is_heard_at_the_power_that_it_wants() {
    let quiet = Wants {
        power: Some(Dbm(-10.0)),
        ..Wants::of(&[])
    };
    let boards = [board("ieee802154")];
    let mut net = Network::on(medium(&CC2420), &boards, puppets(quiet), 1).unwrap();
    (0..2).for_each(|n| net.command(n, Listen(26)));
    net.command(0, send(2, 1, Cca::Skip));
    run(&mut net, 400);
    net.command(1, Sense);
    assert_eq!(answer(&net, 1, 1).1, Seen::Sensed(Dbm(-70.0)));
}
