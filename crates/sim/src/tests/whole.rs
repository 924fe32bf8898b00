//! Several nodes, clocks that differ, captures, traces, faults.

use super::*;
use crate::{Capture, CaptureError, Captured, Fault, Side, SimError};
use std::sync::{Arc, Mutex};
use Order::{Listen, Timeout};

/// A frame wanders over four nodes and back, on boards with every imperfection.
fn wander(seed: u64) -> (Network<Puppet>, Vec<String>) {
    let engines = (0..4).map(|_| Puppet::default()).collect();
    let line = world(4, |a, b| a.abs_diff(b) == 1);
    let mut net = Network::new(line, &[boards::telosb()], engines, seed).unwrap();
    let log = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&log);
    net.trace(Some(Box::new(move |r| {
        into.lock().unwrap().push(format!("{r:?}"));
    })));
    for n in 0..4 {
        net.command(n, Listen(26));
        if n > 0 {
            net.engine_mut(n).on_frame = vec![say(&[n as u8; 60], When::AfterRx(us(281)))];
        }
    }
    run(&mut net, 5_000);
    net.command(0, say(&[0; 60], When::Now));
    run(&mut net, 60_000);
    let log = log.lock().unwrap().clone();
    (net, log)
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let ((one, log), (again, log_again), (_, other)) = (wander(3), wander(3), wander(4));
    assert!(log.len() >= 6, "{log:#?}");
    assert_eq!(log, log_again);
    assert_ne!(log, other);
    for n in 0..4 {
        assert_eq!(one.engine(n).seen, again.engine(n).seen);
        assert_eq!(one.energy(n), again.energy(n));
    }
    assert_eq!(one.stats(), again.stats());
}

#[test]
fn hardware_starts_scatter_by_the_boards_jitter() {
    let gaps: Vec<f64> = (0..300)
        .map(|seed| {
            let engines = (0..2).map(|_| Puppet::default()).collect();
            let board = Board {
                sync_jitter: Duration::from_nanos(100),
                ..boards::exact(BoardTiming::IDEAL)
            };
            let mut net = Network::new(world(2, |_, _| true), &[board], engines, seed).unwrap();
            net.command(1, Listen(26));
            net.engine_mut(1).on_frame = vec![say(&[2; 20], When::AfterRx(us(281)))];
            run(&mut net, 1000);
            net.command(0, say(&[1; 20], When::Now));
            run(&mut net, 9000);
            let Seen::Sent { sfd } = answer(&net, 1, 1).1 else {
                panic!("not sent")
            };
            sfd.as_nanos() as f64 - f64::from(2_088_000 + 281_000 + 160_000)
        })
        .collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let sigma = (gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / 300.0).sqrt();
    assert!(
        mean.abs() < 25.0 && (85.0..115.0).contains(&sigma),
        "{mean} {sigma}"
    );
}

#[test]
fn timeouts_and_stamps_are_of_the_nodes_own_clock() {
    let mut net = net_on(boards::telosb(), 2);
    run(&mut net, 1000);
    let wanted = net.local_now(0) + Duration::from_secs(10);
    net.command(0, Timeout(wanted));
    let due = net.when(0, wanted);
    assert_ne!(
        due.since(at(1000)),
        Duration::from_secs(10),
        "its clock drifts"
    );
    run(&mut net, 11_000_000);
    let [(seen, _, Seen::Timeout)] = net.engine(0).seen[..] else {
        panic!()
    };
    assert_eq!(seen, net.local(0, due));
    assert!(seen >= wanted && seen.since(wanted) < Duration::from_nanos(250));

    net.command(1, Listen(26));
    run(&mut net, 11_010_000);
    net.command(0, say(&[1; 9], When::Now));
    run(&mut net, 11_100_000);
    let Seen::Sent { sfd: sent } = answer(&net, 0, 0).1 else {
        panic!("not sent")
    };
    let frames = heard(&net, 1);
    let [(_, Seen::Frame { sfd: got, .. })] = frames[..] else {
        panic!("{frames:?}")
    };
    assert!(
        net.when(0, sent)
            .as_nanos()
            .abs_diff(net.when(1, got).as_nanos())
            <= 500
    );
}

#[test]
fn a_timeout_put_off_again_and_again_fires_once() {
    let mut net = net(1);
    for t in 1..100 {
        net.command(0, Timeout(local(1000 + t)));
        run(&mut net, t);
    }
    run(&mut net, 1098);
    assert_eq!(heard(&net, 0), []);
    run(&mut net, 1500);
    assert_eq!(heard(&net, 0), [(1099, Seen::Timeout)]);
    // And one that is brought forward, long before the one it replaces.
    net.command(0, Timeout(local(5000)));
    net.command(0, Timeout(local(2000)));
    run(&mut net, 9000);
    assert_eq!(heard(&net, 0)[1..], [(2000, Seen::Timeout)]);
    // And one that is put off before time goes on.
    net.command(0, Timeout(local(10_000)));
    net.command(0, Timeout(local(11_000)));
    assert_eq!(run(&mut net, 20_000), Stop::Idle);
    assert_eq!(heard(&net, 0)[2..], [(11_000, Seen::Timeout)]);
}

#[test]
fn dead_and_deaf_nodes() {
    let mut net = net(3);
    for n in 0..3 {
        net.command(n, Listen(26));
    }
    run(&mut net, 1000);
    net.fault(1, Fault::Dead);
    net.fault(2, Fault::Deaf { until: at(20_000) });
    net.command(1, say(&[1], When::Now));
    net.command(0, say(&[2; 9], When::Now));
    run(&mut net, 10_000);
    assert_eq!((heard(&net, 1).len(), heard(&net, 2).len()), (0, 0));
    assert_eq!(net.stats().air_frames, 1);
    net.command(2, say(&[3; 9], When::Now));
    run(&mut net, 19_000);
    assert_eq!(heard(&net, 0).len(), 1, "a deaf node still sends");
    net.fault(1, Fault::Healthy);
    run(&mut net, 21_000);
    net.command(0, say(&[4; 9], When::Now));
    run(&mut net, 30_000);
    assert_eq!((heard(&net, 1).len(), heard(&net, 2).len()), (1, 1));
    assert!(net.energy(1).radio_sleep >= us(18_000));
}

#[test]
fn faults_strike_when_they_were_planned() {
    let mut net = net(2);
    net.command(1, Listen(26));
    net.fault_at(at(5_000), 1, Fault::Dead);
    net.fault_at(at(15_000), 1, Fault::Healthy);
    net.fault_at(at(35_000), 1, Fault::Deaf { until: at(50_000) });
    for time in [3_000, 8_000, 20_000, 40_000, 52_000] {
        run(&mut net, time);
        net.command(0, say(&[4; 9], When::Now));
    }
    run(&mut net, 60_000);
    let frames = |(_, seen): &&(u64, Seen)| matches!(seen, Seen::Frame { .. });
    assert_eq!(heard(&net, 1).iter().filter(frames).count(), 3);
    // What is planned for the past strikes at once.
    net.fault_at(at(0), 1, Fault::Dead);
    run(&mut net, 60_001);
    net.command(0, say(&[4; 9], When::Now));
    run(&mut net, 70_000);
    assert_eq!(heard(&net, 1).iter().filter(frames).count(), 3);
}

#[test]
fn what_came_due_while_dead_comes_afterwards() {
    let mut net = net(1);
    net.command(0, Listen(26));
    net.command(0, say(&[1; 9], When::At(local(2000))));
    net.command(0, Timeout(local(1500)));
    run(&mut net, 100);
    net.fault(0, Fault::Dead);
    run(&mut net, 3000);
    assert!(net.engine(0).seen.is_empty());
    net.fault(0, Fault::Healthy);
    run(&mut net, 4000);
    assert_eq!(answer(&net, 0, 0), (3000, Seen::Done));
    assert_eq!(
        answer(&net, 0, 1),
        (3000, Seen::Refused(Refusal::Superseded))
    );
    assert_eq!(heard(&net, 0), [(3000, Seen::Timeout)]);
}

#[test]
fn what_a_dead_node_is_owed_is_its_own() {
    let mut net = net(3);
    // Nodes 0 and 1 are owed answers, node 2 only a time-out.
    for n in 0..2 {
        net.command(n, Listen(26));
    }
    net.command(2, Timeout(local(1500)));
    for n in 0..3 {
        net.fault(n, Fault::Dead);
    }
    run(&mut net, 3000);
    net.fault(1, Fault::Healthy);
    run(&mut net, 4000);
    assert!(net.engine(0).seen.is_empty(), "node 0 is still dead");
    assert_eq!(answer(&net, 1, 0), (3000, Seen::Done));
    net.fault(0, Fault::Healthy);
    net.fault(2, Fault::Healthy);
    run(&mut net, 6000);
    assert_eq!(answer(&net, 0, 0), (4000, Seen::Done));
    assert_eq!(heard(&net, 2), [(4000, Seen::Timeout)]);
}

#[test]
fn a_deaf_node_that_is_healed_hears_at_once() {
    let mut net = net(2);
    net.command(1, Listen(26));
    run(&mut net, 1000);
    net.fault(1, Fault::Deaf { until: at(50_000) });
    net.command(0, say(&[1; 9], When::Now));
    run(&mut net, 9000);
    assert!(heard(&net, 1).is_empty());
    net.fault(1, Fault::Healthy);
    net.command(0, say(&[2; 9], When::Now));
    run(&mut net, 20_000);
    assert_eq!(heard(&net, 1).len(), 1);
}

#[test]
fn a_jammed_node_hears_on_other_channels_only() {
    let mut net = net(3);
    net.command(1, Listen(26));
    net.command(2, Listen(26));
    run(&mut net, 1000);
    let jam = |c: u8| Fault::Jammed {
        channel: Channel::new(c).unwrap(),
    };
    net.fault(1, jam(26));
    net.fault(2, jam(25));
    net.command(0, say(&[1; 9], When::Now));
    run(&mut net, 9000);
    assert_eq!((heard(&net, 1).len(), heard(&net, 2).len()), (0, 1));
    // Listening there again does not help, healing does.
    net.command(1, Listen(26));
    net.command(0, say(&[2; 9], When::Now));
    run(&mut net, 20_000);
    assert_eq!(heard(&net, 1).len(), 0);
    net.fault(1, Fault::Healthy);
    net.command(0, say(&[3; 9], When::Now));
    run(&mut net, 30_000);
    assert_eq!((heard(&net, 1).len(), heard(&net, 2).len()), (1, 3));
}

#[test]
fn an_observer_that_breaks_misses_nothing() {
    let mut net = net(3);
    net.command(1, Listen(26));
    net.command(2, Listen(26));
    run(&mut net, 1000);
    net.command(0, say(&[1; 7], When::Now));
    let mut seen = Vec::new();
    for _ in 0..2 {
        let stop = net.run_until(at(9000), |_, n, bytes| {
            seen.push((n, bytes));
            ControlFlow::Break(())
        });
        assert_eq!(stop.unwrap(), Stop::Observer);
    }
    assert_eq!(seen, [(1, 7), (2, 7)]);
}

struct Log(Arc<Mutex<Vec<(u64, String)>>>, usize);
impl Capture for Log {
    fn frame(&mut self, frame: &Captured<'_>) -> Result<(), CaptureError> {
        if self.1 == 0 {
            return Err(std::io::Error::from(std::io::ErrorKind::StorageFull).into());
        }
        self.1 -= 1;
        let side = match frame.side {
            Side::Sent { node } => format!("{node} sent {:?}", frame.mpdu),
            Side::Received { node, .. } => format!("{node} received {:?}", frame.mpdu),
        };
        self.0
            .lock()
            .unwrap()
            .push((frame.end.as_nanos() / 1000, side));
        Ok(())
    }
    fn flush(&mut self) -> Result<(), CaptureError> {
        Ok(())
    }
}

#[test]
fn a_capture_holds_each_transmission_then_its_receptions_and_fails_with_a_typed_error() {
    let mut net = net(3);
    let log = Arc::default();
    net.capture(Some(Box::new(Log(Arc::clone(&log), 3))))
        .unwrap();
    net.command(1, Listen(26));
    net.command(2, Listen(26));
    run(&mut net, 1000);
    net.command(0, say(&[1, 2], When::Now));
    run(&mut net, 9000);
    let lines: Vec<String> = log.lock().unwrap().iter().map(|l| l.1.clone()).collect();
    assert_eq!(
        lines,
        ["0 sent [1, 2]", "1 received [1, 2]", "2 received [1, 2]"]
    );
    assert!(log.lock().unwrap().iter().all(|l| l.0 == 1192 + 10 * 32));

    net.command(0, say(&[1, 2], When::Now));
    let failed = net.run_until(at(20_000), |_, _, _| ControlFlow::Continue(()));
    assert!(matches!(failed, Err(SimError::Capture(_))), "{failed:?}");
    // The simulation itself goes on, without it.
    run(&mut net, 30_000);
    assert_eq!(heard(&net, 1).len(), 2);
}

/// Asks for one thing without end.
struct Mad {
    zero_time: bool,
    asks: usize,
}
impl Engine for Mad {
    type Command = ();
    type Event = ();
    fn wants(&self, radio: RadioId) -> Option<Wants> {
        (radio == RadioId(0)).then(|| Wants::of(&[]))
    }
    fn handle_command(&mut self, _now: Instant, _command: ()) {}
    fn handle_radio(&mut self, _at: Instant, _radio: RadioId, _event: RadioEvent<'_>) {
        self.asks = 1;
    }
    fn handle_timeout(&mut self, _at: Instant) {}
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        if self.zero_time {
            self.asks = self.asks.checked_sub(1)?;
        }
        Some(Request::new(OpId(0), RadioOp::Cancel))
    }
    fn poll_timeout(&self) -> Option<Instant> {
        (!self.zero_time).then_some(Instant::ZERO)
    }
    fn poll_event(&mut self) -> Option<()> {
        None
    }
}

#[test]
fn engines_without_end_are_errors() {
    for zero_time in [false, true] {
        let engines = vec![Mad { zero_time, asks: 1 }];
        let mut net = Network::new(world(1, |_, _| true), &[boards::telosb()], engines, 1).unwrap();
        let end = net.run_until(at(1000), |_, _, ()| ControlFlow::Continue(()));
        match end {
            Err(SimError::Livelock { node: 0, .. }) => assert!(!zero_time),
            Err(SimError::StandingStill { .. }) => assert!(zero_time),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn numbers_that_do_not_match_are_refused() {
    let engines = || vec![Puppet::default(), Puppet::default()];
    let board = boards::telosb();
    let three = vec![board; 3];
    assert!(Network::new(world(2, |_, _| true), &three, engines(), 1).is_err());
    assert!(Network::new(world(3, |_, _| true), &three[..1], engines(), 1).is_err());
    assert!(Network::new(world(2, |_, _| true), &three[..2], engines(), 1).is_ok());
}

#[test]
fn right_and_wrong_receptions_are_counted() {
    let weak = Environment::from_gains(2, &CC2420, 1, |_, _, _| Some(Dbm(-96.6)));
    let engines = vec![Puppet::default(), Puppet::default()];
    let board = boards::exact(BoardTiming::IDEAL);
    let mut net = Network::new(Arc::new(weak), &[board], engines, 7).unwrap();
    net.command(1, Listen(26));
    for k in 1..=100 {
        run(&mut net, 10_000 * k);
        net.command(0, say(&[1; 125], When::Now));
    }
    run(&mut net, 2_000_000);
    let seen = heard(&net, 1);
    let right = seen.iter().filter(|s| matches!(s.1, Seen::Frame { .. }));
    let wrong = seen.iter().filter(|s| s.1 == Seen::Corrupt);
    let (right, wrong) = (right.count() as u64, wrong.count() as u64);
    assert!(right > 25 && wrong > 25, "{right} {wrong}");
    let stats = net.stats();
    assert_eq!((stats.receptions, stats.corrupt), (right, wrong));
    assert_eq!(stats.air_frames, 100);
}
