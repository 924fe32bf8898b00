use super::*;
use crate::segments::LARGEST;
use crate::store::jobs::tests::begin;
use crate::store::{JobState, NewJob, NewTransfer, Work};
use thalweg_units::NodeId;

fn part(bytes: &[u8], len: u32) -> Segment {
    Segment {
        bytes: bytes.to_vec(),
        object: ObjectInfo {
            len,
            digest: [0xff; 8],
        },
    }
}

#[test]
fn parts_outlive_the_process_and_go_with_the_end_of_their_job() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let job = NewJob {
        network: "a",
        work: Work::Fetch {
            from: NodeId::new(5).unwrap(),
        },
        priority: 0,
    };
    let jobs = [job.clone(), job.clone(), job.clone(), job];
    let ids = store.submit(&jobs, 9).unwrap();
    for id in &ids[..3] {
        begin(&mut store, "a").unwrap();
        store.keep_part(*id, 0, &part(b"old", 9)).unwrap();
        store.keep_part(*id, 3, &part(b"old", 9)).unwrap();
        store.keep_part(*id, 5, &part(b"old", 9)).unwrap();
        // It begins again.
        store.keep_part(*id, 0, &part(b"abc", 8)).unwrap();
        store.keep_part(*id, 3, &part(b"def", 8)).unwrap();
        // The last, and one of an object that is not taken.
        store.keep_part(*id, 6, &part(b"gh", 8)).unwrap();
        store.keep_part(*id, 9, &part(b"ijk", LARGEST + 1)).unwrap();
    }
    store.keep_part(ids[3], 0, &part(b"abc", 8)).unwrap();
    drop(store);
    let mut store = Store::open(dir.path()).unwrap();
    let parts = |store: &Store| {
        ids.iter()
            .map(|id| store.parts(*id).unwrap().len())
            .collect::<Vec<_>>()
    };
    store.resume_jobs("a").unwrap();
    assert_eq!(
        parts(&store),
        [2, 2, 2, 1],
        "a job that is queued has its parts"
    );
    let there = store.parts(ids[0]).unwrap();
    assert_eq!(there, [(0, part(b"abc", 8)), (3, part(b"def", 8))]);
    for _ in 0..3 {
        begin(&mut store, "a").unwrap();
    }
    let record = super::super::tests::record(5, b"abcdefgh");
    let new = NewTransfer {
        job: Some(ids[0]),
        ..super::super::tests::new(&record)
    };
    store.keep(&new, b"abcdefgh").unwrap();
    assert_eq!(parts(&store), [0, 2, 2, 1]);
    store
        .end_job(ids[1], JobState::Failed, None, Some("no"))
        .unwrap();
    store
        .end_job(ids[2], JobState::Cancelled, None, None)
        .unwrap();
    assert!(store.cancel_queued(ids[3]).unwrap());
    assert_eq!(parts(&store), [0, 0, 0, 0]);
}
