//! Chains on simulated boards: bounds, losses, the paper's numbers where they are cheap to have.

use super::*;
use std::sync::Arc;
use thalweg_engine::{Cca, Passing};
use thalweg_medium::Environment;
use thalweg_sim::boards;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{BitRate, Dbm, Duration, NodeId};
use thalweg_wire::phy::TURNAROUND;
use thalweg_wire::route::PayloadSize;

fn bench(board: &str, nodes: usize) -> Bench {
    let board = boards::load(board).unwrap().with_one_radio();
    let mesh = Environment::full_mesh(nodes, board.chip, Dbm(-50.0), 1);
    let mut site = Site::new(Testbed::load("pair").unwrap(), 1).in_environment(Arc::new(mesh));
    site.board = board;
    Bench { site, seed: 3 }
}
/// What `chain` can do on `bench` without the time that a paced source need not wait for, which T_m(n) counts. A
/// receiver needs only the end of a preamble, so that it may still turn when the
/// next packet's begins. From the third hop on, on one channel, the first relay listens all along:
/// the source's turnaround goes by while the last relay sends, and its preamble may begin before
/// that frame ends, since who heard the frame finds the rest of the preamble. Earlier than in
/// the frame's last symbol it would hit a whole one. So the least period of n such hops is
/// n (T_air + T_turn) - T_turn - T_symbol.
fn paced_bound(chain: &Chain, bench: &Bench) -> BitRate {
    let (phy, bytes) = (&bench.site.board.chip.phy, chain.mpdu_bytes() as u64);
    let period = Duration::from_secs_f64(bytes as f64 * 8.0 / chain.bound().bps());
    let mut channels = chain.channels.concat();
    channels.dedup();
    let saved = match chain.hops() {
        0 | 1 => Duration::ZERO,
        3.. if channels.len() == 1 => TURNAROUND + phy.symbol,
        _ => phy.symbol * u64::from(phy.first_counted()),
    };
    BitRate::of_bytes(bytes, period.saturating_sub(saved))
}
const VARIANTS: [ForwardingName; 3] = [
    ForwardingName::Copying,
    ForwardingName::Resending,
    ForwardingName::Conditional,
];

#[test]
fn an_ideal_board_reaches_the_bound_to_within_rounding() {
    let bench = bench("ideal", 7);
    for channels in [Channels::One, Channels::PerHop] {
        for hops in [1, 2, 3, 6] {
            for forwarding in VARIANTS {
                let chain = Chain::line(hops, channels, forwarding);
                let (_, trial) = chain.highest_rate(&bench, 60).unwrap().unwrap();
                let share = trial.raw().kbps() / paced_bound(&chain, &bench).kbps();
                let which = format!("{hops} {channels:?} {forwarding:?}: {share}");
                assert!(share > 0.9985 && share <= 1.0 + 1e-9, "{which}");
            }
        }
    }
}

#[test]
fn a_contiki_chain_runs_at_the_papers_rates() {
    let bench = bench("telosb-contiki", 7);
    let rate = |chain: Chain| {
        let (_, trial) = chain.highest_rate(&bench, 100).unwrap().unwrap();
        assert!(trial.whole && trial.received == 100);
        trial.raw().kbps()
    };
    let single = rate(Chain::line(1, Channels::One, ForwardingName::Copying));
    assert!((single - 148.0).abs() < 3.0, "{single}");
    let multi = rate(Chain::line(
        6,
        Channels::PerHop,
        ForwardingName::Conditional,
    ));
    assert!((multi - 109.0).abs() < 3.0, "{multi}");
    let copying = rate(Chain::line(6, Channels::PerHop, ForwardingName::Copying));
    assert!((1.6..2.2).contains(&(multi / copying)), "{copying}");
}

#[test]
fn a_loop_takes_half_the_time_when_nothing_is_copied_on_the_way() {
    let bench = bench("telosb-contiki", 6);
    let time = |forwarding| {
        let chain = Chain::round(6, Channels::PerHop, forwarding);
        chain.latency(&bench).unwrap().unwrap()
    };
    let copying = time(ForwardingName::Copying);
    let conditional = time(ForwardingName::Conditional);
    let ratio = conditional.as_secs_f64() / copying.as_secs_f64();
    assert!((0.42..0.58).contains(&ratio), "{copying} {conditional}");
}

#[test]
fn too_fast_loses_and_says_so() {
    let bench = bench("telosb-contiki", 4);
    let chain = Chain::line(3, Channels::PerHop, ForwardingName::Copying);
    let trial = chain.run(&bench, Duration::from_millis(9), 50).unwrap();
    assert!(!trial.whole && trial.received < 50);
}

#[test]
fn below_the_highest_rate_nothing_is_lost_doubled_or_out_of_order() {
    let bench = bench("telosb-contiki", 5);
    for channels in [Channels::One, Channels::PerHop] {
        for forwarding in [ForwardingName::Copying, ForwardingName::Conditional] {
            for hops in [1, 2, 4] {
                let chain = Chain::line(hops, channels, forwarding);
                let (interval, _) = chain.highest_rate(&bench, 60).unwrap().unwrap();
                for percent in [101, 103, 107, 113, 131, 170, 260] {
                    let slower = Duration::from_nanos(interval.as_nanos() * percent / 100);
                    let trial = chain.run(&bench, slower, 60).unwrap();
                    let which =
                        format!("{channels:?} {forwarding:?} {hops} {percent} %: {trial:?}");
                    assert!(trial.whole && trial.received == 60, "{which}");
                }
            }
        }
    }
}

#[test]
fn a_frame_sent_again_and_again_is_counted_as_often_as_it_arrives() {
    // A little beyond the highest rate single packets are lost, and none may pass unnoticed.
    let bench = bench("telosb-contiki", 7);
    for channels in [Channels::One, Channels::PerHop] {
        let chain = Chain::line(6, channels, ForwardingName::Resending);
        let (_, trial) = chain.highest_rate(&bench, 200).unwrap().unwrap();
        let gap = trial.time.as_micros_f64() / 199.0;
        // Nothing but the jitter of strobes keeps it from the closed form.
        let air = 2.0 * 4448.0 - 96.0;
        let relay = 10.0 + 32.0 + 483.0 + 97.0;
        let least = match channels {
            Channels::One => 6.0 * (4448.0 + relay) - 192.0 - relay,
            Channels::PerHop => air + relay + 2.0 * 52.0,
        };
        assert!((gap - least).abs() < 25.0, "{gap} {least}");
    }
}

#[test]
fn one_route_or_two_end_where_they_should() {
    let pair = Chain::pair(6, Channels::PerHop, ForwardingName::Conditional);
    assert_eq!(pair.nodes(), 12);
    assert_eq!((pair.source(), pair.sink()), (0, 11));
    assert_eq!(pair.routes[0].len(), 7);
    let inner = |r: &[usize]| r[1..6].to_vec();
    assert!(inner(&pair.routes[0])
        .iter()
        .all(|n| !inner(&pair.routes[1]).contains(n)));
    assert_eq!(pair.channels[0][5], pair.channels[1][5]);
    let mut channels = pair.channels.concat();
    channels.sort();
    channels.dedup();
    assert_eq!(channels.len(), 11);
    assert_eq!(pair.cca, Cca::Skip);
    let trial = pair
        .run(&bench("telosb-contiki", 12), Duration::from_millis(12), 40)
        .unwrap();
    assert!(trial.whole);
}

mod bounded {
    use super::*;
    use proptest::prelude::*;

    /// A board whose software costs other times, in microseconds.
    fn with_costs(mut board: thalweg_sim::Board, costs: [u64; 7]) -> thalweg_sim::Board {
        let us = Duration::from_micros;
        let [entry, write, strobe, read, os, condition, retune] = costs;
        board.timing.event_latency = us(entry);
        (board.timing.load_base, board.timing.load_byte) = (us(write), us(write));
        if let thalweg_sim::Software::Serial(c) = &mut board.timing.software {
            (c.strobe, c.os) = (us(strobe * 3), us(os * 20));
            (c.read_base, c.read_byte) = (us(read), us(read));
            (c.condition, c.retune) = (us(condition), us(retune));
        }
        board
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Whatever the board and the chain, no run delivers more than its bound.
        #[test]
        fn no_chain_is_faster_than_its_bound(
            payload in 0u8..=117, hops in 1usize..=5, many in any::<bool>(), variant in 0usize..3,
            board in 0usize..4, cca in any::<bool>(), share in 0.9f64..2.5, seed in 0u64..1000,
            costs in prop::array::uniform7(0u64..60),
        ) {
            // Those with the turnaround of the paper's bounds, the standard's.
            let name = ["ideal", "telosb-contiki", "telosb", "telosb-contiki"][board];
            let channels = if many { Channels::PerHop } else { Channels::One };
            let chain = Chain {
                payload_bytes: payload,
                cca: if cca { Cca::Require } else { Cca::Skip },
                ..Chain::line(hops, channels, VARIANTS[variant])
            };
            let mut bench = Bench { seed, ..bench(name, hops + 1) };
            if board == 3 {
                bench.site.board = with_costs(bench.site.board, costs);
            }
            let bench = bench;
            let bytes = chain.mpdu_bytes() as f64;
            let interval = Duration::from_secs_f64(bytes * 8.0 / chain.bound().bps() * share);
            let trial = chain.run(&bench, interval, 40).unwrap();
            if trial.received > 10 && trial.whole {
                // Between two events told there is the operating system's pace, not the air's: one
                // frame's time of it is not the chain's.
                let slack = 1.0 + 1.5 / f64::from(trial.received);
                prop_assert!(trial.raw().bps() <= paced_bound(&chain, &bench).bps() * slack);
            }
            if let Some((_, best)) = chain.highest_rate(&bench, 40).unwrap() {
                let bound = paced_bound(&chain, &bench);
                prop_assert!(best.raw().bps() <= bound.bps() * 1.001, "{} of {bound}", best.raw());
            }
        }
    }
}

/// The two halves of the paper's figure 1.
#[test]
fn a_timeline_shows_what_is_on_the_critical_path() {
    let bench = bench("telosb-contiki", 3);
    let timeline = |forwarding| {
        let chain = Chain::line(2, Channels::PerHop, forwarding);
        let interval = Duration::from_micros(15_400);
        chain.timeline(&bench, interval, None).unwrap()
    };
    // From the relay's last byte in to its first symbol out, and what the microcontroller did then.
    let between = |t: &Timeline| {
        let first = |name| {
            t.bars
                .iter()
                .find(|b| b.place == 1 && b.activity == name)
                .unwrap()
        };
        let (end, start) = (first("receive").until_us, first("transmit").from_us);
        let done = t.bars.iter().filter(|b| b.place == 1 && !b.radio);
        let done = done.filter(|b| b.from_us >= end - 0.5 && b.until_us <= start);
        (start - end, done.map(|b| b.activity).collect::<Vec<_>>())
    };
    let (copying, conditional) = (
        timeline(ForwardingName::Copying),
        timeline(ForwardingName::Conditional),
    );
    let (took, work) = between(&copying);
    assert!((6620.0..6640.0).contains(&took), "{took}");
    assert_eq!(
        work,
        ["interrupt", "read", "system", "write", "channel", "strobe"]
    );
    let (took, work) = between(&conditional);
    assert!((380.0..390.0).contains(&took), "{took}");
    assert_eq!(work, ["interrupt", "channel", "strobe"]);
    // The packet that goes out is the one before the one that came in.
    let relay = |name| {
        let bars = conditional.bars.iter();
        bars.filter(|b| b.place == 1 && b.activity == name)
            .find_map(|b| b.packet)
    };
    assert_eq!(relay("receive"), relay("transmit").map(|n| n + 1));
    for t in [&copying, &conditional] {
        for (row, one) in t.bars.iter().enumerate() {
            let next = t.bars.get(row + 1);
            let overlaps = next.is_some_and(|n| {
                (n.place, n.radio) == (one.place, one.radio) && n.from_us < one.until_us - 1e-6
            });
            assert!(!overlaps, "{one:?} {next:?}");
        }
        let text = t.to_text(118);
        assert_eq!(text.lines().count(), 1 + 9 + 2);
        assert!(text.contains("relay 1  radio |RRR"));
    }
    let mut of_relay = conditional.clone();
    of_relay.bars.retain(|bar| bar.place == 1);
    let svg = timelines_svg(&[copying.clone(), of_relay]);
    assert!(svg.starts_with("<svg") && svg.matches("relay 1").count() == 2);
}

#[test]
fn foreign_frames_between_packets_change_nothing_below_the_highest_rate() {
    // A node beside the chain speaks on the second hop's channel while that is idle, and another
    // protocol's node would be as little understood.
    let bench = bench("telosb-contiki", 4);
    let chain = Chain::line(2, Channels::PerHop, ForwardingName::Conditional);
    let interval = Duration::from_millis(30);
    let mut net = chain.open(&bench, interval).unwrap();
    use std::ops::ControlFlow::Continue;
    use thalweg_protocols::forward::{Command, Config, Event, Exits, Forwarding, Role};
    let other = Config {
        role: Role::End,
        previous: [None; 2],
        listen: chain.channels[0][0],
        exits: Exits::One(chain.channels[0][0]),
        forwarding: Forwarding::Copying,
        cca: Cca::Skip,
        hold: Duration::from_secs(1),
        payload_bytes: 50,
    };
    net.command(3, Command::Join(other));
    let send = |after_ms, payload_bytes, packets| Command::Send {
        packets,
        payload_bytes,
        after: Duration::from_millis(after_ms),
        interval,
    };
    net.command(0, send(20, 117, 52));
    net.command(3, send(33, 50, 50));
    let mut got = Vec::new();
    let until = thalweg_units::SimTime::from_nanos(3_000_000_000);
    net.run_until(until, |_, n, event| {
        if let (2, Event::Received { number, .. }) = (n, event) {
            got.push(number);
        }
        Continue(())
    })
    .unwrap();
    assert_eq!(got, (0..52).collect::<Vec<_>>());
}

fn ids(n: usize) -> Vec<NodeId> {
    (1..=n as u16).map(|n| NodeId::new(n).unwrap()).collect()
}
fn carry(
    board: &str,
    hops: usize,
    passing: Passing,
    payload: u8,
    packets: usize,
) -> (f64, PipeTrial) {
    let bench = bench(board, hops + 1);
    let payload = PayloadSize::new(payload).unwrap();
    let pipe = Pipe::line(hops, passing, payload);
    let object: Vec<u8> = (0..packets * usize::from(payload.bytes()))
        .map(|n| (n * 31 % 251) as u8)
        .collect();
    let ids = ids(hops + 1);
    let trial = pipe
        .run(&bench, &ids, &object, &mut |_, _, _| {
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    let period = pipe.cadence(&bench, &ids).unwrap().data_period();
    (period.as_micros_f64(), trial)
}

#[test]
fn pips_schedule_fits_every_board_to_the_microsecond() {
    for board in ["telosb", "telosb-contiki", "opal", "ideal"] {
        for passing in [Passing::Copied, Passing::Conditional] {
            for (hops, payload) in [(1, 118), (2, 118), (5, 118), (11, 100), (3, 20), (3, 1)] {
                let (period, trial) = carry(board, hops, passing, payload, 60);
                let which = format!("{board} {passing:?} {hops} {payload} {period}: {trial:?}");
                assert!(trial.verified, "{which}");
                // Nothing came too late, so nothing was said twice.
                assert_eq!(
                    (trial.refused, trial.rounds, trial.first_round),
                    (0, 1, 60),
                    "{which}"
                );
                assert_eq!(trial.sent[0], 60, "{which}");
                // The last packet leaves 59 periods after the first.
                let least = 59.0 * period;
                let time = trial.time.as_micros_f64();
                assert!(
                    time > least && time < least + 2.5 * period * (hops + 1) as f64,
                    "{which}"
                );
            }
        }
    }
}

#[test]
fn pip_is_as_slow_as_its_boards_copies_and_cit_takes_them_out() {
    let raw = |board, passing| {
        carry(board, 5, passing, 118, 200)
            .1
            .raw(PayloadSize::MAX)
            .kbps()
    };
    let of = |board| {
        (
            raw(board, Passing::Copied),
            raw(board, Passing::Conditional),
        )
    };
    let (contiki, opal, glossy) = (of("telosb-contiki"), of("opal"), of("telosb"));
    assert!((63.0..66.0).contains(&contiki.0), "{contiki:?}");
    assert!(
        contiki.1 / contiki.0 > 1.6 && contiki.1 > 104.0,
        "{contiki:?}"
    );
    assert!(
        (100.0..105.0).contains(&opal.0) && opal.1 > opal.0 * 1.05,
        "{opal:?}"
    );
    // Copies overlap there: holding packets brings nothing but the time to fill the relays.
    assert!(
        (glossy.0 - 109.0).abs() < 2.0 && glossy.1 < glossy.0,
        "{glossy:?}"
    );
}

/// Contiki's board with work in the background and tasks that keep interrupts off.
fn sensing() -> thalweg_sim::Board {
    let text = include_str!("../../../../boards/telosb-contiki.toml");
    let text = text.replace("[software]\n", "[software]\natomic_us = 60\n")
        + "[background]\nevery_us = 8000\ntakes_us = 2500\nswitch_us = 40\n";
    thalweg_sim::boards::parse("sensing", &text).unwrap()
}

#[test]
fn schedules_leave_room_for_context_switches_and_interrupts_that_are_off() {
    let quiet = bench("telosb-contiki", 5);
    let mut busy = quiet.clone();
    busy.site.board = sensing();
    let ids = ids(5);
    let object = vec![7; 60 * 118];
    for passing in [Passing::Copied, Passing::Conditional] {
        let pipe = Pipe::line(4, passing, PayloadSize::MAX);
        let mut observer = |_, _, _| std::ops::ControlFlow::Continue(());
        let trial = pipe.run(&busy, &ids, &object, &mut observer).unwrap();
        assert!(trial.verified && trial.rounds == 1, "{trial:?}");
        assert_eq!(trial.refused, 0, "{trial:?}");
        let period = |bench| pipe.cadence(bench, &ids).unwrap().data_period();
        let dearer = period(&busy).as_micros_f64() - period(&quiet).as_micros_f64();
        assert!((100.0..=200.0 + 1e-6).contains(&dearer), "{dearer}");
    }
}

#[test]
fn a_timeline_shows_what_the_background_gets() {
    let mut busy = bench("telosb-contiki", 3);
    busy.site.board = sensing();
    let chain = Chain::line(2, Channels::PerHop, ForwardingName::Copying);
    let timeline = chain
        .timeline(&busy, Duration::from_millis(16), None)
        .unwrap();
    let background: f64 = (timeline.bars.iter())
        .filter(|b| b.place == 1 && b.activity == "background")
        .map(|b| b.until_us - b.from_us)
        .sum();
    // A share of 2500 / 8000 of 18 ms, give or take a run.
    assert!((3_000.0..8_200.0).contains(&background), "{background}");
    assert!(timeline.to_text(100).contains("b background"));
    assert!(timelines_svg(&[timeline]).contains("background"));
}

#[test]
fn a_schedule_that_is_too_tight_costs_time_and_no_packet() {
    // What is ordered too late is refused and goes in a later slot; what is held too late goes with the
    // packet after the next.
    let quick = bench("telosb-contiki", 4);
    let mut slow = quick.clone();
    let timing = &mut slow.site.board.timing;
    timing.load_byte = timing.load_byte * 3;
    let pipe = Pipe::line(3, Passing::Conditional, PayloadSize::MAX);
    let object: Vec<u8> = (0..80 * 118u32).map(|n| (n % 249) as u8).collect();
    let mut observer = |_, _, _| std::ops::ControlFlow::Continue(());
    let (timing, ids) = (quick.site.board.timing, ids(4));
    let tight = pipe
        .run_planned(&slow, &timing, &ids, &object, &mut observer)
        .unwrap();
    assert!(tight.verified, "{tight:?}");
    assert!(tight.refused > 0, "{tight:?}");
    let fitting = pipe.run(&slow, &ids, &object, &mut observer).unwrap();
    assert!(
        fitting.verified && fitting.refused == 0 && fitting.rounds == 1,
        "{fitting:?}"
    );
    assert!(fitting.time < tight.time);
}
