use super::super::jobs::tests::begin;
use super::super::{NewJob, Work};
use super::*;
use thalweg_units::NodeId;

fn fetches(nodes: std::ops::RangeInclusive<u16>) -> Vec<NewJob<'static>> {
    let fetch = |from| NewJob {
        network: "a",
        work: Work::Fetch {
            from: NodeId::new(from).unwrap(),
        },
        priority: 0,
    };
    nodes.map(fetch).collect()
}

#[test]
fn what_is_asked_for_at_once_is_told_and_cancelled_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let alone = store.submit(&fetches(1..=1), 1_000).unwrap();
    let ids = store.submit(&fetches(2..=301), 1_000).unwrap();
    let later = store.submit(&fetches(1..=2), 1_000).unwrap();
    assert_eq!(store.job(alone[0]).unwrap().unwrap().group, None);
    begin(&mut store, "a");
    begin(&mut store, "a");
    assert_eq!(
        store.cancel_queued_of(ids[0]).unwrap()[..],
        ids[1..],
        "all but the one that runs"
    );
    let group = store.group(ids[0]).unwrap().unwrap();
    assert_eq!((group.jobs, group.counts), (300, [0, 1, 0, 0, 299]));
    assert_eq!(store.jobs_of(ids[0]).unwrap().len(), 300);
    let groups = store.groups(None, 9).unwrap();
    let numbers: Vec<JobId> = groups.iter().map(|group| group.group).collect();
    assert_eq!(numbers, [later[0], ids[0]]);
    assert_eq!(store.groups(Some(later[0]), 9).unwrap().len(), 1);
    assert_eq!(store.group(alone[0]).unwrap(), None);
    assert_eq!(store.cancel_queued_of(JobId(9_999)).unwrap(), []);
}
