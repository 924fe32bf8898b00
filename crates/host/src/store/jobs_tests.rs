use super::*;

/// Begins the first of the queue.
pub(in crate::store) fn begin(store: &mut Store, network: &str) -> Option<StoredJob> {
    let next = store.next_job(network, |_| true).unwrap()?;
    store.begin_job(next.id).unwrap()
}

fn fetch(from: u16, priority: i8) -> NewJob<'static> {
    NewJob {
        network: "a",
        work: Work::Fetch {
            from: NodeId::new(from).unwrap(),
        },
        priority,
    }
}

#[test]
fn the_first_of_the_highest_priority_is_next_and_ends_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let jobs = [fetch(1, 0), fetch(2, 5), fetch(3, 5), fetch(4, -1)];
    let ids = store.submit(&jobs, 9).unwrap();
    assert!(begin(&mut store, "b").is_none(), "another network");
    for expected in [1, 2, 0, 3] {
        let job = begin(&mut store, "a").unwrap();
        assert_eq!((job.id, job.state), (ids[expected], JobState::Running));
        assert!(job.begun_at.is_some() && job.ended_at.is_none());
        (store.end_job(job.id, JobState::Failed, None, Some("no route"))).unwrap();
        (store.end_job(job.id, JobState::Done, None, None)).unwrap();
        let ended = store.job(job.id).unwrap().unwrap();
        assert_eq!(ended.state, JobState::Failed, "what ended stays so");
        assert_eq!(ended.error.as_deref(), Some("no route"));
    }
    assert!(begin(&mut store, "a").is_none());
    let ended = store.ended_jobs("a", None, 2).unwrap();
    assert_eq!([ended[0].id, ended[1].id], [ids[3], ids[2]]);
    let older = store.ended_jobs("a", Some(ids[1]), 9).unwrap();
    assert_eq!(older.len(), 1);
    assert_eq!(store.count_jobs("a").unwrap(), [0, 0, 0, 4, 0]);
}

#[test]
fn an_object_and_the_end_of_its_job_are_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let id = store.submit(&[fetch(5, 0)], 9).unwrap()[0];
    begin(&mut store, "a");
    let record = super::super::tests::record(5, b"abc");
    let new = super::super::NewTransfer {
        job: Some(id),
        ..super::super::tests::new(&record)
    };
    store.note(&new).unwrap();
    let job = |store: &Store| store.job(id).unwrap().unwrap();
    assert_eq!(job(&store).state, JobState::Running, "no object");
    let kept = store.keep(&new, b"abc").unwrap();
    let done = job(&store);
    assert_eq!(
        (done.state, done.transfer),
        (JobState::Done, Some(kept.transfer))
    );
    assert!(done.outcome.is_some() && done.ended_at.is_some());
}

#[test]
fn a_queue_has_an_end_and_nothing_is_taken_by_half() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    store.submit(&[fetch(1, 0)], 2).unwrap();
    let refused = store.submit(&[fetch(2, 0), fetch(3, 0)], 2);
    let why = refused.unwrap_err().to_string();
    assert_eq!(
        why,
        "2 more jobs do not fit: 1 wait already, and at most 2 may"
    );
    assert_eq!(store.open_jobs("a").unwrap().len(), 1);
}

#[test]
fn what_ran_when_the_process_ended_is_queued_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let ids = store.submit(&[fetch(1, 0), fetch(2, 0)], 9).unwrap();
    begin(&mut store, "a");
    drop(store);
    let mut store = Store::open(dir.path()).unwrap();
    assert_eq!(store.resume_jobs("b").unwrap(), []);
    assert_eq!(store.resume_jobs("a").unwrap(), [ids[0]]);
    assert_eq!(begin(&mut store, "a").unwrap().id, ids[0]);
    assert!(!store.cancel_queued(ids[0]).unwrap(), "it runs");
    assert!(store.cancel_queued(ids[1]).unwrap());
    store.requeue_job(ids[1]).unwrap();
    let states = |store: &Store| {
        ids.iter()
            .map(|id| store.job(*id).unwrap().unwrap().state)
            .collect::<Vec<_>>()
    };
    assert_eq!(states(&store), [JobState::Running, JobState::Cancelled]);
}

#[test]
fn a_fetch_that_failed_counts_until_its_node_delivers() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let mut end = |from: u16, state: JobState| {
        let id = store.submit(&[fetch(from, 0)], 9).unwrap()[0];
        begin(&mut store, "a").unwrap();
        store.end_job(id, state, None, None).unwrap();
        id
    };
    end(1, JobState::Failed);
    let last = end(2, JobState::Failed);
    end(1, JobState::Done);
    end(2, JobState::Cancelled);
    let failed = store.last_failed("a", 0).unwrap();
    assert_eq!(failed, [(NodeId::new(2).unwrap(), last)]);
    assert_eq!(store.count_ended("a", 0).unwrap(), [0, 0, 1, 2, 1]);
    assert_eq!(store.last_failed("a", i64::MAX).unwrap(), []);
    assert_eq!(store.count_ended("b", 0).unwrap(), [0; 5]);
}

#[test]
fn a_damaged_row_hides_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let ids = store
        .submit(&[fetch(1, 0), fetch(2, 0), fetch(3, 0)], 9)
        .unwrap();
    // No node has this number, and none has a name.
    let damage = "UPDATE jobs SET source = 70000 WHERE id = ?1";
    store.db.execute(damage, [ids[0].0]).unwrap();
    let damage = "UPDATE jobs SET priority = 400 WHERE id = ?1";
    store.db.execute(damage, [ids[1].0]).unwrap();
    let open = store.open_jobs("a").unwrap();
    assert_eq!((open.len(), open[0].id), (1, ids[2]));
    assert_eq!(begin(&mut store, "a").unwrap().id, ids[2]);
    assert_eq!(store.job(ids[0]).unwrap(), None);
}
