//! Stop at any time, of any node, and what comes after it.

use super::bench::{
    across, draw, fetch, from_corner, grid, ideal, measure, until_end, Watched, GRID, MS,
};
use crate::mote::Command;
use crate::pipeline;
use std::vec::Vec;
use thalweg_engine::{drain, Engine, RadioEvent, RadioId, RadioOp, Request};
use thalweg_units::{Dbm, Duration, Instant};

/// Long enough for nodes that missed a stop to notice.
const PATIENCE: Duration = Duration::from_millis(7_500);

#[test]
fn stop_at_any_time_of_a_transfer() {
    for case in 0..150u64 {
        let mut net = grid(ideal());
        let who = (draw(&[case, 1]) % GRID as u64) as usize;
        let when = Duration::from_micros(draw(&[case, 2]) % 260_000);
        net.command(4, Command::Fetch(across(1)));
        net.run_for(when);
        net.command(who, Command::Stop);
        assert!(net.engine(who).mote.is_idle());
        net.run_for(PATIENCE);
        fetch(&mut net, across(2)).unwrap_or_else(|| panic!("{who} stopped after {when}"));
        fetch(&mut net, from_corner(3)).unwrap_or_else(|| panic!("{who} stopped after {when}"));
    }
}

#[test]
fn stop_at_any_time_of_a_measurement() {
    for case in 0..60u64 {
        let mut net = grid(ideal());
        let who = (draw(&[case, 1]) % GRID as u64) as usize;
        let when = Duration::from_micros(draw(&[case, 2]) % 1_200_000);
        net.command(4, measure(GRID));
        net.run_for(when);
        net.command(who, Command::Stop);
        assert!(net.engine(who).mote.is_idle());
        if who == 4 {
            net.run_for(MS(300));
        } else {
            until_end(&mut net, 4, Duration::from_secs(5));
        }
        fetch(&mut net, across(2)).unwrap_or_else(|| panic!("{who} stopped after {when}"));
    }
}

#[test]
fn everyone_stops_and_starts_again() {
    let mut net = grid(ideal());
    for round in 0..40u64 {
        net.command(4, Command::Fetch(across(round as u16)));
        net.run_for(Duration::from_micros(draw(&[round]) % 200_000));
        let order: Vec<usize> = (0..GRID).map(|n| (n * 5 + round as usize) % GRID).collect();
        for n in order {
            net.command(n, Command::Stop);
        }
        net.run_for(MS(120));
    }
    net.run_for(MS(600));
    fetch(&mut net, across(77)).unwrap();
}

#[test]
fn what_a_flood_left_pending_is_taken_back_before_the_source_begins() {
    let mut net = grid(ideal());
    net.command(4, Command::Fetch(across(1)));
    net.run_for(MS(30));
    let flood = net.sent()[0].mpdu.clone();
    let mut source = Watched::new(7);
    let mut asked = Vec::new();
    let mut step = |source: &mut Watched| {
        asked.clear();
        let due = {
            let port = &mut (|r: Request<'_>| asked.push((r.id, Kind::of(&r.op))), |_| ());
            drain(source, port).unwrap()
        };
        (due, asked.clone())
    };
    step(&mut source);
    let (end, sfd) = (Instant::ZERO + MS(105), Instant::ZERO + MS(101));
    let (rssi, lqi, mpdu) = (Dbm(-60.0), 107, &flood[..]);
    source.handle_radio(
        end,
        RadioId(0),
        RadioEvent::Frame {
            mpdu,
            sfd,
            end,
            rssi,
            lqi,
        },
    );
    let (due, ops) = step(&mut source);
    assert_eq!(
        ops.iter().map(|(_, kind)| *kind).collect::<Vec<_>>(),
        [Kind::Send]
    );
    // The route is read when its flood goes on.
    assert_eq!(due, Some(end));
    source.handle_timeout(end);
    let (due, ops) = step(&mut source);
    assert!(ops.is_empty(), "{ops:?}");
    // The radio never answers; the flood is given up and the transfer begins.
    source.handle_timeout(due.unwrap());
    let (_, ops) = step(&mut source);
    let kinds: Vec<Kind> = ops.iter().map(|(_, kind)| *kind).collect();
    assert_eq!(kinds, [Kind::Cancel, Kind::Listen, Kind::Send]);
    assert!(pipeline::OPS.contains(&ops[2].0 .0));
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Send,
    Cancel,
    Listen,
    Other,
}

impl Kind {
    fn of(op: &RadioOp<'_>) -> Self {
        match op {
            RadioOp::Stream { .. } => Self::Send,
            RadioOp::Cancel => Self::Cancel,
            RadioOp::Listen { .. } => Self::Listen,
            _ => Self::Other,
        }
    }
}
