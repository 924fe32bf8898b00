use super::*;

#[test]
fn links_come_back_as_they_were_and_old_surveys_go() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let [sink, lost] = [1, 7].map(|id| NodeId::new(id).unwrap());
    let mut links = LinkQualities::new(3);
    let channel = Channel::LAST;
    links
        .record(0, 2, channel, 7, 10, Some(Dbm(-81.5)))
        .unwrap();
    links.record_prr(2, 1, channel, 0.25, None).unwrap();
    for took in 0..KEPT_SURVEYS + 2 {
        let network = ("a", sink);
        let survey = NewSurvey {
            took_s: f64::from(took),
            missing: &[lost],
            batteries: &[(sink, BatteryLevel::of_millivolts(2_610))],
            links: &links,
        };
        store.keep_survey(network, &survey, &[]).unwrap();
    }
    let all = store.surveys(("a", sink), 3, 999).unwrap();
    assert_eq!(all.len(), KEPT_SURVEYS as usize);
    let back = &all[0];
    let level = BatteryLevel::of_millivolts(2_610);
    assert_eq!(back.batteries, [(sink, level)]);
    let remove_messages = store.batteries(("a", sink), 3).unwrap();
    assert_eq!(
        (remove_messages.len(), &remove_messages[0].1[..]),
        (3, &[(sink, level)][..])
    );
    assert_eq!(
        (back.took_s, &back.missing[..]),
        (f64::from(KEPT_SURVEYS + 1), &[lost][..])
    );
    assert_eq!(
        back.links.quality(0, 2, channel),
        links.quality(0, 2, channel)
    );
    assert_eq!(
        back.links.quality(2, 1, channel),
        links.quality(2, 1, channel)
    );
    assert!(
        store.surveys(("a", sink), 2, 9).unwrap().is_empty(),
        "of other nodes"
    );
    assert!(store.surveys(("a", lost), 3, 9).unwrap().is_empty());
}
