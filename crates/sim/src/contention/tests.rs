//! The contract on a contention network: answers, times, acknowledgements, filters.

use super::*;
use std::collections::VecDeque as Deque;
use thalweg_engine::{Cca, RadioOp, Refusal, Request, Wants, When};
use thalweg_medium::chip::CC2420;
use thalweg_medium::Environment;
use thalweg_units::Dbm;
use thalweg_wire::addressed::{Ack, Congestion, Header};

/// Does what it is told, and keeps what it hears.
#[derive(Default)]
struct Puppet {
    orders: Deque<Order>,
    log: Vec<(u64, String)>,
}

enum Order {
    Listen,
    Sleep,
    Sense,
    Assess(Assessment),
    Hear(Hear),
    Preamble(u16),
    Send(FrameBuf, When, Cca),
    Acknowledge([u8; 3]),
}

impl Engine for Puppet {
    type Command = Order;
    type Event = ();
    fn wants(&self, radio: RadioId) -> Option<Wants> {
        (radio == RadioId(0)).then(|| Wants::of(&[]))
    }
    fn handle_command(&mut self, _now: Instant, order: Order) {
        self.orders.push_back(order);
    }
    fn handle_radio(&mut self, at: Instant, _radio: RadioId, event: RadioEvent<'_>) {
        let name = match event {
            RadioEvent::Done { .. } => "done".to_owned(),
            RadioEvent::Sent { .. } => "sent".to_owned(),
            RadioEvent::Sensed { power, .. } => format!("sensed {}", power.0),
            RadioEvent::Refused { why, .. } => format!("refused {why:?}"),
            RadioEvent::Frame { mpdu, .. } => format!("frame {}", mpdu.len()),
            RadioEvent::Corrupt { .. } => "corrupt".to_owned(),
            RadioEvent::Head { .. } => "head".to_owned(),
        };
        self.log.push((at.as_nanos() / 1000, name));
    }
    fn handle_timeout(&mut self, _at: Instant) {}
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        let first = self.orders.pop_front()?;
        let channel = Channel::LAST;
        let op = match first {
            Order::Listen => RadioOp::Listen {
                channel,
                head_bytes: 0,
            },
            Order::Sleep => RadioOp::Sleep,
            Order::Sense => RadioOp::Sense,
            Order::Assess(assessment) => RadioOp::Assess(assessment),
            Order::Hear(hear) => RadioOp::Hear(hear),
            Order::Preamble(bytes) => RadioOp::Preamble { bytes },
            Order::Send(frame, when, cca) => {
                let mpdu: &'static [u8] = Box::leak(frame.to_vec().into_boxed_slice());
                RadioOp::Stream {
                    mpdu,
                    channel,
                    when,
                    cca,
                }
            }
            Order::Acknowledge(bytes) => {
                let mpdu: &'static [u8] = Box::leak(Box::new(bytes));
                RadioOp::Acknowledge { mpdu }
            }
        };
        Some(Request::new(OpId(1), op))
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn poll_event(&mut self) -> Option<()> {
        None
    }
}

struct Nobody;
impl Observer<()> for Nobody {}

fn network(board: Contender, nodes: usize) -> Contention<Puppet> {
    let env = Environment::full_mesh(nodes, board.chip, Dbm(-60.0), 1);
    let reach = Reach::of_environment(&env, board.chip, Channel::LAST, Dbm(0.0));
    let engines = (0..nodes)
        .map(|n| (NodeId::new(n as u16 + 1).unwrap(), Puppet::default()))
        .collect();
    let mut net = Contention::new(reach, board, Channel::LAST, engines, 1);
    for n in 0..nodes {
        net.command(n, Order::Listen, &mut Nobody).unwrap();
    }
    net
}

fn frame(to: Option<u16>, from: u16) -> FrameBuf {
    let header = Header {
        sequence: 5,
        to: to.map(|to| NodeId::new(to).unwrap()),
        from: NodeId::new(from).unwrap(),
    };
    FrameBuf::build(|w| header.emit(w)).unwrap()
}

fn until(us: u64) -> SimTime {
    SimTime::from_nanos(us * 1000)
}

fn log(net: &Contention<Puppet>, n: usize) -> Vec<(u64, &str)> {
    let log = &net.engine(n).log;
    log.iter().map(|(at, what)| (*at, what.as_str())).collect()
}

#[test]
fn a_frame_and_its_acknowledgement_take_the_standards_time() {
    let mut net = network(Contender::ieee802154(&CC2420), 3);
    let order = Order::Send(frame(Some(2), 1), When::Now, Cca::Require);
    net.command(0, order, &mut Nobody).unwrap();
    // Assessment 128 us, turnaround 192 us, 17 bytes on the air.
    let end = 128 + 192 + 17 * 32;
    net.run_until(until(end), &mut Nobody).unwrap();
    assert_eq!(log(&net, 0), [(0, "done"), (end, "sent")]);
    assert_eq!(log(&net, 1), [(0, "done"), (end, "frame 9")]);
    let ack = Ack {
        sequence: 5,
        congestion: Congestion::Clear,
    };
    net.command(1, Order::Acknowledge(ack.bytes()), &mut Nobody)
        .unwrap();
    net.run_until(until(10_000), &mut Nobody).unwrap();
    assert_eq!(log(&net, 0).last(), Some(&(end + 192 + 352, "frame 3")));
    assert_eq!(net.stats().air_frames, 2);
}

#[test]
fn a_busy_channel_refuses_and_a_filter_keeps_quiet() {
    let mut net = network(Contender::ieee802154(&CC2420), 3);
    net.command(2, Order::Hear(Hear::Addressed), &mut Nobody)
        .unwrap();
    let order = Order::Send(frame(Some(2), 1), When::Now, Cca::Skip);
    net.command(0, order, &mut Nobody).unwrap();
    net.run_until(until(300), &mut Nobody).unwrap();
    let order = Order::Send(frame(Some(2), 3), When::Now, Cca::Require);
    net.command(2, order, &mut Nobody).unwrap();
    net.command(1, Order::Sense, &mut Nobody).unwrap();
    net.run_until(until(10_000), &mut Nobody).unwrap();
    assert_eq!(
        log(&net, 2),
        [(0, "done"), (0, "done"), (428, "refused ChannelBusy")]
    );
    assert!(log(&net, 1).contains(&(300, "sensed -60")));
}

#[test]
fn an_assessment_ends_with_the_first_clear_look_the_last_or_a_reception() {
    let look = |looks| {
        Order::Assess(Assessment {
            looks,
            between: Duration::from_micros(200),
            clear: Dbm(-80.0),
        })
    };
    let assessed = |order, before: Option<Order>, after: Option<Order>| {
        let mut net = network(Contender::ieee802154(&CC2420), 3);
        if let Some(order) = before {
            net.command(1, order, &mut Nobody).unwrap();
        }
        // On the air from 192 us on, for (6 + 9 + 2) x 32 us.
        let send = Order::Send(frame(Some(2), 1), When::Now, Cca::Skip);
        net.command(0, send, &mut Nobody).unwrap();
        net.run_until(until(300), &mut Nobody).unwrap();
        net.command(1, order, &mut Nobody).unwrap();
        net.run_until(until(400), &mut Nobody).unwrap();
        if let Some(order) = after {
            net.command(1, order, &mut Nobody).unwrap();
        }
        net.run_until(until(10_000), &mut Nobody).unwrap();
        let log = log(&net, 1);
        log.into_iter()
            .map(|(at, what)| (at, what.to_owned()))
            .filter(|(_, what)| what.starts_with("sensed") || what.starts_with("refused"))
            .collect::<Vec<_>>()
    };
    let sleep = || Some(Order::Sleep);
    let told = |at, what: &str| vec![(at, what.to_owned())];
    // 300, 500, 700 us are busy.
    assert_eq!(assessed(look(9), sleep(), None), told(900, "sensed -98"));
    assert_eq!(assessed(look(2), sleep(), None), told(500, "sensed -60"));
    assert_eq!(assessed(look(0), sleep(), None), told(300, "sensed -60"));
    // A receiver is synchronised at once.
    assert_eq!(assessed(look(9), None, None), told(300, "sensed -60"));
    let ended = told(400, "refused Superseded");
    assert_eq!(assessed(look(9), sleep(), sleep()), ended);
    let mut both = ended;
    both.push((800, "sensed -98".to_owned()));
    assert_eq!(assessed(look(9), sleep(), Some(look(9))), both);
}

#[test]
fn mica2_answers_without_a_preamble_and_sends_with_a_longer_one_if_told_to() {
    let mut net = network(Contender::mica2(), 3);
    net.command(0, Order::Preamble(118), &mut Nobody).unwrap();
    let order = Order::Send(frame(Some(2), 1), When::Now, Cca::Skip);
    net.command(0, order, &mut Nobody).unwrap();
    net.run_until(until(100_000), &mut Nobody).unwrap();
    let (sent, _) = *log(&net, 0).last().unwrap();
    // A byte of turnaround, 118 of preamble, 2 of sync, 9 of frame.
    assert!(sent.abs_diff(130 * 416_664 / 1000) <= 1, "{sent}");
    assert_eq!(log(&net, 1).last().unwrap().1, "frame 9");
    // Too late to acknowledge by now.
    net.command(1, Order::Acknowledge([2, 0, 5]), &mut Nobody)
        .unwrap();
    net.run_until(until(200_000), &mut Nobody).unwrap();
    assert!(log(&net, 1).last().unwrap().1.starts_with("refused Late"));
}

#[test]
fn sleepers_hear_nothing_and_use_less() {
    let mut net = network(Contender::mica2(), 2);
    net.command(1, Order::Sleep, &mut Nobody).unwrap();
    let order = Order::Send(frame(Some(2), 1), When::Now, Cca::Skip);
    net.command(0, order, &mut Nobody).unwrap();
    net.run_until(until(1_000_000), &mut Nobody).unwrap();
    assert_eq!(log(&net, 1).len(), 2);
    assert!(net.radio_joules(1) < 1e-6 && net.radio_joules(0) > 0.02);
}

#[test]
fn nothing_received_is_nothing_to_acknowledge() {
    let mut net = network(Contender::mica2(), 2);
    net.command(0, Order::Acknowledge([2, 0, 1]), &mut Nobody)
        .unwrap();
    let why = format!("refused {:?}", Refusal::Empty);
    assert_eq!(net.engine(0).log.last().map(|l| &l.1), Some(&why));
}

#[test]
fn a_receiver_that_is_woken_when_asked_takes_its_time() {
    let board = Contender {
        wakes: Wakes::WhenAsked,
        ..Contender::mica2()
    };
    let mut net = network(board, 3);
    net.run_until(until(10_000), &mut Nobody).unwrap();
    assert_eq!(log(&net, 1), [(2_450, "done")]);
    // Asleep again while it starts up; nothing can be sent meanwhile, and nothing is heard.
    net.command(1, Order::Sleep, &mut Nobody).unwrap();
    net.command(1, Order::Listen, &mut Nobody).unwrap();
    net.command(2, Order::Sleep, &mut Nobody).unwrap();
    net.command(2, Order::Listen, &mut Nobody).unwrap();
    let order = Order::Send(frame(Some(1), 2), When::Now, Cca::Skip);
    net.command(1, order, &mut Nobody).unwrap();
    net.run_until(until(11_000), &mut Nobody).unwrap();
    net.command(1, Order::Sleep, &mut Nobody).unwrap();
    net.run_until(until(50_000), &mut Nobody).unwrap();
    let ends: Vec<&str> = log(&net, 1)[2..].iter().map(|l| l.1).collect();
    let late = "refused Late { by: Duration(2450000) }";
    assert_eq!(ends, [late, "refused Superseded", "done"]);
    assert_eq!(log(&net, 2)[1..], [(10_000, "done"), (12_450, "done")]);
    let awake = net.time_awake(1);
    assert_eq!(awake, Duration::from_micros(11_000));
}
