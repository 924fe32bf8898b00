//! Stop at any time, of any node, and what comes after it.

use super::bench::{across, draw, fetch, from_corner, grid, ideal, measure, until_end, GRID, MS};
use crate::mote::Command;
use std::vec::Vec;
use thalweg_units::Duration;

/// Long enough for whoever heard nothing of a stop to notice.
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
