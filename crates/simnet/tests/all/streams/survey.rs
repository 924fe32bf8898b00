//! Surveys of both bands over the air, and what plans come of them.

use super::*;
use thalweg_planner::streams::{Radio, Radios};
use thalweg_simnet::collect::Object;
use thalweg_simnet::streams::{DualLinks, Surveyed};
use thalweg_units::{Channel, NodeId, Tuning};

#[test]
fn both_bands_are_measured_over_the_air() {
    let ground = row(1);
    let mut told = Vec::new();
    let mut observer = |band: &str, _| {
        if told.last().map(String::as_str) != Some(band) {
            told.push(band.to_owned());
        }
        Continue(())
    };
    let (links, cost) =
        DualLinks::measure(&ground.site, Radios::Alternating, 0, &mut observer).unwrap();
    assert_eq!(told, ["2.4 GHz", "900 MHz"]);
    let at_900 = cost.mhz900.clone().unwrap();
    assert!(cost.ghz2_4.missing.is_empty() && at_900.missing.is_empty());
    // Turns of ten beacons on each channel: a network of seven nodes takes some eleven seconds a band.
    assert!((15.0..60.0).contains(&cost.seconds()), "{cost:?}");
    // What was measured is what is there, to a few decibels.
    let on = Tuning::Ghz2_4(Channel::FIRST);
    let there = ground.site.environment.mean_rssi(
        thalweg_medium::EarId(1),
        thalweg_medium::EarId(0),
        Channel::FIRST,
    );
    let there = there.unwrap().0 + ground.site.board.tx_power.0;
    assert!((links.level(1, 0, on).unwrap() - there).abs() < 3.0);
    assert!(links.reception(1, 0, on) > 0.95);
    let plan = ground.plan(&ground.request(6, 0, None), &[]).unwrap();
    assert!(plan.links.windows(2).all(|w| !w[0].same_band(w[1])));
    let got = go(&ground, &plan, 50, &terms(FULL), 1);
    assert!(got.verified, "{got:?}");
}

#[test]
fn a_stream_whose_relay_is_gone_goes_over_others() {
    let site = Site::with_all_radios(Testbed::load("office12").unwrap(), 1).unwrap();
    let fetch = |site: Site| {
        let network = Surveyed::open(site, None, (FULL, 100), &mut |_, _| Continue(()));
        let (object, from) = (Object::Random { bytes: 2_000 }, NodeId::new(9).ok());
        let mut nobody = Onlookers::default();
        let told = &mut |_| Continue(());
        let fetched = network.unwrap().fetch(from, &object, told, &mut nobody);
        fetched.unwrap().outcome
    };
    let calm = fetch(site.clone());
    assert_eq!((calm.summary.verified, calm.summary.attempts), (true, 1));
    let [_, gone, ..] = calm.details.path[..] else {
        panic!("{calm:?}")
    };
    let gone = NodeId::new(gone).unwrap();
    let others = site.testbed.nodes.iter().map(|n| n.id);
    let cut = others.filter(|to| *to != gone).map(|to| Loss {
        from: gone,
        to,
        share: 0.99,
    });
    let cut: Vec<Loss> = cut.collect();
    // So many symbols are hit that not even short frames get through.
    let site = site.clone().with_losses(&cut, 5).unwrap();
    let got = fetch(site);
    assert!(got.summary.verified && got.summary.attempts == 2, "{got:?}");
    assert!(!got.details.path.contains(&gone.get()), "{got:?}");
    // What failed took its time: a sink calls for a while before it gives up.
    assert!(
        got.summary.duration_s > got.details.stream.seconds + 1.0,
        "{got:?}"
    );
}
