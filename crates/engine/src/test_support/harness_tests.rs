use super::*;
use crate::{Cca, OpId, RadioOp, When};
use crate::{TxSlot, Wants};
use std::vec;
use std::vec::Vec;
use thalweg_units::Channel;

/// Carries out orders and remembers radio events.
#[derive(Default)]
struct Puppet {
    orders: std::collections::VecDeque<Order>,
    current: Option<Order>,
    seen: Vec<std::string::String>,
}

#[derive(Clone)]
enum Order {
    Listen(u8),
    Say(Vec<u8>, When),
    Load(Vec<u8>),
    Repeat,
    Slot(u8),
    Sleep,
    Cancel,
}

fn ch(number: u8) -> Channel {
    Channel::new(number).unwrap()
}

impl Engine for Puppet {
    type Command = Order;
    type Event = ();
    fn wants(&self, radio: RadioId) -> Option<Wants> {
        use Ability::{AfterRx, At, Heads, Load, Stream};
        (radio == RadioId(0)).then_some(Wants::of(&[AfterRx, At, Heads, Load, Stream]))
    }
    fn handle_command(&mut self, _now: Instant, order: Order) {
        self.orders.push_back(order);
    }
    fn handle_radio(&mut self, at: Instant, _radio: RadioId, event: RadioEvent<'_>) {
        self.seen
            .push(std::format!("{} {event:?}", at.as_nanos() / 1000));
    }
    fn handle_timeout(&mut self, _at: Instant) {}
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        self.current = self.orders.pop_front();
        let op = match self.current.as_ref()? {
            Order::Listen(c) => RadioOp::Listen {
                channel: ch(*c),
                head_bytes: 2,
            },
            Order::Say(mpdu, when) => RadioOp::Stream {
                mpdu,
                channel: ch(26),
                when: *when,
                cca: Cca::Skip,
            },
            Order::Load(mpdu) => RadioOp::Load {
                slot: TxSlot(0),
                mpdu,
            },
            Order::Slot(slot) => RadioOp::Transmit {
                slot: TxSlot(*slot),
                channel: ch(26),
                when: When::Now,
                cca: Cca::Skip,
            },
            Order::Sleep => RadioOp::Sleep,
            Order::Repeat => RadioOp::Transmit {
                slot: TxSlot(0),
                channel: ch(26),
                when: When::Now,
                cca: Cca::Skip,
            },
            Order::Cancel => RadioOp::Cancel,
        };
        Some(Request::new(OpId(9), op))
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn poll_event(&mut self) -> Option<()> {
        None
    }
}

fn net(n: usize, links: impl FnMut(Air<'_>) -> Fate + 'static) -> Net<Puppet> {
    Net::new(
        (0..n).map(|_| Puppet::default()).collect(),
        BoardTiming::IDEAL,
        links,
    )
}

fn saw(net: &Net<Puppet>, n: usize, what: &str) -> usize {
    net.engine(n)
        .seen
        .iter()
        .filter(|s| s.contains(what))
        .count()
}

#[test]
fn a_frame_arrives_head_first_and_is_stamped_by_its_sfd() {
    let mut net = net(2, |_| Fate::Heard);
    net.command(1, Order::Listen(26));
    net.run_for(Duration::from_millis(1));
    net.command(0, Order::Say(vec![1, 2, 3], When::Now));
    net.run_for(Duration::from_millis(5));
    // 1000 us + 192 turnaround; 11 bytes on the air; head after SHR, PHR and two bytes.
    let seen = &net.engine(1).seen;
    assert!(seen[1].starts_with("1448 Head { bytes: [1, 2]"), "{seen:?}");
    assert!(
        seen[2].starts_with("1544 Frame { mpdu: [1, 2, 3], sfd: Instant(1352000)"),
        "{seen:?}"
    );
    assert_eq!(
        saw(&net, 0, "Sent { op: OpId(9), sfd: Instant(1352000) }"),
        1
    );
}

#[test]
fn different_frames_collide_and_identical_ones_do_not() {
    for (other, corrupt) in [(vec![1, 2, 3], 0), (vec![1, 2, 4], 1)] {
        let mut net = net(3, |_| Fate::Heard);
        net.command(2, Order::Listen(26));
        net.run_for(Duration::from_millis(1));
        net.command(0, Order::Say(vec![1, 2, 3], When::Now));
        net.command(1, Order::Say(other, When::Now));
        net.run_for(Duration::from_millis(5));
        assert_eq!(saw(&net, 2, "Corrupt"), corrupt);
        assert_eq!(saw(&net, 2, "Frame"), 1 - corrupt);
    }
}

#[test]
fn late_empty_and_cancelled_operations_are_refused() {
    let mut net = net(1, |_| Fate::Heard);
    net.run_for(Duration::from_millis(1));
    net.command(0, Order::Repeat);
    net.command(
        0,
        Order::Say(vec![1], When::At(Instant::from_nanos(1_100_000))),
    );
    net.command(
        0,
        Order::Say(vec![1], When::AfterRx(Duration::from_millis(1))),
    );
    net.command(
        0,
        Order::Say(vec![1], When::At(Instant::from_nanos(3_000_000))),
    );
    net.command(0, Order::Cancel);
    net.run_for(Duration::from_millis(9));
    assert_eq!(saw(&net, 0, "why: Empty"), 2);
    assert_eq!(saw(&net, 0, "why: Late"), 1);
    assert_eq!(saw(&net, 0, "why: Superseded"), 1);
    assert!(net.sent().is_empty());
}

#[test]
fn a_loaded_frame_can_be_sent_twice_and_answers_are_one_each() {
    let mut net = net(2, |_| Fate::Silent);
    net.command(0, Order::Load(vec![5; 10]));
    net.command(0, Order::Repeat);
    net.run_for(Duration::from_millis(5));
    net.command(0, Order::Repeat);
    net.run_for(Duration::from_millis(5));
    assert_eq!(net.sent().len(), 2);
    assert_eq!(saw(&net, 0, "Done") + saw(&net, 0, "Sent"), 3);
}

#[test]
fn a_relay_answers_a_fixed_gap_after_the_last_byte() {
    let mut net = net(2, |_| Fate::Heard);
    net.command(1, Order::Listen(26));
    net.run_for(Duration::from_millis(1));
    net.command(0, Order::Say(vec![1; 20], When::Now));
    // The frame ends at 1192 + 28 * 32 = 2088 us.
    net.run_for(Duration::from_nanos(1_088_000));
    net.command(
        1,
        Order::Say(vec![2; 20], When::AfterRx(Duration::from_micros(281))),
    );
    net.run_for(Duration::from_millis(5));
    assert_eq!(net.sent()[1].start, Instant::from_nanos(2_369_000));
}

#[test]
fn only_slot_0_exists() {
    let mut net = net(1, |_| Fate::Heard);
    net.command(0, Order::Load(vec![1]));
    net.command(0, Order::Slot(1));
    net.run_for(Duration::from_millis(5));
    assert_eq!(saw(&net, 0, "why: NoSuch"), 1);
    assert!(net.sent().is_empty());
}

#[test]
fn a_sleeping_radio_takes_its_time_to_wake() {
    let timing = BoardTiming {
        wake: Duration::from_micros(860),
        ..BoardTiming::IDEAL
    };
    let puppets = vec![Puppet::default(), Puppet::default()];
    let mut net = Net::new(puppets, timing, |_| Fate::Heard);
    net.command(0, Order::Listen(26));
    net.run_for(Duration::from_millis(5));
    // 860 us of start-up, 192 of calibration; then only the latter.
    assert!(net.engine(0).seen[0].starts_with("1052 Done"));
    net.command(0, Order::Listen(25));
    net.run_for(Duration::from_millis(5));
    assert!(net.engine(0).seen[1].starts_with("5192 Done"));
    net.command(0, Order::Sleep);
    net.command(0, Order::Listen(26));
    net.run_for(Duration::from_millis(5));
    assert!(net.engine(0).seen[3].starts_with("11052 Done"));
    // The other one sends out of its sleep, and sleeps again.
    let soon = When::At(Instant::from_nanos(16_000_000));
    net.command(1, Order::Say(vec![1], soon));
    net.run_for(Duration::from_millis(1));
    assert_eq!(saw(&net, 1, "why: Late"), 1);
    for begin in [17_052_000, 27_052_000] {
        let before = net.sent().len();
        net.run_until(Instant::from_nanos(begin - 1_052_000));
        net.command(1, Order::Say(vec![1], When::Now));
        net.run_for(Duration::from_millis(5));
        assert_eq!(net.sent()[before].start, Instant::from_nanos(begin));
    }
    assert_eq!(saw(&net, 0, "Frame"), 2);
}
