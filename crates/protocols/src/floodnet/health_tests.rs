//! What reports of a sweep tell of how nodes are: batteries, restarts, power that came.

use super::sweep_tests::{floods, numbered, order, reporting, MS};
use super::*;
use crate::glossy::test_support::{ideal, LINE, MESH};
use crate::sweep::Built;
use std::vec::Vec;
use thalweg_units::{BatteryLevel, Cause, Restarts};
use thalweg_wire::levels::Levels;
use thalweg_wire::sweep::Reports;

#[test]
fn how_nodes_are_is_told_with_the_reports_by_those_that_have_something_to_tell() {
    for reports in [Reports::Flooded, Reports::Inwards] {
        let ids: Vec<u16> = (0..12).collect();
        let mut net = numbered(12, ideal(LINE));
        let level = |n: usize| BatteryLevel::of_millivolts(2_400 + 10 * n as u32);
        let restarts = Restarts::new(Cause::Panic, 2).unwrap();
        for n in (0..12).filter(|n| n % 3 != 1) {
            net.engine_mut(n).node.set_battery(level(n));
            net.engine_mut(n).node.set_restarts(restarts);
        }
        net.command(0, reporting(&ids, 1, reports));
        net.run_for(Duration::from_secs(20));
        let (mut collected, mut restarted, mut links) = (Vec::new(), 0, 0);
        for (_, _, event) in net.take_events() {
            match event {
                Event::Battery { node, level } => collected.push((usize::from(node.get()), level)),
                Event::Restarted { restarts: told, .. } => restarted += u32::from(told == restarts),
                Event::Link(_) => links += 1,
                _ => {}
            }
        }
        collected.sort_unstable();
        let all = (0..12).filter(|n| n % 3 != 1).map(|n| (n, level(n)));
        assert_eq!(collected, all.collect::<Vec<_>>());
        assert_eq!((links, restarted), (2 * 11 * 4, 8));
    }
}

#[test]
fn that_power_came_is_told_in_one_survey() {
    let ids: Vec<u16> = (0..6).collect();
    let mut net = numbered(6, ideal(LINE));
    net.engine_mut(4).node.set_restarts(Restarts::POWER_ON);
    for told in [1, 0] {
        net.command(0, reporting(&ids, 1, Reports::Flooded));
        net.run_for(Duration::from_secs(20));
        let power_came = net.take_events().into_iter().filter(|(_, _, event)| {
            matches!(event, Event::Restarted { node, restarts }
                if node.get() == 4 && *restarts == Restarts::POWER_ON)
        });
        assert_eq!(power_came.count(), told);
    }
}

#[test]
fn a_report_is_built_before_its_slot_is_due_and_once_more_for_a_battery() {
    let ids: Vec<u16> = (0..12).collect();
    let mut net = numbered(12, ideal(MESH));
    net.command(0, order(&ids, 1));
    let is_measured = |(_, _, event): &(_, _, Event)| matches!(event, Event::Measured { .. });
    while !net.take_events().iter().any(is_measured) {
        net.run_for(MS(1));
    }
    assert_eq!(floods(&net, Kind::Levels), 0);
    for n in 1..12 {
        let node = &mut net.engine_mut(n).node;
        let sweep = node.measuring.sweep().unwrap();
        assert_eq!(sweep.built, Built::With(Health::UNTOLD), "node {n}");
        assert_eq!(node.levels(), Some(node.beacon_frame));
        let level = BatteryLevel::of_millivolts(2_500);
        node.set_battery(level);
        let told = Levels::parse(&mut Reader::new(&node.levels().unwrap())).unwrap();
        assert_eq!(told.battery, Some(level));
    }
}
