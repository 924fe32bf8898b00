//! Jobs of engines: each has its price, to the nanosecond, and is in nobody's way.

use super::serial::{go, slow};
use super::{heard, net_on, run, say, us, Order::*, Puppet, Seen};
use crate::{boards, Board, Computing, Fault, Network, OnAir};
use thalweg_engine::{BoardTiming, When, Work};
use thalweg_units::Duration;
use thalweg_wire::phy::air_time;

/// 2 us a byte multiplied, 3 read, 5 written.
const PRICES: Computing = Computing {
    multiply_byte: us(2),
    read_byte: us(3),
    write_byte: us(5),
    on_air: OnAir::Held,
};
/// 1 ms.
const JOB: Work = Work {
    multiplied: 300,
    read: 50,
    written: 50,
};

fn board(on_air: OnAir) -> Board {
    let mut board = boards::exact(BoardTiming::IDEAL);
    board.computing = Computing { on_air, ..PRICES };
    (board.currents.flash_read_ma, board.currents.flash_write_ma) = (4.0, 20.0);
    board
}

/// When the job of node 0 was done, in microseconds.
fn done(net: &Network<Puppet>) -> Option<u64> {
    let seen = heard(net, 0);
    let done = seen.iter().filter(|s| s.1 == Seen::Computed);
    assert!(done.clone().count() <= 1, "a job ends once");
    done.map(|s| s.0).next()
}

#[test]
fn on_a_free_microcontroller_a_job_takes_its_price() {
    assert_eq!(PRICES.price(JOB), us(1000));
    let mut net = net_on(board(OnAir::Held), 1);
    run(&mut net, 500);
    net.command(0, Compute(JOB));
    run(&mut net, 1499);
    assert_eq!(done(&net), None);
    run(&mut net, 5000);
    assert_eq!(done(&net), Some(1500));
    let energy = net.energy(0);
    assert_eq!(energy.mcu_active, us(1000));
    assert_eq!((energy.flash_read, energy.flash_write), (us(150), us(250)));
    let flash = 3.0 * (0.150e-3 * 4.0e-3 + 0.250e-3 * 20.0e-3);
    assert!((energy.flash_joules() - flash).abs() < 1e-12);
    let all = energy.radio_joules() + energy.mcu_joules() + flash;
    assert!((net.joules(0) - all).abs() < 1e-12);
}

#[test]
fn a_frame_that_is_sent_byte_by_byte_stops_a_job_until_its_last_symbol() {
    let mpdu = [7; 60];
    let sent = Duration::from_micros(192) + air_time(mpdu.len());
    for (on_air, delay) in [(OnAir::Held, sent), (OnAir::Free, Duration::ZERO)] {
        let mut net = net_on(board(on_air), 2);
        net.command(0, Listen(26));
        run(&mut net, 1000);
        net.command(0, Compute(JOB));
        run(&mut net, 1400);
        net.command(0, say(&mpdu, When::Now));
        run(&mut net, 9000);
        assert_eq!(done(&net), Some(2000 + delay.as_micros()), "{on_air:?}");
        // One microcontroller, awake once: while it sends in any case.
        let active = match on_air {
            OnAir::Held => us(1000) + sent,
            OnAir::Free => us(400) + sent.max(us(600)),
        };
        assert_eq!(net.energy(0).mcu_active, active, "{on_air:?}");
    }
}

#[test]
fn a_frame_that_comes_in_stops_a_job_and_one_that_is_left_lets_it_go_on() {
    let mpdu = [7; 60];
    for (leaves, on_air) in [
        (false, OnAir::Held),
        (true, OnAir::Held),
        (false, OnAir::Free),
    ] {
        let mut net = net_on(board(on_air), 2);
        net.command(0, Listen(26));
        run(&mut net, 1000);
        net.command(0, Compute(JOB));
        // On the air from 1492 on.
        run(&mut net, 1300);
        net.command(1, say(&mpdu, When::Now));
        run(&mut net, 2000);
        if leaves {
            net.command(0, Listen(15));
        }
        run(&mut net, 9000);
        let stopped = match (leaves, on_air) {
            (_, OnAir::Free) => Duration::ZERO,
            (true, OnAir::Held) => us(2000 - 1492),
            (false, OnAir::Held) => air_time(mpdu.len()),
        };
        assert_eq!(
            done(&net),
            Some(2000 + stopped.as_micros()),
            "{leaves} {on_air:?}"
        );
    }
}

#[test]
fn every_event_that_is_handled_delays_a_job_by_the_handler() {
    let mut net = net_on(
        Board {
            handler: us(89),
            ..board(OnAir::Held)
        },
        1,
    );
    run(&mut net, 1000);
    // The order that it comes with, the one after, and the time-out.
    net.command(0, Compute(JOB));
    run(&mut net, 1500);
    net.command(0, Timeout(super::local(1800)));
    run(&mut net, 9000);
    assert_eq!(done(&net), Some(1000 + 1000 + 3 * 89));
}

#[test]
fn jobs_delay_nothing_and_end_when_the_software_has_had_time() {
    let frames = |work: bool| {
        let mut net = net_on(
            Board {
                computing: PRICES,
                ..slow()
            },
            2,
        );
        net.command(0, Listen(26));
        net.command(1, Listen(26));
        run(&mut net, 3000);
        if work {
            net.command(0, Compute(JOB));
        }
        for n in 0..4 {
            net.command(0, Load(0, vec![1 + n; 30]));
            net.command(0, go());
            run(&mut net, 3000 + 6000 * u64::from(n + 1));
        }
        run(&mut net, 40_000);
        net
    };
    let seen = |net: &Network<Puppet>| {
        let all = (0..2).flat_map(|n| net.engine(n).seen.iter());
        all.filter(|s| s.2 != Seen::Computed)
            .cloned()
            .collect::<Vec<_>>()
    };
    let (idle, busy) = (frames(false), frames(true));
    assert_eq!(seen(&idle), seen(&busy));
    let done = done(&busy).unwrap();
    assert!(done > 4000, "{done}: software was in the way");
    let extra = busy
        .energy(0)
        .mcu_active
        .saturating_sub(idle.energy(0).mcu_active);
    assert_eq!(extra, us(1000));
}

#[test]
fn the_job_of_a_node_that_dies_is_done_when_it_is_back() {
    let mut net = net_on(board(OnAir::Held), 1);
    net.command(0, Compute(JOB));
    run(&mut net, 400);
    net.fault(0, Fault::Dead);
    run(&mut net, 20_000);
    assert_eq!(done(&net), None);
    net.fault(0, Fault::Healthy);
    run(&mut net, 40_000);
    assert!(done(&net).is_some());
}
