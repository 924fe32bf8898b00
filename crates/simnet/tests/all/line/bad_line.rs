//! A line that drops, flips, delays and splits bytes both ways.

use super::bench::{assert_whole, collect, line, setup, site, Bad, Done, Faults, Place, Station};
use std::sync::atomic::Ordering;
use std::sync::Arc;

const BYTES: u32 = 20_000;

#[test]
fn a_bad_line_changes_no_byte() {
    let site = site("pair");
    let source = site.testbed.nodes.iter().map(|node| node.id);
    let source = source.filter(|id| *id != site.testbed.sink);
    let sources: Vec<u16> = source.map(|id| id.get()).collect();
    for seed in 1..=3 {
        let station = Station::start(&site, setup(BYTES));
        let done = Arc::new(Done::default());
        let bad = Bad {
            place: Place::of(&station),
            faults: Faults {
                dropped: 10,
                flipped: 10,
                delayed: 10,
            },
            seed,
            done: Arc::clone(&done),
        };
        let mut field = line(bad).unwrap();
        let reports = collect(&mut field, &site, (&sources, BYTES), |_| {});
        let reports = reports.unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        for report in &reports {
            assert_whole(report, BYTES);
        }
        for of in [&done.dropped, &done.flipped, &done.delayed] {
            assert!(of.load(Ordering::Relaxed) > 0, "seed {seed}: {done:?}");
        }
    }
}
