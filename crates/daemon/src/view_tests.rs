use super::*;
use thalweg_host::outcome::Summary;
use thalweg_host::store::{NewTransfer, Store, Work};
use thalweg_host::transfer::session::SessionRequest;

/// Two jobs, rates, an object and a node, as the API has them.
pub(crate) fn examples() -> ([Value; 2], Value, Value, Value) {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let from = thalweg_units::NodeId::new(3).unwrap();
    let summary = Summary {
        protocol: "p3".into(),
        testbed: "a".into(),
        source: from,
        sink: from,
        bytes: 3,
        verified: true,
        sealed: false,
        goodput_kbps: 1.0,
        utilisation: None,
        rounds: 1,
        first_round_reliability: None,
        active_nodes: 2,
        hops: 1,
        paths: 1,
        energy_j: None,
        network_energy_j: None,
        cold: None,
        waited_s: 0.0,
        duration_s: 1.0,
        attempts: 1,
        failure: None,
        seed: 1,
    };
    let new = NewTransfer {
        record: &summary,
        baseline: None,
        report: "{}",
        campaign: None,
        job: None,
        file: None,
    };
    let kept = store.keep(&new, b"abc").unwrap();
    let transfer = store.transfer(kept.transfer).unwrap().unwrap();
    let row = StoredJob {
        id: JobId(1),
        station: "a".into(),
        work: Work::Fetch { from },
        state: JobState::Done,
        priority: 0,
        group: None,
        asked_at: String::new(),
        begun_at: None,
        ended_at: None,
        expected: Some("{}".into()),
        outcome: None,
        transfer: Some(kept.transfer),
        error: None,
    };
    let request = SessionRequest {
        sources: vec![3],
        policy: "fair".into(),
        demand: 1.0,
        demands: Default::default(),
        duration_s: None,
    };
    let session = StoredJob {
        work: Work::Session(request),
        ..row.clone()
    };
    let fares = SourceStatus {
        source: from,
        rate: None,
        packets: 0,
        bytes: 0,
        repaired: 0,
    };
    let value = |row| serde_json::to_value(job(row, &[], None)).unwrap();
    let rates = serde_json::to_value(rates(JobId(1), 2.0, &[fares])).unwrap();
    let object = serde_json::to_value(object(&transfer)).unwrap();
    let node = Node {
        id: 3,
        name: None,
        station: "a".into(),
        is_sink: false,
        place: None,
        delivered_at: None,
        object: None,
    };
    let node = node_now(node, &Health::default(), None);
    let node = serde_json::to_value(node).unwrap();
    ([value(&row), value(&session)], rates, object, node)
}

#[test]
fn times_are_as_the_store_writes_them() {
    assert_eq!(utc(1_700_000_000), "2023-11-14T22:13:20Z");
    assert_eq!(utc(-5), "1970-01-01T00:00:00Z");
    assert_eq!(utc(i64::MAX), "9999-12-31T23:59:59Z");
}
