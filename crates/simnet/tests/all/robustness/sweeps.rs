//! A sweep of a building of 139 nodes whose clocks drift, beside the published survey of the same building.

use std::ops::ControlFlow::Continue;
use thalweg_host::collector::Patience;
use thalweg_host::job::Progress;
use thalweg_host::link_state::PlanRequest;
use thalweg_host::registry::Pipelined;
use thalweg_host::survey::{Survey, SurveyOutcome};
use thalweg_sim::Fault;
use thalweg_simnet::collect::Remote;
use thalweg_simnet::motes::Motes;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Channel, ChannelSet, Duration, NodeId};
use thalweg_wire::route::PayloadSize;

const SEED: u64 = 7;

fn channels() -> ChannelSet {
    let clean = [15u8, 20, 25, 26];
    clean.iter().map(|n| Channel::new(*n).unwrap()).collect()
}

fn survey(testbed: &str, survey: Survey, dead: Option<usize>) -> SurveyOutcome {
    let site = Site::new(Testbed::load(testbed).unwrap(), SEED);
    let mut motes = Motes::open(&site, SEED).unwrap();
    if let Some(node) = dead {
        motes.network().fault(node, Fault::Dead);
    }
    let sink = site.testbed.sink_index();
    motes.survey(sink, survey, &mut |_| Continue(())).unwrap()
}

#[test]
fn a_sweep_finds_the_links_that_the_published_survey_finds() {
    let [whole, sweep] =
        [Survey::of, Survey::sweep].map(|kind| survey("indriya", kind(channels()), None));
    assert_eq!(sweep.missing, []);
    assert!(sweep.time() < Duration::from_secs(8), "{}", sweep.time());
    let share = sweep.joules.unwrap() / whole.joules.unwrap();
    assert!(share < 0.15, "{share} of the energy");
    let (mut strong, mut found, mut level) = (0, 0, 0.0);
    for channel in channels().iter() {
        for from in 0..139 {
            for (to, known) in whole.links.heard_from(from, channel) {
                let heard = sweep.links.quality(from, to, channel);
                let Some(rssi) = known.rssi else { continue };
                // 3 dB above the floor, which a link may be off by in one of the two.
                if rssi.0 >= -83.0 && known.prr == 1.0 {
                    strong += 1;
                    if let Some(there) = heard.and_then(|heard| heard.rssi) {
                        found += 1;
                        level += (there.0 - rssi.0).abs();
                    }
                }
            }
        }
    }
    let share = f64::from(found) / f64::from(strong);
    assert!(strong > 3_000 && share > 0.98, "{found} of {strong}");
    let level = level / f64::from(found);
    assert!(level < 2.0, "{level} dB off");
}

#[test]
fn a_node_that_is_gone_is_missing_and_everybody_else_is_not() {
    let sweep = survey("building100", Survey::sweep(channels()), Some(40));
    let ids: Vec<u16> = sweep.missing.iter().map(|id| id.get()).collect();
    let testbed = Testbed::load("building100").unwrap();
    assert_eq!(ids, [testbed.nodes[40].id.get()]);
    assert!(sweep.time() < Duration::from_secs(8), "{}", sweep.time());
    let heard = |from| {
        channels()
            .iter()
            .any(|c| sweep.links.heard_from(from, c).next().is_some())
    };
    assert!((0..100).all(|from| heard(from) == (from != 40)));
}

#[test]
fn boards_that_copy_take_longer_slots() {
    let testbed = Testbed::load("line5").unwrap();
    let site = Site::new(testbed.with_board("telosb-contiki").unwrap(), 1);
    let mut motes = Motes::open(&site, 1).unwrap();
    let sink = site.testbed.sink_index();
    let surveyed = motes.survey(sink, Survey::sweep(channels()), &mut |_| Continue(()));
    let surveyed = surveyed.unwrap();
    assert_eq!(surveyed.missing, []);
    assert_eq!(surveyed.links.summary(Channel::LAST).heard_pairs, 8);
}

/// Twenty of 28 listed nodes have no power. Whoever asks for the object of another has it soon.
#[test]
fn a_network_most_of_whose_nodes_are_off_answers_soon() {
    let mut toml = "name = 'shelf'\n[propagation]\nmodel = 'open_plan'\n".to_owned();
    for id in 1..=28 {
        toml += &format!("[[nodes]]\nid = {id}\nx_m = {id}.0\ny_m = 0.0\n");
    }
    let site = Site::new(Testbed::from_toml(&toml, "shelf").unwrap(), SEED);
    let node = |id| NodeId::new(id).unwrap();
    for (from, seconds) in [(Some(node(8)), 15), (None, 40)] {
        let mut motes = Motes::open(&site, SEED).unwrap();
        let off: Vec<NodeId> = (9..=28).map(node).collect();
        for off in 8..28 {
            motes.network().fault(off, Fault::Dead);
        }
        motes.nodes.hear(&[0]);
        let request = PlanRequest {
            from,
            bytes: 1_000,
            protocol: Pipelined::named("thalweg").unwrap(),
            payload: PayloadSize::MAX,
            paths: None,
            hops: None,
        };
        let mut silent = Vec::new();
        let mut watch = |_: &str, progress| {
            if let Progress::Silent { nodes, .. } = progress {
                silent = nodes;
            }
            Continue(())
        };
        let wanted = (node(1), &request, Patience::DEFAULT);
        Remote::survey(&mut motes.nodes, (&site, None), wanted, None, 1, &mut watch).unwrap();
        assert_eq!(silent, off);
        let took = motes.network().now().as_secs_f64();
        assert!(took < f64::from(seconds), "{took} s from {from:?}");
    }
}
