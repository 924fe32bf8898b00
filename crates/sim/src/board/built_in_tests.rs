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

/// Supply in volts; radio asleep, idle, calibrating, receiving and sending, microcontroller running and waiting, in
/// milliamperes: data sheets, written down a second time.
const DRAWN: [(&str, [f64; 8]); 11] = [
    ("telosb", [3.0, 0.02, 0.426, 18.8, 18.8, 17.4, 1.8, 0.0051]),
    (
        "telosb-contiki",
        [3.0, 0.02, 0.426, 18.8, 18.8, 17.4, 1.8, 0.0051],
    ),
    (
        "telosb-tinyos",
        [3.0, 0.02, 0.426, 18.8, 18.8, 17.4, 1.8, 0.0051],
    ),
    (
        "tmote-low",
        [3.0, 0.02, 0.426, 18.8, 18.8, 9.1, 1.8, 0.0051],
    ),
    (
        "ieee802154",
        [3.0, 0.02, 0.426, 18.8, 18.8, 17.4, 1.8, 0.0051],
    ),
    ("ideal", [3.0, 0.02, 0.426, 18.8, 18.8, 17.4, 1.8, 0.0051]),
    ("mica2", [3.0, 0.0002, 0.86, 7.4, 7.4, 7.9, 8.0, 0.11]),
    ("opal", [3.3, 0.00002, 0.4, 5.6, 12.3, 14.3, 25.0, 0.03]),
    ("nrf52840", [3.0, 0.0, 0.33, 4.6, 4.6, 4.8, 3.33, 0.0015]),
    ("cc2538", [3.0, 0.0, 0.426, 20.0, 20.0, 24.0, 13.0, 0.0013]),
    ("efr32mg", [3.3, 0.0, 0.24, 9.8, 9.8, 8.2, 2.42, 0.0014]),
];

#[test]
fn every_board_draws_what_its_sheets_say() {
    let told: Vec<_> = DRAWN.map(|(name, _)| name.to_owned()).into();
    let mut known: Vec<_> = names().map(str::to_owned).collect();
    known.sort_by_key(|name| told.iter().position(|other| other == name));
    assert_eq!(known, told);
    for (name, drawn) in DRAWN {
        let c = load(name).unwrap().currents;
        let radio = [
            c.supply_v,
            c.radio_sleep_ma,
            c.radio_idle_ma,
            c.radio_calibrate_ma,
            c.radio_receive_ma,
            c.radio_transmit_ma,
        ];
        assert_eq!(radio, drawn[..6], "{name}");
        assert_eq!([c.mcu_active_ma, c.mcu_low_power_ma], drawn[6..], "{name}");
    }
    let second = load("opal").unwrap().second.unwrap();
    assert_eq!((second.receive_ma, second.transmit_ma), (9.2, 15.5));
}

/// Start of an oscillator, turning to send and to receive in microseconds, crystals' error in ppm, step of the clock
/// in nanoseconds.
#[test]
fn every_board_takes_its_time() {
    for (name, chip, times, ppm, tick) in [
        ("telosb", "CC2420", [860.0, 192.0, 192.0], 10.0, 250),
        ("telosb-tinyos", "CC2420", [860.0, 192.0, 192.0], 0.0, 0),
        ("mica2", "CC1000", [2033.336, 416.664, 416.664], 0.0, 0),
        ("opal", "AT86RF231", [380.0, 17.0, 33.0], 10.0, 1_000),
        ("nrf52840", "nRF52840", [360.0, 41.0, 64.0], 10.0, 63),
        ("cc2538", "CC2538", [300.0, 192.0, 192.0], 10.0, 31),
        ("efr32mg", "EFR32MG", [300.0, 192.0, 192.0], 10.0, 26),
    ] {
        let board = load(name).unwrap();
        let timing = &board.timing;
        let told = [timing.wake, timing.turnaround, timing.to_receive];
        assert_eq!(told.map(|t| t.as_nanos() as f64 / 1e3), times, "{name}");
        assert_eq!(board.chip.name, chip);
        assert_eq!(board.clock.drift_sigma_ppm, ppm, "{name}");
        assert_eq!(board.clock.tick.as_nanos(), tick, "{name}");
    }
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
