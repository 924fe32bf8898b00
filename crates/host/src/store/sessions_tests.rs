use super::super::tests::{new, record};
use super::super::{JobState, NewJob, Work};
use super::*;

fn request() -> SessionRequest {
    SessionRequest {
        sources: vec![4, 7],
        policy: "weighted:7=2".into(),
        demand: 0.5,
        demands: [(7, 2.0)].into(),
        duration_s: Some(60.0),
    }
}
fn id(node: u16) -> NodeId {
    NodeId::new(node).unwrap()
}
fn session(store: &mut Store) -> JobId {
    let job = NewJob {
        network: "indriya",
        work: Work::Session(request()),
        priority: 0,
    };
    store.submit(&[job], 9).unwrap()[0]
}

#[test]
fn samples_are_bounded_and_even_however_long_a_session_lasts() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let job = session(&mut store);
    // The disk's pace is not what is tried.
    store.db.pragma_update(None, "synchronous", "OFF").unwrap();
    let mut at_s = 0;
    while at_s < 20_000 {
        let one = |source| SourceStatus {
            source: id(source),
            rate: (source == 7).then_some(0.25),
            packets: u64::from(at_s),
            bytes: 0,
            repaired: 3,
        };
        store.sample(job, at_s, &[one(4), one(7)]).unwrap();
        // As late as the next look.
        at_s = next_sample(at_s) + at_s % 2;
    }
    let samples = store.samples(job).unwrap();
    assert!((180..=360).contains(&samples.len()), "{}", samples.len());
    let every = sampled_every(19_999);
    assert!(samples.iter().all(|sample| sample.at_s % every == 0));
    let gaps = samples.windows(2).map(|w| w[1].at_s - w[0].at_s);
    assert!(gaps.into_iter().all(|gap| gap == every));
    let last = &samples[samples.len() - 1].sources;
    assert_eq!((last[0].rate, last[1].rate), (None, Some(0.25)));
    assert_eq!((last[1].source, last[1].repaired), (id(7), 3));
    // Of old sessions nothing is left.
    for _ in 0..KEPT_SESSIONS {
        let job = session(&mut store);
        store.cancel_queued(job).unwrap();
    }
    assert!(store.samples(job).unwrap().is_empty());
}

#[test]
fn what_came_is_an_object_once_and_survives_until_then() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let job = session(&mut store);
    let begun = crate::store::jobs::tests::begin(&mut store, "indriya").unwrap();
    assert_eq!(begun.work, Work::Session(request()));
    let came = [(id(4), b"ab".to_vec()), (id(7), b"x".to_vec())];
    store.add_to_streams(job, 2.0, &came).unwrap();
    let more = [(id(4), b"cd".to_vec())];
    store.add_to_streams(job, 9.5, &more).unwrap();
    drop(store);
    let mut store = Store::open(dir.path()).unwrap();
    let open = |store: &Store| store.open_streams("indriya").unwrap();
    assert_eq!(open(&store), [(job, id(4)), (job, id(7))]);
    assert!(store.open_streams("floor21").unwrap().is_empty());
    let (bytes, took_s) = store.stream(job, id(4)).unwrap();
    assert_eq!((&bytes[..], took_s), (&b"abcd"[..], 7.5));
    let record = record(4, &bytes);
    let wrong = store.close_stream((job, id(4)), &new(&record), b"abc", |_| Vec::new());
    assert!(wrong.is_err() && open(&store).len() == 2, "as before");
    let kept = store.close_stream((job, id(4)), &new(&record), &bytes, |_| Vec::new());
    assert_eq!(std::fs::read(kept.unwrap().path).unwrap(), b"abcd");
    assert_eq!(open(&store), [(job, id(7))]);
    let objects = store.objects_of_session(job, 9).unwrap();
    assert_eq!((objects.len(), objects[0].record.source), (1, id(4)));
    let state = store.job(job).unwrap().unwrap().state;
    assert_eq!(state, JobState::Running, "it goes on");
}
