use super::super::jobs::tests::begin;
use super::super::tests::{new, record};
use super::super::{JobState, NewJob, NewTransfer, TransferId, Work};
use super::*;

/// Does a survey that fails, and a fetch that brings an object.
fn work(store: &mut Store, from: u16) {
    let job = |work| NewJob {
        network: "a",
        work,
        priority: 0,
    };
    let node = thalweg_units::NodeId::new(from).unwrap();
    let jobs = [job(Work::Survey), job(Work::Fetch { from: node })];
    let ids = store.submit(&jobs, 9).unwrap();
    begin(store, "a");
    store
        .end_job(ids[0], JobState::Failed, None, Some("no"))
        .unwrap();
    begin(store, "a");
    let object = [from as u8; 3];
    let record = record(from, &object);
    let brought = NewTransfer {
        job: Some(ids[1]),
        ..new(&record)
    };
    store.note(&new(&record)).unwrap();
    store.keep(&brought, &object).unwrap();
}

#[test]
fn history_is_kept_by_days_and_objects_keep_their_records() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    for day in 1..=5 {
        assert_eq!(store.note_day(day).unwrap(), DayNoted::New);
        assert_eq!(store.note_day(day).unwrap(), DayNoted::Before);
        work(&mut store, day as u16);
    }
    assert_eq!(store.forget_older(5).unwrap(), 0);
    // Of each of two days: two jobs, and the transfer that brought nothing.
    assert_eq!(store.forget_older(2).unwrap(), 6);
    assert_eq!(store.count_jobs("a").unwrap(), [0, 0, 3, 3, 0]);
    assert_eq!(store.total().unwrap().0, 5);
    store.delete_object(TransferId(2)).unwrap();
    assert_eq!(store.forget_older(2).unwrap(), 1, "nobody needs it now");
    assert_eq!(store.transfer(TransferId(2)).unwrap(), None);
    assert!(store.transfer(TransferId(4)).unwrap().is_some());
}

#[test]
fn what_is_counted_is_what_there_is() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    store.note_day(1).unwrap();
    for from in 1..=4 {
        work(&mut store, from);
    }
    store.delete_object(TransferId(2)).unwrap();
    for day in 2..=3 {
        store.note_day(day).unwrap();
    }
    store.forget_older(1).unwrap();
    let count = |sql: &str| -> u64 { store.db.query_row(sql, [], |row| row.get(0)).unwrap() };
    let objects = count("SELECT count(*) FROM transfers WHERE object IS NOT NULL");
    let bytes = count("SELECT sum(bytes) FROM transfers WHERE object IS NOT NULL");
    assert_eq!(store.total().unwrap(), (objects, bytes));
    assert_eq!((objects, bytes), (3, 9));
    let jobs = count("SELECT count(*) FROM jobs");
    assert_eq!(store.count_jobs("a").unwrap().iter().sum::<u64>(), jobs);
}

#[test]
fn what_every_probe_asks_scans_no_table() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let plan = |sql: &str| -> String {
        let sql = format!("EXPLAIN QUERY PLAN {sql}");
        let rows = store.rows(&sql, [], |row| row.get::<_, String>("detail"));
        rows.unwrap().join("; ")
    };
    for sql in [
        "SELECT max(value, 0) FROM totals WHERE name = 'objects'",
        "SELECT state, value FROM job_totals WHERE network = 'a'",
        "SELECT min(source) FROM transfers WHERE object IS NOT NULL AND testbed = 'a' AND source > 3",
        "SELECT max(id) FROM transfers WHERE object IS NOT NULL AND testbed = 'a' AND source = 3",
        "SELECT * FROM jobs WHERE batch = 3 ORDER BY id",
        "SELECT * FROM jobs WHERE network = 'a' AND id < 9 ORDER BY id DESC LIMIT 3",
        "SELECT 1 FROM jobs WHERE transfer = 3",
        "UPDATE transfers SET object = NULL WHERE object = 'a'",
    ] {
        let plan = plan(sql);
        assert!(plan.contains("SEARCH") && !plan.contains("SCAN"), "{sql}: {plan}");
    }
}
