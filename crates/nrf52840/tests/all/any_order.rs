//! Any order of operations, receptions and delays: each operation is answered once, and the compare register strobes for
//! nothing but a transmission that was asked for.
use crate::bench::model::{State, US};
use crate::bench::{Bench, Told, CHANNEL};
use proptest::prelude::*;
use std::collections::HashMap;
use thalweg_engine::{Answering, Assessment, Cca, Condition, Hear, RadioOp, TxSlot, Wants, When};
use thalweg_nrf52840::clock::instant;
use thalweg_units::{Channel, Dbm, Duration, NodeId};

#[derive(Debug, Clone)]
enum Step {
    Load(u8),
    Transmit(Time, Cca),
    Stream(u8, Time, Cca),
    Conditional(Cca),
    Listen(u8, u8),
    Sleep,
    Cancel,
    Sense,
    Assess(u8, u16),
    Acknowledge,
    Hear(bool),
    Answer(bool),
    Readout(u8),
    /// A frame is on the air in so many microseconds.
    Incoming(u16, u8, bool),
    Busy(bool),
    Wait(u16),
    /// Waits for the next event, and goes on in its handler.
    Handler,
    LosesCompares(bool),
}

#[derive(Debug, Clone)]
enum Time {
    Now,
    In(u16),
    AfterRx(u16),
}

fn time() -> impl Strategy<Value = Time> {
    prop_oneof![
        Just(Time::Now),
        (0..3_000_u16).prop_map(Time::In),
        (0..1_500_u16).prop_map(Time::AfterRx),
    ]
}
fn cca() -> impl Strategy<Value = Cca> {
    prop_oneof![3 => Just(Cca::Skip), 1 => Just(Cca::Require)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => (0..127_u8).prop_map(Step::Load),
        1 => (time(), cca()).prop_map(|(t, c)| Step::Transmit(t, c)),
        3 => (1..60_u8, time(), cca()).prop_map(|(n, t, c)| Step::Stream(n, t, c)),
        1 => cca().prop_map(Step::Conditional),
        2 => (0..2_u8, 0..9_u8).prop_map(|(c, h)| Step::Listen(c, h)),
        1 => Just(Step::Sleep),
        1 => Just(Step::Cancel),
        1 => Just(Step::Sense),
        1 => (0..5_u8, 0..900_u16).prop_map(|(n, t)| Step::Assess(n, t)),
        1 => Just(Step::Acknowledge),
        1 => any::<bool>().prop_map(Step::Hear),
        1 => any::<bool>().prop_map(Step::Answer),
        1 => any::<u8>().prop_map(Step::Readout),
        3 => (0..300_u16, 1..70_u8, any::<bool>()).prop_map(|(t, n, g)| Step::Incoming(t, n, g)),
        1 => any::<bool>().prop_map(Step::Busy),
        4 => (0..2_500_u16).prop_map(Step::Wait),
        2 => Just(Step::Handler),
        1 => prop::bool::weighted(0.2).prop_map(Step::LosesCompares),
    ]
}

fn when(b: &mut Bench, time: &Time) -> When {
    match time {
        Time::Now => When::Now,
        Time::In(us) => {
            let now = b.clock.now(&mut b.chip);
            When::At(instant(now + u64::from(*us) * US))
        }
        Time::AfterRx(us) => When::AfterRx(Duration::from_micros(u64::from(*us))),
    }
}

/// A frame for this node that asks for an acknowledgement, a broadcast of it, or something else.
fn mpdu(bytes: u8) -> Vec<u8> {
    let mut frame = vec![bytes; usize::from(bytes)];
    let header = [0x61, 0x88, bytes, 0x57, 0x54, 3 + bytes % 2, 0, 9, 0];
    if bytes % 3 != 0 && frame.len() >= header.len() {
        frame[..header.len()].copy_from_slice(&header);
    }
    frame
}

fn take(b: &mut Bench, step: &Step) -> Option<u16> {
    let (slot, channel) = (TxSlot(0), CHANNEL);
    Some(match step {
        Step::Load(bytes) => b.submit(RadioOp::Load {
            slot,
            mpdu: &mpdu(*bytes),
        }),
        Step::Transmit(at, cca) => {
            let (when, cca) = (when(b, at), *cca);
            b.submit(RadioOp::Transmit {
                slot,
                channel,
                when,
                cca,
            })
        }
        Step::Stream(bytes, at, cca) => {
            let (when, cca) = (when(b, at), *cca);
            b.submit(RadioOp::Stream {
                mpdu: &mpdu(*bytes),
                channel,
                when,
                cca,
            })
        }
        Step::Conditional(cca) => {
            let (condition, cca) = (
                Condition {
                    offset: 0,
                    bytes: &[0x61, 0x88],
                },
                *cca,
            );
            b.submit(RadioOp::Conditional {
                slot,
                condition,
                channel,
                cca,
            })
        }
        Step::Listen(other, head_bytes) => {
            let channel = if *other == 0 { channel } else { Channel::LAST };
            b.submit(RadioOp::Listen {
                channel,
                head_bytes: *head_bytes,
            })
        }
        Step::Sleep => b.submit(RadioOp::Sleep),
        Step::Cancel => b.submit(RadioOp::Cancel),
        Step::Sense => b.submit(RadioOp::Sense),
        Step::Assess(samples, us) => {
            let between = Duration::from_micros(u64::from(*us));
            let (samples, clear) = (*samples, Dbm(-80.0));
            b.submit(RadioOp::Assess(Assessment {
                samples,
                between,
                clear,
            }))
        }
        Step::Acknowledge => b.submit(RadioOp::Acknowledge { mpdu: &[2, 0, 5] }),
        Step::Hear(all) => b.submit(RadioOp::Hear(if *all {
            Hear::Everything
        } else {
            Hear::Addressed
        })),
        Step::Answer(on) => b.submit(RadioOp::Answer(if *on {
            Answering::Clear
        } else {
            Answering::Withheld
        })),
        Step::Readout(bytes) => b.submit(RadioOp::Readout { bytes: *bytes }),
        Step::Incoming(us, bytes, good) => {
            b.incoming(u64::from(*us), &mpdu(*bytes), *good);
            return None;
        }
        Step::Busy(busy) => {
            b.chip.0.borrow_mut().busy = *busy;
            return None;
        }
        Step::Wait(us) => {
            b.run(u64::from(*us));
            return None;
        }
        Step::Handler => {
            b.handle();
            return None;
        }
        Step::LosesCompares(loses) => {
            b.chip.0.borrow_mut().loses_compares = *loses;
            return None;
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn each_operation_is_answered_once(
        steps in prop::collection::vec(step(), 1..40),
        late_start in any::<bool>(),
    ) {
        let mut b = Bench::new();
        b.chip.0.borrow_mut().frame_start = if late_start { 54 } else { 22 } * US;
        let wants = Wants { address: Some(NodeId::new(3).unwrap()), ..Wants::of(&[]) };
        b.radio.take_on(&wants);
        let mut asked = Vec::new();
        for step in &steps {
            asked.extend(take(&mut b, step));
            let answered = b.told.iter().filter_map(Told::answers);
            let mut counts = HashMap::<u16, usize>::new();
            answered.for_each(|op| *counts.entry(op).or_default() += 1);
            prop_assert!(counts.values().all(|n| *n == 1), "{:?}", b.told);
        }
        // Compares that were lost come again; then all ends.
        b.chip.0.borrow_mut().loses_compares = false;
        b.handle();
        b.run(20_000);
        // What waits for a reception, and what takes ever new samples, ends when it is told to.
        asked.push(b.ask(RadioOp::Cancel));
        b.run(1_000);
        for op in asked {
            prop_assert_eq!(b.answers(op).len(), 1, "operation {}: {:?}", op, b.told);
        }
        prop_assert!(!b.is_strobe_on());
        let state = b.chip.0.borrow().state;
        prop_assert!(matches!(state, State::Rx | State::Off), "{:?}", state);
        prop_assert_eq!(b.radio.lost_answers(), 0);
        // No frame was cut that was reported as sent, and none went out that was not asked for.
        let sent = b.told.iter().filter(|t| matches!(t, Told::Sent(..))).count();
        let whole = b.sent().iter().filter(|s| s.whole).count();
        let acknowledged = b.sent().iter().filter(|s| s.whole && s.mpdu.starts_with(&[2, 0])).count();
        prop_assert!(sent <= whole && whole <= sent + acknowledged, "{sent} {whole} {acknowledged}");
    }
}
