//! Tests of `timing.rs`.

use super::*;

const fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}
const SERIAL: BoardTiming = BoardTiming {
    event_latency: us(10),
    load_byte: us(17),
    software: Software::Serial(Costs {
        strobe: us(97),
        read_byte: us(28),
        os: us(483),
        condition: us(32),
        retune: us(52),
        ..Costs::NOTHING
    }),
    ..BoardTiming::IDEAL
};

#[test]
fn where_copies_overlap_all_pauses_are_the_relay_gap() {
    let timing = BoardTiming {
        forward_software: us(89),
        ..BoardTiming::IDEAL
    };
    for passing in [Passing::Copied, Passing::Conditional] {
        let relaying = timing.relaying(125, passing);
        assert_eq!(relaying.period(125), us(2 * 4537));
        assert_eq!((relaying.forth, relaying.alone), (us(281), us(281)));
    }
}

#[test]
fn copies_are_in_the_way_and_conditional_transmission_takes_them_out() {
    let copied = SERIAL.relaying(125, Passing::Copied);
    let software = 10 + 28 * 125 + 483 + 17 * 125 + 52 + 97;
    assert_eq!(copied.forth, us(software + 192 + 16));
    assert_eq!(copied.period(125), us(2 * 4256 + software + 208 + 52 + 192));
    let cit = SERIAL.relaying(125, Passing::Conditional);
    assert_eq!(cit.forth, us(10 + 32 + 52 + 97 + 208));
    assert_eq!(cit.back, copied.back);
}

#[test]
fn a_decision_costs_the_same_whoever_makes_it() {
    let costs = SERIAL.software.costs();
    assert_eq!(costs.read(6, 125), costs.condition);
    assert_eq!(costs.read(8, 125), costs.condition);
    assert_eq!(costs.read(9, 125), us(9 * 28));
    // A short frame that is read whole is copied.
    assert_eq!(costs.read(6, 6), us(6 * 28));
    assert_eq!(costs.read(1, 125), us(28), "no dearer than copying");
    assert_eq!(costs.read(0, 125), Duration::ZERO);
}

#[test]
fn copies_that_do_not_fit_beside_the_air_cost_time_all_the_same() {
    let slow = BoardTiming {
        load_byte: us(60),
        ..SERIAL
    };
    let cit = slow.relaying(125, Passing::Conditional);
    // The buffer is free, and the radio's channel set, when the frame before is sent.
    let free = cit.forth + us(4256 + 52);
    assert_eq!(cit.period(125), free + us(60 * 125) + BoardTiming::GUARD);
}

#[test]
fn a_driver_that_cannot_copy_ahead_gains_nothing() {
    let Software::Serial(costs) = SERIAL.software else {
        return;
    };
    let costs = Costs {
        precopy: PreCopy::No,
        ..costs
    };
    let timing = BoardTiming {
        software: Software::Serial(costs),
        ..SERIAL
    };
    let period = |passing| timing.relaying(60, passing).period(60);
    assert_eq!(
        period(Passing::Conditional),
        period(Passing::Copied) + costs.condition
    );
}
