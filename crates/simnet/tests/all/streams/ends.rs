//! Streams that go wrong end, at every node, in a state that says why.

use super::*;
use thalweg_protocols::fastforward::Config;
use thalweg_sim::Fault;
use thalweg_units::Duration;

#[test]
fn a_relay_that_dies_ends_the_stream_on_both_sides() {
    let ground = row(1);
    let plan = path(&ground, 5);
    let died = Terms {
        death: Some((plan.nodes[3], Duration::from_millis(2000), Fault::Dead)),
        ..terms(FULL)
    };
    let got = go(&ground, &plan, 1000, &died, 1);
    assert!(got.received > 50 && got.received < 500, "{got:?}");
    assert_eq!(got.end, "silent");
    // The node before the dead one finds out, then the one before that; the source names its next hop.
    let next = ground.ids(&plan.nodes)[1];
    assert_eq!(
        got.source_end.as_deref(),
        Some(&*format!("node {next} does not answer"))
    );
    assert_eq!(got.repeated, 0);
}

#[test]
fn a_path_that_cannot_be_called_is_told_of_at_the_sink() {
    let ground = row(1);
    let plan = path(&ground, 3);
    let ids = ground.ids(&plan.nodes);
    // Nothing of the sink's call reaches its neighbour: short frames need a high hazard.
    let deaf = Loss {
        from: ids[3],
        to: ids[2],
        share: 0.99,
    };
    let ground = ground.with_losses(&[deaf], 20).unwrap();
    let got = go(&ground, &plan, 10, &terms(FULL), 1);
    assert_eq!((got.received, got.seconds), (0, 0.0));
    assert_eq!(got.end, format!("node {} does not answer", ids[2]));
}

#[test]
fn a_queue_that_stays_full_is_given_up() {
    let ground = row(1);
    let plan = path(&ground, 2);
    let ids = ground.ids(&plan.nodes);
    let terms = Terms {
        stream: stream::StreamTerms {
            config: Config {
                queue: 2,
                silence: Duration::from_millis(800),
                ..Config::default()
            },
            ..stream::StreamTerms::default()
        },
        // The relay's next hop is gone: its queue never empties.
        death: Some((plan.nodes[2], Duration::from_millis(1000), Fault::Dead)),
        ..terms(FULL)
    };
    let got = go(&ground, &plan, 200, &terms, 1);
    assert!(got.links[1].withheld > 0, "{got:?}");
    assert_eq!(
        got.source_end.as_deref(),
        Some(&*format!("node {} does not answer", ids[1]))
    );
    assert!(got.links[1].unacknowledged >= 3);
}

#[test]
fn lost_acknowledgements_cost_time_and_nothing_else() {
    let ground = row(3);
    let plan = path(&ground, 2);
    let ids = ground.ids(&plan.nodes);
    let lost = Loss {
        from: ids[1],
        to: ids[0],
        share: 0.4,
    };
    let ground = ground.with_losses(&[lost], 5).unwrap();
    let got = go(&ground, &plan, 100, &terms(FULL), 1);
    assert_eq!((got.received, got.repeated, got.verified), (100, 0, true));
    assert!(got.links[0].retransmissions > 30 && got.links[1].duplicates > 20);
    assert_eq!(
        (got.end.as_str(), got.source_end.as_deref()),
        ("complete", Some("complete"))
    );
}

#[test]
fn bad_paths_and_losses_are_one_line() {
    let ground = row(1);
    let far = ground.request(6, 0, Some(vec![6, 0]));
    assert!(ground.plan(&far, &[]).is_ok());
    assert!(ground
        .plan(&ground.request(6, 0, Some(vec![6, 6, 0])), &[])
        .is_err());
    for wrong in ["3", "3-4", "3-4:2", "a-4:0.2", "3-3:0.1", "3-4:nan"] {
        let line = wrong.parse::<Loss>().unwrap_err();
        assert!(line.contains(wrong) && !line.contains('\n'), "{line}");
    }
    let stranger: Loss = "3-99:0.2".parse().unwrap();
    let error = ground.with_losses(&[stranger], 116).unwrap_err();
    assert!(error.to_string().contains("no node 99"));
    // Errors name nodes as the testbed does, not by their places.
    let mut alone = row(1).request(6, 0, None);
    alone.ghz2_4.truncate(1);
    assert!(row(1).plan(&alone, &[]).is_err());
    let far = ROW.replace("x_m = 48.0", "x_m = 4800.0");
    let far = ground_of(Testbed::from_toml(&far, "far").unwrap(), 1);
    let error = far.plan(&far.request(6, 0, None), &[]).unwrap_err();
    assert!(
        error.to_string().ends_with("from node 7 to node 1"),
        "{error}"
    );
    let one_radio = Site::new(Testbed::load("line5").unwrap(), 1);
    assert!(Ground::new(one_radio).unwrap_err().is_input());
}
