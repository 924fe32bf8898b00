//! Tables with known spreads and losses.

use super::*;
use crate::bisect;
use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

const FLOOR: Dbm = Dbm(-95.5);

/// A table whose two directions differ by `between` decibels (rms, over and above nodes' offsets), and whose
/// frames spread by `around` decibels.
fn table(between: f64, around: f64) -> LinkQualities {
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    let nodes = 30;
    let mut links = LinkQualities::new(nodes);
    let offsets: Vec<f64> = (0..nodes).map(|_| 2.0 * normal()).collect();
    let truth = LinkModel {
        packet: Db(around),
        unknown: Db(0.0),
        floor: FLOOR,
        ..LinkModel::UNKNOWN
    };
    for a in 0..nodes {
        for b in a + 1..nodes {
            let level = -90.0 + 4.0 * normal();
            for (from, to) in [(a, b), (b, a)] {
                let level = level + offsets[from] + between * normal();
                let p = truth.delivery_at(Db(level - FLOOR.0));
                let received = (0..20).filter(|_| normal() < inverse(p)).count() as u32;
                // As a register has it: with the noise.
                let rssi =
                    (Dbm(level).milliwatts().0 + truth.register_noise.milliwatts().0).log10();
                let rssi = (received > 0).then_some(Dbm(10.0 * rssi));
                (links.record(from, to, Channel::LAST, received, 20, rssi)).unwrap();
            }
        }
    }
    links
}

/// The standard normal's quantile.
fn inverse(p: f64) -> f64 {
    let below = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2) < p;
    bisect::last(-6.0, 6.0, below)
}

#[test]
fn spreads_are_read_off_the_survey() {
    for (between, around) in [(0.5, 1.0), (2.0, 1.0), (1.0, 3.0)] {
        let model = LinkModel::learned(&table(between, around), FLOOR);
        assert!(
            (model.unknown.0 - between).abs() < 0.35,
            "{between}: {:?}",
            model.unknown
        );
        assert!(
            (model.packet.0 - around).abs() < 0.8,
            "{around}: {:?}",
            model.packet
        );
    }
}

#[test]
fn what_strong_links_lose_is_the_outage() {
    let mut links = LinkQualities::new(30);
    for (from, to) in (0..900)
        .map(|pair| (pair / 30, pair % 30))
        .filter(|(a, b)| a != b)
    {
        // Those that are too loud to be disturbed tell nothing.
        let (received, level) = match to {
            0..15 => (10, -60.0),
            _ => (9 + (from + to) as u32 % 2, -75.0),
        };
        (links.record(from, to, Channel::LAST, received, 10, Some(Dbm(level)))).unwrap();
    }
    let outage = LinkModel::learned(&links, FLOOR).outage;
    assert!((outage - 0.05).abs() < 0.01, "{outage}");
}

#[test]
fn a_link_that_lost_one_of_two_is_as_strong_as_one_that_did_not() {
    let mut links = LinkQualities::new(30);
    let pairs = (0..900).map(|pair| (pair / 30, pair % 30));
    for (from, to) in pairs.filter(|(a, b)| a != b) {
        let received = 1 + u32::from((from + to) % 10 > 0);
        // Half a decibel above what counts as strong.
        let rssi = Some(Dbm(FLOOR.0 + STRONG_DB + 1.1));
        (links.record(from, to, Channel::LAST, received, 2, rssi)).unwrap();
    }
    let lost = LinkModel::learned(&links, FLOOR).outage;
    assert!(
        (lost / protocol_constants::of_long_frames(0.05) - 1.0).abs() < 0.1,
        "{lost}"
    );
}

/// A site whose floor is some decibels above its radios': half of the frames are lost at a level that a data sheet calls good.
/// Weak links are taken to be weaker than these are, so the floor is found up to two decibels too low.
#[test]
fn a_higher_floor_is_read_off_what_is_lost_at_each_level() {
    let links = table(1.0, 1.0);
    for (above, found) in [(0.0, 0.0..=0.0), (1.0, 0.0..=0.0), (6.0, 4.0..=6.0)] {
        let floor = Dbm(FLOOR.0 - above);
        let higher = LinkModel::learned(&links, floor).floor - floor;
        assert!(found.contains(&higher.0), "{above}: {higher:?}");
    }
}

#[test]
fn too_few_links_tell_nothing() {
    let mut links = LinkQualities::new(3);
    links
        .record(0, 1, Channel::LAST, 10, 10, Some(Dbm(-70.0)))
        .unwrap();
    let model = LinkModel::learned(&links, Dbm(-101.5));
    assert_eq!(model.packet, LinkModel::UNKNOWN.packet);
    assert_eq!(model.unknown, LinkModel::UNKNOWN.unknown);
    assert_eq!(model.floor, Dbm(-101.5));
}
