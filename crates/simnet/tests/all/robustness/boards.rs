//! Networks whose software does one thing at a time: survey, wake-up and transfers with what copies cost.

use std::ops::ControlFlow::Continue;
use thalweg_host::collector::{Patience, Report};
use thalweg_host::link_state::PlanRequest;
use thalweg_host::registry::Pipelined;
use thalweg_simnet::collect::{Fetched, Object, Surveyed};
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::NodeId;
use thalweg_wire::route::PayloadSize;

fn contiki(testbed: &str) -> Surveyed {
    let testbed = Testbed::load(testbed).unwrap();
    let site = Site::new(testbed.with_board("telosb-contiki").unwrap(), 1);
    Surveyed::open(
        site,
        (None, Pipelined::P3),
        None,
        Patience::DEFAULT,
        &mut |_, _| Continue(()),
    )
    .unwrap()
}

fn fetch(collector: &Surveyed, from: u16, protocol: Pipelined) -> Report {
    let object = Object::Random { bytes: 30_000 };
    let ask = PlanRequest {
        from: Some(NodeId::new(from).unwrap()),
        bytes: 30_000,
        protocol,
        payload: PayloadSize::MAX,
        paths: None,
        hops: None,
    };
    let mut observer = |_: &str, _| Continue(());
    let fetched = Fetched {
        request: &ask,
        object: &object,
        plan: None,
        patience: Patience::DEFAULT,
    };
    collector.fetch(fetched, None, None, &mut observer).unwrap()
}

#[test]
fn a_network_of_copying_nodes_knows_its_links_and_transfers_at_its_boards_rates() {
    let collector = contiki("line5");
    // Every beacon was written in time and read before its channel was left.
    assert!(collector.cost().missing.is_empty());
    assert_eq!(collector.cost().links, 8);
    let [pip, held] = [Pipelined::PIP, Pipelined::named("pip-cit").unwrap()].map(|protocol| {
        let report = fetch(&collector, 5, protocol);
        let outcome = report.outcome.summary;
        assert!(outcome.verified, "{outcome:?}");
        assert_eq!((outcome.hops, outcome.rounds), (4, 1), "{outcome:?}");
        assert_eq!(outcome.first_round_reliability, Some(1.0), "{outcome:?}");
        let expected = report.predicted.goodput_kbps;
        let off = (outcome.goodput_kbps / expected - 1.0).abs();
        // Four links tell no survey's spread: the prediction takes it for that of any site.
        assert!(off < 0.15, "{outcome:?} {expected}");
        outcome.goodput_kbps
    });
    assert!((56.0..63.0).contains(&pip), "{pip}");
    assert!(held > 1.6 * pip, "{pip} {held}");
}

#[test]
fn p3_finds_and_wakes_its_relays_on_copying_nodes_twice() {
    let collector = contiki("ring12");
    let report = fetch(&collector, 9, Pipelined::P3);
    assert!(report.outcome.summary.verified, "{:?}", report.outcome);
    assert!(report.outcome.summary.paths > 1, "{:?}", report.outcome);
    // The second wake-up finds the sleepers of the first transfer.
    let baseline = report.baseline.unwrap().summary;
    assert!(baseline.verified, "{baseline:?}");
    assert!(report.outcome.summary.goodput_kbps > baseline.goodput_kbps);
}

#[test]
fn every_board_with_such_a_radio_fetches_as_its_plan_foretells() {
    // Four links, as good on every board.
    let mut texts = String::from("src,dst,channel,prr\n");
    for (channel, near) in [15, 20, 25, 26]
        .into_iter()
        .flat_map(|c| [1, 2].map(|n| (c, n)))
    {
        let far = near + 1;
        texts.push_str(&format!(
            "{near},{far},{channel},1\n{far},{near},{channel},1\n"
        ));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("three.csv");
    std::fs::write(&path, texts).unwrap();
    for board in ["telosb", "nrf52840", "cc2538", "efr32mg", "opal"] {
        let testbed = Testbed::load(&path).unwrap().with_board(board).unwrap();
        let mut quiet = |_: &str, _| Continue(());
        let ends = (Some(NodeId::new(1).unwrap()), Pipelined::PIP);
        let surveyed = Surveyed::open(
            Site::new(testbed, 1),
            ends,
            None,
            Patience::DEFAULT,
            &mut quiet,
        )
        .unwrap();
        let report = fetch(&surveyed, 3, Pipelined::PIP);
        let outcome = &report.outcome.summary;
        assert!(outcome.verified, "{board}: {outcome:?}");
        let off = outcome.goodput_kbps / report.predicted.goodput_kbps - 1.0;
        assert!(off.abs() < 0.1, "{board}: {off}");
        let expected_j = report.predicted.energy_j.unwrap();
        let off = outcome.energy_j.unwrap() / expected_j - 1.0;
        assert!(off.abs() < 0.25, "{board}: {off}");
    }
    let mica2 = Testbed::load("line5").unwrap().with_board("mica2").unwrap();
    let mut quiet = |_: &str, _| Continue(());
    let refused = Surveyed::open(
        Site::new(mica2, 1),
        (None, Pipelined::P3),
        None,
        Patience::DEFAULT,
        &mut quiet,
    );
    let why = refused.err().unwrap().to_string();
    assert!(why.contains("its CC1000 has other frames"), "{why}");
}
