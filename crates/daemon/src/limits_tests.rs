use super::*;

fn id(node: u16) -> NodeId {
    NodeId::new(node).unwrap()
}

fn fetch(from: u16) -> StoredJob {
    StoredJob {
        id: JobId(i64::from(from)),
        station: "a".to_owned(),
        work: Work::Fetch { from: id(from) },
        state: JobState::Queued,
        priority: 0,
        group: None,
        asked_at: String::new(),
        begun_at: None,
        ended_at: None,
        expected: None,
        outcome: None,
        transfer: None,
        error: None,
    }
}

#[test]
fn nodes_with_a_low_battery_or_a_spent_share_are_left_alone_but_never_the_sink() {
    let level = BatteryLevel::of_millivolts;
    let condition = Condition {
        batteries: [(1, 2_500), (2, 2_590), (3, 2_600)]
            .map(|(n, mv)| (id(n), (level(mv), 0)))
            .into(),
        spent: [(1, 90.0), (3, 39.9), (4, 40.0)]
            .map(|(n, j)| (id(n), j))
            .into(),
    };
    let limits = Limits {
        at_most: None,
        least_battery: Some(level(2_600)),
        energy_j_per_day: Some(40.0),
    };
    let mut eligibility = Eligibility::of(Some(limits), &condition, id(1));
    assert_eq!(eligibility.nodes(), [id(2), id(4)]);
    let said =
        |eligibility: &Eligibility, from| eligibility.why(&fetch(from)).map(|why| why.to_string());
    let low = "waits: node 2 is at 2.59 V, below 2.60 V";
    assert_eq!(said(&eligibility, 2).as_deref(), Some(low));
    let spent = "waits: node 4 has spent 40.0 of 40 J today";
    assert_eq!(said(&eligibility, 4).as_deref(), Some(spent));
    assert_eq!(said(&eligibility, 3), None);
    eligibility.cut_off = [(JobId(3), [id(2), id(4)].into())].into();
    assert!(said(&eligibility, 3)
        .unwrap()
        .ends_with("leave alone: 2, 4"));
    let of_battery = |from| eligibility.is_for_battery(&eligibility.why(&fetch(from)).unwrap());
    assert_eq!([2, 3, 4].map(of_battery), [true, true, false]);
    // Not all of them are left alone any more.
    eligibility.left_alone.remove(&id(4));
    assert_eq!(said(&eligibility, 3), None);
    let blocked = Eligibility::of(None, &condition, id(1));
    assert_eq!(said(&blocked, 3).as_deref(), Some("waits for its window"));
    assert!(Eligibility::of(Some(Limits::default()), &condition, id(1))
        .nodes()
        .is_empty());
}
