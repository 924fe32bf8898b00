//! Links that change by a known law.

use super::*;
use crate::ageing::Ageing;
use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

const FLOOR: Dbm = Dbm(-95.5);
const NODES: usize = 14;
const HOUR: Duration = Duration::from_secs(3_600);

/// This many surveys, newest first, of links on four channels: each reading is off by a decibel, and pairs change from one
/// survey to the next by `by` decibels around their mean; those of node 0 by three times as much.
fn surveys(count: usize, by: f64) -> Vec<LinkQualities> {
    let mut rng = Pcg64Mcg::seed_from_u64(11);
    let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    let mut all = vec![LinkQualities::new(NODES); count];
    for a in 0..NODES {
        for b in a + 1..NODES {
            let pair = -74.0 + 2.0 * normal();
            for channel in [11, 15, 20, 25].map(|n| Channel::new(n).unwrap()) {
                let mean = pair + 4.0 * normal();
                let by = if a == 0 { 3.0 * by } else { by };
                for links in &mut all {
                    let level = mean + by * normal();
                    for (from, to) in [(a, b), (b, a)] {
                        let rssi = Some(Dbm(level + normal()));
                        (links.record(from, to, channel, 2, 2, rssi)).unwrap();
                    }
                }
            }
        }
    }
    all
}

fn fused(surveys: &[LinkQualities], seen: &[Sighting]) -> FusedLinks {
    let dated = (1..).zip(surveys).map(|(hours, links)| Dated {
        links,
        age: HOUR * hours,
    });
    let dated: Vec<Dated<'_>> = dated.collect();
    FusedLinks::of(dated[0], &dated[1..], seen, FLOOR)
}

#[test]
fn one_survey_is_taken_as_it_is() {
    let all = surveys(1, 3.0);
    let one = fused(&all, &[]);
    let ageing = one.model.ageing;
    let learned = LinkModel::learned(&all[0], FLOOR);
    assert_eq!(one.model, LinkModel { ageing, ..learned });
    let quality = one.links.quality(3, 5, Channel::new(15).unwrap());
    assert_eq!(quality, all[0].quality(3, 5, Channel::new(15).unwrap()));
    assert_eq!(quality.unwrap().unknown, None);
}

#[test]
fn one_sweep_ages_and_nothing_that_tells_of_change_does() {
    let all = surveys(2, 3.0);
    let at = |age| {
        FusedLinks::of(
            Dated {
                links: &all[0],
                age,
            },
            &[],
            &[],
            FLOOR,
        )
        .model
    };
    let hour = at(HOUR);
    assert_ne!(hour.ageing, Ageing::NONE);
    assert_eq!(fused(&all, &[]).model.ageing, Ageing::NONE);
    // Ten beacons in turns: what comes about between a pair's turns is in what its directions differ by.
    let mut turns = LinkQualities::new(NODES);
    for (from, to) in [(0, 1), (1, 0), (1, 2)] {
        let rssi = Some(Dbm(-80.0));
        turns.record(from, to, Channel::LAST, 10, 10, rssi).unwrap();
    }
    let of_turns = |age_s| {
        let age = Duration::from_secs(age_s);
        let links = &turns;
        FusedLinks::of(Dated { links, age }, &[], &[], FLOOR).model
    };
    assert_eq!(of_turns(10).ageing, Ageing::NONE);
    assert_ne!(of_turns(3_600).ageing, Ageing::NONE);
}

#[test]
fn what_links_change_by_is_read_off_two_surveys() {
    for by in [0.0, 2.0, 5.0] {
        let of_two = fused(&surveys(2, by), &[]).model.unknown.0;
        // Two readings, each off by its change and its own error, against the change of the transfer. One pair in seven changes by three
        // times as much.
        let mean = (6.0 + 9.0) / 7.0 * by * by;
        let truth = (1.5 * mean + 0.5f64).sqrt();
        assert!(
            (of_two / truth - 1.0).abs() < 0.25,
            "{by}: {of_two}, {truth}"
        );
    }
}

#[test]
fn pairs_that_change_more_are_trusted_less() {
    let fused = fused(&surveys(3, 2.0), &[]);
    let mean = |from: usize| {
        let heard = fused.links.heard_from(from, Channel::new(15).unwrap());
        let unknown: Vec<f64> = heard.map(|(_, q)| q.unknown.unwrap().0).collect();
        unknown.iter().sum::<f64>() / unknown.len() as f64
    };
    let (restless, calm) = (mean(0), (2..NODES).map(mean).fold(0.0, f64::max));
    assert!(restless > 1.3 * calm, "{restless} {calm}");
}

#[test]
fn what_a_transfer_lost_makes_a_link_weaker_and_what_it_brought_surer() {
    let (all, channel) = (surveys(2, 3.0), Channel::new(20).unwrap());
    let at = |received| {
        let sighting = Sighting {
            from: 2,
            to: 4,
            channel,
            sent: 250,
            received,
            age: Duration::from_secs(60),
        };
        let fused = fused(&all, &[sighting]);
        let quality = fused.links.quality(2, 4, channel).unwrap();
        (quality, fused.model.delivery(&quality))
    };
    let before = fused(&all, &[]).links.quality(2, 4, channel).unwrap();
    let ((whole, _), (degraded, delivery)) = (at(250), at(10));
    assert!(
        whole.unknown.unwrap().0 < before.unknown.unwrap().0,
        "{whole:?} {before:?}"
    );
    assert!((whole.rssi.unwrap().0 - before.rssi.unwrap().0).abs() < 1.0);
    assert!(
        degraded.rssi.unwrap().0 < before.rssi.unwrap().0 - 4.0,
        "{degraded:?} {before:?}"
    );
    assert!(delivery < 0.9, "{delivery}");
}

#[test]
fn a_link_that_fell_silent_counts_as_weak() {
    let mut all = surveys(2, 1.0);
    let channel = Channel::new(25).unwrap();
    let heard = all[0].quality(1, 2, channel).unwrap();
    all[0] = all[0].filtered(|from, to, on| (from, to, on) != (1, 2, channel));
    let now = fused(&all, &[]).links.quality(1, 2, channel).unwrap();
    assert!(
        now.rssi.unwrap().0 < heard.rssi.unwrap().0 - 5.0,
        "{now:?} {heard:?}"
    );
    assert!(now.prr < 0.6);
}
