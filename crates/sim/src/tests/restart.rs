//! Nodes that restart: what is lost, what stays, and that nothing of before comes after.

use super::*;
use crate::{ClockModel, Fault, SimError};
use thalweg_medium::ether::{Ether, Reach};
use Order::{Listen, Load, Timeout, Transmit};

fn reboot(until_us: u64) -> Fault {
    Fault::Reboot {
        until: at(until_us),
    }
}

/// Has nodes of `net` restart as puppets that know the first operation of those before them.
fn restarts<A: Air>(mut net: Network<Puppet, A>) -> Network<Puppet, A> {
    net.restart_with(Box::new(|_, before| Puppet {
        asked: before.asked.first().cloned().into_iter().collect(),
        wanted: before.wanted,
        ..Puppet::default()
    }));
    net
}

/// Two puppets in the other medium.
fn in_ether() -> Network<Puppet, Ether> {
    let board = boards::exact(BoardTiming::IDEAL);
    let site = Environment::full_mesh(2, board.chip, Dbm(-50.0), 1);
    let reach = Reach::of_environment(&site, board.chip, Channel::LAST, Dbm(0.0));
    let puppet = || Puppet {
        wanted: Some(Wants::of(&[])),
        ..Puppet::default()
    };
    Network::on(Ether::new(reach, 1), &[board], vec![puppet(), puppet()], 1).unwrap()
}

fn restarting(n: usize) -> Network<Puppet> {
    restarts(net(n))
}

/// Two nodes of which one restarts after `strike_us`, off for `off_us`, whatever it is at then.
fn forgets<A: Air>(net: Network<Puppet, A>, (strike_us, off_us): (u64, u64)) {
    let mut net = restarts(net);
    net.command(1, Listen(26));
    net.command(0, Listen(26));
    run(&mut net, 500);
    net.fault_at(at(500 + strike_us), 0, reboot(500 + strike_us + off_us));
    net.command(0, Load(0, vec![7; 60]));
    net.command(0, Transmit(0, When::Now, Cca::Skip));
    net.command(0, Timeout(local(4_000)));
    net.command(1, say(&[9; 40], When::At(local(4_800))));
    run(&mut net, 30_000);
    let engine = net.engine(0);
    assert_eq!(
        (engine.asked.len(), engine.seen.len()),
        (1, 0),
        "struck after {strike_us} us, off for {off_us}"
    );
    let (energy, now) = (net.energy(0), at(30_000).since(SimTime::ZERO));
    assert_eq!(energy.radio_sleep + energy.radio_on(), now);
    assert!(net.local_now(0) < local(30_000));
    // It hears once it is told to.
    net.command(0, Listen(26));
    run(&mut net, 31_000);
    net.command(1, say(&[3; 9], When::Now));
    run(&mut net, 40_000);
    let frames = heard(&net, 0);
    assert!(
        matches!(frames[..], [(_, Seen::Frame { .. })]),
        "{frames:?}"
    );
    assert!(net.is_clean());
}

#[test]
fn a_restarted_node_has_no_memory() {
    // Copies, frames and their answers are under way at some of these times, in both media.
    for strike in (0..6_000).step_by(53) {
        for off in [0, 1, 300, 20_000] {
            forgets(net(2), (strike, off));
            forgets(net_on(serial::slow(), 2), (strike, off));
            forgets(in_ether(), (strike, off));
        }
    }
}

#[test]
fn a_restarted_clock_counts_from_zero() {
    let mut net = restarting(1);
    run(&mut net, 50_000);
    net.fault(0, reboot(80_000));
    run(&mut net, 81_000);
    assert_eq!(net.local_now(0), local(1_000));
    net.command(0, Timeout(local(5_000)));
    run(&mut net, 90_000);
    assert_eq!(net.engine(0).seen, [(local(5_000), None, Seen::Timeout)]);
    // A clock that differs from node to node differs from start to start.
    let board = Board {
        clock: ClockModel {
            max_offset: Duration::from_millis(5),
            ..ClockModel::PERFECT
        },
        ..boards::exact(BoardTiming::IDEAL)
    };
    let mut net = net_on(board, 1);
    net.restart_with(Box::new(|_, _| Puppet::default()));
    let reads = [20_000, 40_000].map(|time| {
        net.fault(0, reboot(time));
        run(&mut net, time);
        net.local_now(0)
    });
    assert!(reads[0] != reads[1] && reads.iter().all(|r| *r < local(5_000)));
}

#[test]
fn a_dead_node_boots_when_it_is_healthy_and_a_boot_is_not_healed() {
    let mut started = Vec::new();
    let mut net = restarting(2);
    net.command(0, Timeout(local(1_500)));
    net.fault_at(at(1_000), 0, Fault::Dead);
    net.fault_at(at(2_000), 0, reboot(3_000));
    net.fault_at(at(9_000), 0, Fault::Healthy);
    net.fault_at(at(1_000), 1, reboot(4_000));
    net.fault_at(at(2_000), 1, Fault::Healthy);
    net.fault_at(at(3_000), 1, reboot(6_000));
    net.fault_at(at(20_000), 1, reboot(22_000));
    net.fault_at(at(21_000), 1, Fault::Dead);
    struct Starts<'a>(&'a mut Vec<(SimTime, usize)>);
    impl crate::Observer<usize> for Starts<'_> {
        fn event(&mut self, _: SimTime, _: usize, _: usize) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }
        fn started(&mut self, at: SimTime, node: usize) -> ControlFlow<()> {
            self.0.push((at, node));
            ControlFlow::Break(())
        }
    }
    let mut stops = 0;
    while net.run_with(at(50_000), &mut Starts(&mut started)).unwrap() == Stop::Observer {
        stops += 1;
    }
    assert_eq!(started, [(at(6_000), 1), (at(9_000), 0)]);
    assert_eq!(stops, 2);
    assert!(net.engine(0).seen.is_empty());
}

#[test]
fn deafness_outlasts_a_start() {
    let mut net = restarting(2);
    let until = at(30_000);
    net.fault(0, Fault::Deaf { until });
    net.fault(0, reboot(1_000));
    run(&mut net, 2_000);
    net.command(0, Listen(26));
    for time in [9_000, 32_000] {
        run(&mut net, time);
        net.command(1, say(&[3; 9], When::Now));
    }
    run(&mut net, 40_000);
    assert_eq!(heard(&net, 0).len(), 1);
}

#[test]
fn a_start_without_an_engine_is_an_error() {
    let mut net = net(1);
    net.fault(0, reboot(1_000));
    let end = net.run_until(at(2_000), |_, _, _| ControlFlow::Continue(()));
    assert!(
        matches!(end, Err(SimError::NoEngine { node: 0 })),
        "{end:?}"
    );
}
