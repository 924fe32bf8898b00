//! The built-in boards.

use super::*;
use crate::board::{AckBy, Costs, Software};

#[test]
fn the_constants_add_up_to_the_papers_rates() {
    let board = telosb();
    // P3: a cycle of 4537 us carries 1000 bits: 220.4 kbit/s.
    let cycle = thalweg_wire::phy::air_time(125) + board.timing.relay_gap();
    assert_eq!(cycle, Duration::from_micros(4537));
    assert!((1e6 / cycle.as_secs_f64() / 1e6 - 220.4).abs() < 0.05);
    // CIT: 128 bytes over the bus.
    assert_eq!((board.timing.load_byte * 128).as_micros(), 2211);
    assert!(board.timing.event_latency < board.timing.forward_software);
}

#[test]
fn contikis_costs_add_up_to_cits_rates() {
    let board = load("telosb-contiki").unwrap();
    let (costs, timing) = (board.timing.software.costs(), board.timing);
    let frame = thalweg_wire::phy::air_time(125) + timing.turnaround + costs.strobe;
    assert_eq!(frame.as_micros(), 4545);
    let write = timing.load_base + timing.load_byte * 125;
    assert_eq!(write.as_micros(), 2211);
    assert!((1e3 / (frame + write).as_micros_f64() * 1e3 - 148.0).abs() < 0.1);
    assert_eq!((costs.read_base + costs.read_byte * 125).as_micros(), 3584);
    assert_eq!((costs.condition + costs.retune).as_micros(), 84);
    let copying = write + Duration::from_micros(3584) + costs.os + costs.strobe;
    assert!(timing.forward_software >= copying + timing.event_latency);
}

#[test]
fn opals_costs_add_up_to_fastforwards_rates() {
    let board = load("opal").unwrap();
    let (costs, timing) = (board.timing.software.costs(), board.timing);
    // 122 bytes on the air, 114 of them the MAC frame without its check sequence.
    let air = thalweg_wire::phy::air_time(114);
    let copy = timing.load_base + timing.load_byte * 114;
    let frame = timing.event_latency + copy + costs.strobe + timing.turnaround + air;
    let rate = |cycle: Duration| 122.0 / cycle.as_secs_f64() / 1e3;
    assert!((rate(frame) - 27.8).abs() < 0.05, "{}", rate(frame));
    let AckBy::Driver { strobe } = board.acks.by else {
        panic!("TinyOS's drivers acknowledge in software");
    };
    let read = |bytes: u64| timing.event_latency + costs.read_base + costs.read_byte * bytes;
    let ack = timing.turnaround + thalweg_wire::phy::air_time(3);
    // The acknowledgement's own reading takes the place of the interrupt at the frame's end.
    let acked = frame + read(114) + strobe + ack + read(3) - timing.event_latency;
    assert!((rate(acked) - 23.7).abs() < 0.05, "{}", rate(acked));
    assert!(copy.as_micros_f64() < 0.1 * air.as_micros_f64());
    assert!(board
        .second
        .is_some_and(|second| second.chip.band != board.chip.band));
}

#[test]
fn built_in_boards_are_well_formed() {
    for name in names() {
        let board = load(name).unwrap();
        assert!(
            board.timing.event_latency <= board.timing.forward_software,
            "{name}"
        );
    }
    let ideal = load("ideal").unwrap();
    let software = Software::Serial(Costs::NOTHING);
    assert_eq!(
        ideal.timing,
        BoardTiming {
            software,
            ..BoardTiming::IDEAL
        }
    );
}
