//! One sender on one hop with the CC2420's stack of TinyOS 1.x: what `tasks` of the stack is fitted to, and
//! what acknowledgements by software cost.

use super::*;
use std::ops::ControlFlow;
use thalweg_medium::Environment;
use thalweg_protocols::stack::{Event, Open};

/// Bytes of a frame, check sequence included: RCRT's 64 bytes of payload under its headers.
const FRAME_BYTES: usize = 95;

/// Packets a second that one sender gets to a sink 40 dB above the noise, as fast as its stack takes them.
fn rate(mac: csma::Config) -> f64 {
    let board = boards::load("telosb-tinyos").unwrap();
    let node = |n: u16| {
        let id = |n| NodeId::new(n).unwrap();
        let config = Config {
            id: id(n),
            channel: Channel::LAST,
            mac,
            role: if n == 1 { Role::Sink } else { Role::Leaf },
            routing: Routing::Fixed((n == 2).then_some(id(1))),
            queue: Queue::of(10),
            seed: u64::from(n),
        };
        let overhead = board.chip.phy.fcs_bytes as usize + DATA_HEADER_BYTES;
        let readings = Readings::new(Application::Waits, FRAME_BYTES - overhead);
        Node::<_, _>::new(config, Open, readings)
    };
    let engines = vec![node(1), node(2)];
    let env = Environment::full_mesh(2, board.chip, Dbm(-58.0), 1);
    let reach = Reach::of_environment(&env, board.chip, Channel::LAST, board.tx_power);
    let mut network = Network::on(Ether::new(reach, 1), &[board], engines, 1).unwrap();
    (0..2).for_each(|n| network.command(n, Command::Start));
    let hour = Duration::from_secs(3_600);
    let schedule = Schedule {
        first: Instant::ZERO,
        period: hour,
        until: Instant::ZERO + hour,
        burst: u16::MAX,
    };
    network.command(1, Command::Upper(schedule));
    let seconds = 60;
    let mut arrived = 0;
    network
        .run_until(
            SimTime::ZERO + Duration::from_secs(seconds),
            |_, n, event| {
                arrived += u64::from(n == 0 && matches!(event, Event::Received { .. }));
                ControlFlow::Continue(())
            },
        )
        .unwrap();
    arrived as f64 / seconds as f64
}

#[test]
fn one_sender_gets_95_packets_a_second_through_and_fewer_with_acknowledgements_by_software() {
    let hardware = rate(csma::Config::TINYOS_CC2420);
    assert!((93.0..97.0).contains(&hardware), "{hardware}");
    let timing = boards::load("telosb-tinyos").unwrap().timing;
    let software = csma::Config::TINYOS_CC2420.with_software_acks(&timing);
    let software = rate(software.unwrap());
    // Reading 93 bytes and copying 3 takes 1.34 ms of what were 10.5.
    let longer = 1.0 / software - 1.0 / hardware;
    assert!((longer - 1.34e-3).abs() < 0.05e-3, "{software}: {longer}");
}
