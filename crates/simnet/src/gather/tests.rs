use super::*;
use std::collections::BTreeMap;

fn request(from: &[u16], policy: &str, bytes: u32, scenario: &str) -> Collection {
    Collection {
        request: SessionRequest {
            sources: from.to_vec(),
            policy: policy.to_owned(),
            demand: 1.0,
            demands: BTreeMap::new(),
            duration_s: None,
        },
        rates: Config::STEADY,
        to: None,
        payload: 64,
        object: Object::Random { bytes },
        scenario: Scenario::parse(scenario).unwrap(),
    }
}

fn gathered(testbed: &str, request: &Collection) -> Report {
    let site = Site::new(Testbed::load(testbed).unwrap(), 3);
    let report = request.gather(&site, None, &mut |_| ControlFlow::Continue(()));
    let report = report.unwrap();
    for node in &report.nodes {
        let source = node.outcome.summary.source;
        let has = request.object.of(3, source);
        assert!(node.object.as_deref().is_none_or(|object| *object == *has));
        assert_eq!(node.object.is_some(), node.outcome.summary.verified);
    }
    report
}

#[test]
fn objects_of_three_nodes_and_of_all_arrive_whole() {
    let three = gathered("line5", &request(&[3, 4, 5], "fair", 3000, ""));
    assert_eq!((three.whole, three.objects, three.bytes), (3, 3, 9000));
    let flow = &three.nodes[2].outcome;
    assert_eq!((flow.details.packets, flow.summary.hops), (47, 4));
    assert!(flow.summary.goodput_kbps > 0.0 && flow.details.rate > 0.0);
    let all = gathered("line5", &request(&[2, 3, 4, 5], "demand-limited", 3000, ""));
    assert_eq!((all.whole, all.objects), (4, 4));
    // The same again.
    let again = gathered("line5", &request(&[2, 3, 4, 5], "demand-limited", 3000, ""));
    let json = |report: &Report| serde_json::to_string(report).unwrap();
    assert_eq!(json(&all), json(&again));
}

#[test]
fn a_source_that_reboots_or_joins_late_arrives_whole() {
    let scenario = r#"
        [[incident]]
        at = "60 s"
        what = "dies"
        node = 5
        [[incident]]
        at = "120 s"
        what = "starts"
        node = 5
        [[incident]]
        at = "200 s"
        what = "starts"
        node = 4
    "#;
    // Node 5 has no other way than over node 4.
    let report = gathered("line5", &request(&[2, 4, 5], "fair", 9000, scenario));
    assert_eq!(report.whole, 3, "{:?}", report.nodes);
    let opened = |k: usize| report.nodes[k].outcome.details.opened_s;
    assert!(opened(1) >= Some(200.0), "{:?}", opened(1));
}

#[test]
fn a_source_that_dies_is_reported_and_all_others_are_whole() {
    let scenario = r#"incident = [{ at = "60 s", what = "dies", node = 5 }]"#;
    let report = gathered("line5", &request(&[2, 3, 5], "fair", 9000, scenario));
    assert_eq!((report.whole, report.objects), (2, 3));
    let summary = &report.nodes[2].outcome.summary;
    let failure = summary.failure.as_deref().unwrap_or_default();
    let told = format!("{} of 9000 bytes came in, and no more", summary.bytes);
    assert!(summary.bytes > 0 && failure == told, "{failure}");
}

#[test]
fn flows_get_what_their_weights_say_while_both_go_on() {
    let mut request = request(&[2, 3], "weighted:2=2", 1_000_000, "");
    request.request.demand = 20.0;
    let site = Site::new(Testbed::load("line5").unwrap(), 3);
    let mut until = |progress| match progress {
        Progress::Packets(p) if p.at_s > 300.0 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let report = request.gather(&site, None, &mut until).unwrap();
    let bytes = |k: usize| report.nodes[k].outcome.summary.bytes as f64;
    let share = bytes(0) / bytes(1);
    assert!((share - 2.0).abs() < 0.3, "{share} of {}", bytes(1));
    assert!(report.whole == 0 && bytes(1) > 10_000.0);
}

#[test]
fn an_observer_may_break_off() {
    let site = Site::new(Testbed::load("line5").unwrap(), 3);
    let mut seconds = 0;
    let report = request(&[2], "fair", 60_000, "").gather(&site, None, &mut |progress| {
        if let Progress::Packets(p) = progress {
            assert!(p.of == 60_000 && p.at_s <= 40.0);
            seconds += 1;
        }
        match seconds < 40 {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    let report = report.unwrap();
    assert!(report.whole == 0 && report.bytes > 0);
}

#[test]
fn what_cannot_be_asked_is_told() {
    let testbed = Testbed::load("line5").unwrap();
    let says = |request: Collection, part: &str| {
        let error = request.check(&testbed).unwrap_err();
        assert!(
            error.is_input() && error.to_string().contains(part),
            "{error}"
        );
    };
    says(request(&[9], "fair", 10, ""), "has no node 9");
    says(request(&[1], "fair", 10, ""), "both source and sink");
    says(request(&[2, 2], "fair", 10, ""), "named twice");
    says(request(&[2], "fairest", 10, ""), "demand-limited");
    let long = Collection {
        payload: 81,
        ..request(&[2], "fair", 10, "")
    };
    says(long, "1 to 80");
    let nobody = r#"incident = [{ at = "1 s", what = "dies", node = 77 }]"#;
    says(request(&[2], "fair", 10, nobody), "has no node 77");
    for (text, part) in [
        ("[[incidents]]", "incidents"),
        (
            r#"incident = [{ at = "soon", what = "dies", node = 2 }]"#,
            "500 s",
        ),
        (
            r#"incident = [{ at = "1 s", what = "sleeps", node = 2 }]"#,
            "dies",
        ),
    ] {
        let error = Scenario::parse(text).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
