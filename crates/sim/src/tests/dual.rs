//! Two radios on one bus, and acknowledgements that the radio sends by itself.

use crate::{boards, AckBy, Acks, Board, Bus, Network};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use thalweg_engine::{
    Ability, Answering, Cca, Engine, OpId, RadioEvent, RadioId, RadioOp, Refusal, Request, Wants,
    When,
};
use thalweg_medium::Environment;
use thalweg_units::{Channel, Channel900, Dbm, Duration, Instant, NodeId, SimTime};
use thalweg_wire::addressed::{Ack, Congestion, Header};
use thalweg_wire::FrameBuf;

#[derive(Debug, Clone)]
enum Order {
    Listen(u8, Channel),
    Send(u8, Channel, FrameBuf),
    Answer(u8, Answering),
}

/// Does what it is told and remembers what it hears: when, on which radio, what.
#[derive(Default)]
struct Puppet {
    orders: VecDeque<Order>,
    current: Option<Order>,
    address: Option<NodeId>,
    heard: Vec<(u64, u8, Vec<u8>)>,
    sent: Vec<(u64, u8)>,
    refused: Vec<Refusal>,
}

impl Engine for Puppet {
    type Command = Order;
    type Event = ();
    fn wants(&self, radio: RadioId) -> Option<Wants> {
        let address = self.address;
        (radio <= RadioId(1)).then(|| Wants {
            address,
            ..Wants::of(&[Ability::Stream, Ability::Answer])
        })
    }
    fn handle_command(&mut self, _now: Instant, order: Order) {
        self.orders.push_back(order);
    }
    fn handle_radio(&mut self, at: Instant, radio: RadioId, event: RadioEvent<'_>) {
        let us = at.as_nanos() / 1000;
        match event {
            RadioEvent::Frame { mpdu, .. } => self.heard.push((us, radio.0, mpdu.to_vec())),
            RadioEvent::Sent { .. } => self.sent.push((us, radio.0)),
            RadioEvent::Refused { why, .. } => self.refused.push(why),
            _ => {}
        }
    }
    fn handle_timeout(&mut self, _at: Instant) {}
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        self.current = self.orders.pop_front();
        let (radio, op) = match self.current.as_ref()? {
            Order::Listen(radio, channel) => {
                let op = RadioOp::Listen {
                    channel: *channel,
                    head_bytes: 0,
                };
                (*radio, op)
            }
            Order::Send(radio, channel, frame) => {
                let op = RadioOp::Stream {
                    mpdu: frame,
                    channel: *channel,
                    when: When::Now,
                    cca: Cca::Skip,
                };
                (*radio, op)
            }
            Order::Answer(radio, answering) => (*radio, RadioOp::Answer(*answering)),
        };
        Some(Request {
            radio: RadioId(radio),
            id: OpId(1),
            op,
        })
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn poll_event(&mut self) -> Option<()> {
        None
    }
}

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}
fn frame(to: u16, sequence: u8, bytes: usize) -> FrameBuf {
    FrameBuf::build(|w| {
        Header {
            sequence,
            to: Some(id(to)),
            from: id(9),
        }
        .emit(w)?;
        w.bytes(&[7; 105][..bytes])?;
        Ok(())
    })
    .unwrap()
}
fn opal() -> Board {
    Board {
        clock: crate::ClockModel::PERFECT,
        software_jitter: Duration::ZERO,
        ..boards::load("opal").unwrap()
    }
}
/// Three nodes that hear each other in both bands.
fn net(board: Board) -> Network<Puppet> {
    let second = board.second.unwrap();
    let band = |chip| Environment::full_mesh(3, chip, Dbm(-60.0), 1);
    let site = band(board.chip).beside(band(second.chip));
    let puppet = |n| Puppet {
        address: NodeId::new(n).ok(),
        ..Puppet::default()
    };
    let engines = (0..3).map(puppet).collect();
    Network::new(Arc::new(site), &[board], engines, 1).unwrap()
}
fn run(net: &mut Network<Puppet>, us: u64) {
    let until = SimTime::from_nanos(us * 1000);
    net.run_until(until, |_, _, ()| ControlFlow::Continue(()))
        .unwrap();
}
const C: Channel = Channel::FIRST;

#[test]
fn radios_of_one_node_work_at_the_same_time_and_bands_do_not_mix() {
    let mut net = net(opal());
    for radio in [0, 1] {
        net.command(1, Order::Listen(radio, C));
    }
    run(&mut net, 1_000);
    net.command(0, Order::Send(0, C, frame(1, 1, 105)));
    net.command(2, Order::Send(1, C, frame(1, 2, 105)));
    run(&mut net, 10_000);
    let heard: Vec<(u8, u8)> = net.engine(1).heard.iter().map(|h| (h.1, h.2[2])).collect();
    assert_eq!(
        heard,
        [(0, 1), (1, 2)],
        "both, although they overlap on one channel number"
    );
    let (first, second) = (net.engine(1).heard[0].0, net.engine(1).heard[1].0);
    // They ended within microseconds of each other, and there is one bus to read them over: 9.3 + 114 x 3.1
    // and 100 to pass one up.
    assert!((460..470).contains(&(second - first)), "{}", second - first);
}

#[test]
fn the_driver_acknowledges_once_it_has_read() {
    let mut net = net(opal());
    net.command(0, Order::Listen(1, C));
    net.command(1, Order::Listen(1, C));
    net.command(1, Order::Answer(1, Answering::Clear));
    run(&mut net, 1_000);
    net.command(0, Order::Send(1, C, frame(1, 77, 105)));
    run(&mut net, 10_000);
    let (end, _) = net.engine(0).sent[0];
    let (at, radio, ack) = net.engine(0).heard[0].clone();
    let expected = Ack {
        sequence: 77,
        congestion: Congestion::Clear,
    };
    assert_eq!(Ack::parse(&ack), Ok(expected));
    assert_eq!(radio, 1);
    // Interrupt, read 362.7, strobe 6.2, turn 17, 352 on the air; interrupt and read of three bytes.
    assert!((760..768).contains(&(at - end)), "{}", at - end);
    // Neither what is for others nor what is withheld.
    net.command(0, Order::Send(1, C, frame(2, 78, 10)));
    run(&mut net, 20_000);
    net.command(1, Order::Answer(1, Answering::Withheld));
    run(&mut net, 21_000);
    net.command(0, Order::Send(1, C, frame(1, 79, 10)));
    run(&mut net, 30_000);
    assert_eq!(net.engine(0).heard.len(), 1);
    assert_eq!(net.engine(1).heard.len(), 3);
}

#[test]
fn hardware_acknowledges_after_its_gap() {
    let gap = Duration::from_micros(192);
    let mut net = net(Board {
        acks: Acks {
            by: AckBy::Hardware,
            gap,
            bare_bytes: None,
        },
        ..opal()
    });
    net.command(0, Order::Listen(0, C));
    net.command(1, Order::Listen(0, C));
    net.command(1, Order::Answer(0, Answering::Clear));
    run(&mut net, 1_000);
    net.command(0, Order::Send(0, C, frame(1, 5, 105)));
    run(&mut net, 10_000);
    let (end, at) = (net.engine(0).sent[0].0, net.engine(0).heard[0].0);
    // 192 + 352, and what the sender's driver takes to read it.
    assert!((560..570).contains(&(at - end)), "{}", at - end);
}

#[test]
fn a_held_bus_makes_one_radio_wait_for_the_other() {
    let last = |bus| {
        let mut net = net(Board { bus, ..opal() });
        net.command(0, Order::Listen(0, C));
        net.command(0, Order::Listen(1, C));
        run(&mut net, 1_000);
        net.command(0, Order::Send(0, C, frame(1, 1, 105)));
        net.command(0, Order::Send(1, C, frame(2, 2, 105)));
        run(&mut net, 20_000);
        net.engine(0).sent[1].0
    };
    let (released, held) = (last(Bus::Released), last(Bus::Held));
    // Released, the second copy follows the first; held, it waits for the first frame's 3904 us.
    assert!(
        (3_800..4_000).contains(&(held - released)),
        "{held} {released}"
    );
}

#[test]
fn a_900_mhz_radio_has_ten_channels() {
    let mut net = net(opal());
    net.command(0, Order::Listen(1, Channel::from_index(Channel900::COUNT)));
    net.command(0, Order::Listen(0, Channel::LAST));
    net.command(0, Order::Listen(2, C));
    run(&mut net, 1_000);
    assert_eq!(net.engine(0).refused, [Refusal::NoSuch, Refusal::NoSuch]);
}

#[test]
fn each_radio_of_a_node_draws_its_own_current() {
    let mut net = net(opal());
    net.command(0, Order::Listen(0, C));
    net.command(1, Order::Listen(1, C));
    run(&mut net, 1_000_000);
    let at_rest = net.joules(2);
    // 12.3 and 9.2 mA at 3.3 V for a second, but for less than half a millisecond of start-up; 0.03 mA rest.
    for (node, joules) in [(0, 12.3e-3 * 3.3), (1, 9.2e-3 * 3.3), (2, 0.0)] {
        let more = net.joules(node) - at_rest;
        assert!((more - joules).abs() < 5e-5, "{node}: {more}");
    }
    assert!((at_rest - 3.3 * 3.004e-5).abs() < 1e-8, "{at_rest}");
}
