//! The store as its users see it, and as it is after kills, full disks and odd files.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::*;

fn node(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}

pub(super) fn record(source: u16, object: &[u8]) -> Summary {
    Summary {
        protocol: "p3".into(),
        testbed: "indriya".into(),
        source: node(source),
        sink: node(0),
        bytes: object.len() as u64,
        verified: true,
        sealed: false,
        goodput_kbps: 178.4,
        utilisation: Some(0.714),
        rounds: 2,
        first_round_reliability: Some(0.985),
        active_nodes: 41,
        hops: 7,
        paths: 6,
        energy_j: Some(1.25),
        network_energy_j: None,
        cold: None,
        waited_s: 0.0,
        duration_s: 2.6,
        attempts: 1,
        failure: None,
        seed: u64::MAX,
    }
}

pub(super) fn new(record: &Summary) -> NewTransfer<'_> {
    NewTransfer {
        record,
        baseline: None,
        report: "{}",
        campaign: None,
        job: None,
        file: None,
    }
}

fn object(n: u64, len: usize) -> Vec<u8> {
    (0..len as u64)
        .map(|i| (i.wrapping_mul(2_654_435_761).wrapping_add(n * 97) >> 3) as u8)
        .collect()
}

impl Store {
    /// All transfers, the oldest first, baselines included.
    fn transfers(&self) -> Result<Vec<StoredTransfer>> {
        self.query("ORDER BY id", [])
    }
}

fn names(store: &Store) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(&store.objects)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Every record's object is there and whole, and no file is there that is not whole.
fn check(root: &Path) -> usize {
    let store = Store::open(root).unwrap();
    let ok: String = store
        .db
        .query_row("PRAGMA integrity_check", [], |r| r.get(0))
        .unwrap();
    assert_eq!(ok, "ok");
    let transfers = store.transfers().unwrap();
    for transfer in &transfers {
        let bytes = fs::read(transfer.object.as_ref().unwrap()).unwrap();
        assert_eq!(transfer.digest.as_deref(), Some(digest_of(&bytes).as_str()));
    }
    for name in names(&store) {
        let digest = digest_of(&fs::read(store.objects.join(&name)).unwrap());
        assert!(
            name.ends_with(&format!("-{}.bin", &digest[..16])),
            "{name} is not whole"
        );
    }
    transfers.len()
}

/// Without the first two a power cut loses what was reported as stored.
#[test]
fn every_write_is_on_the_disk_before_it_is_told_and_references_hold() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let number = |name| (store.db).pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let mode = (store.db).pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0));
    assert_eq!(mode.unwrap(), "wal");
    assert_eq!(number("synchronous").unwrap(), 2, "full");
    assert_eq!(number("foreign_keys").unwrap(), 1);
    assert_eq!(number("busy_timeout").unwrap(), 30_000);
}

#[test]
fn what_was_kept_is_there_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = object(1, 5000);
    let (main, pip) = (
        record(93, &bytes),
        Summary {
            protocol: "pip".into(),
            ..record(93, &bytes)
        },
    );
    let kept = Store::open(dir.path())
        .unwrap()
        .keep(
            &NewTransfer {
                baseline: Some(&pip),
                ..new(&main)
            },
            &bytes,
        )
        .unwrap();
    assert_eq!(kept.fate, Fate::Written);
    assert_eq!(fs::read(&kept.path).unwrap(), bytes);
    let stored = Store::open(dir.path()).unwrap().transfers().unwrap();
    assert_eq!(stored.len(), 2);
    assert_eq!(stored[0].record, main);
    assert_eq!(stored[0].object.as_ref(), Some(&kept.path));
    assert_eq!(stored[1].record, pip);
    assert_eq!(stored[1].baseline_of, Some(kept.transfer));
    assert_eq!(stored[1].object, None);
    assert_eq!(check_objects(dir.path()), 1);
}

fn check_objects(root: &Path) -> usize {
    names(&Store::open(root).unwrap()).len()
}

#[test]
fn the_same_object_again_is_fine_and_another_one_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let bytes = object(1, 777);
    let r = record(5, &bytes);
    let kept = store.keep(&new(&r), &bytes).unwrap();
    assert_eq!(store.keep(&new(&r), &bytes).unwrap().fate, Fate::Identical);
    for other in [&bytes[..776], &object(2, 777)[..]] {
        fs::write(&kept.path, other).unwrap();
        let error = store.keep(&new(&r), &bytes).unwrap_err();
        assert!(matches!(error, StoreError::ObjectExists(_)), "{error}");
        assert_eq!(fs::read(&kept.path).unwrap(), other);
    }
    assert_eq!(
        store.transfers().unwrap().len(),
        2,
        "a refused object leaves no record"
    );
}

#[test]
fn a_record_that_lies_about_the_length_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let r = record(5, b"four");
    assert!(matches!(
        store.keep(&new(&r), b"five!"),
        Err(StoreError::LengthMismatch { .. })
    ));
    assert!(names(&store).is_empty());
}

#[test]
fn a_number_that_is_none_survives() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let r = Summary {
        energy_j: None,
        verified: false,
        sealed: false,
        ..record(5, b"")
    };
    store.note(&new(&r)).unwrap();
    let back = store.transfers().unwrap().remove(0);
    assert!(back.record.energy_j.is_none() && back.object.is_none() && back.digest.is_none());
}

#[test]
fn odd_folders_and_databases_are_one_line_each() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    let garbage = dir.path().join("garbage");
    fs::create_dir(&garbage).unwrap();
    fs::write(garbage.join("thalweg.db"), vec![0x5a; 9000]).unwrap();
    let foreign = dir.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    let db = Connection::open(foreign.join("thalweg.db")).unwrap();
    db.execute_batch("CREATE TABLE cheese (age INTEGER)")
        .unwrap();
    drop(db);
    let later = dir.path().join("later");
    drop(Store::open(&later).unwrap());
    let db = Connection::open(later.join("thalweg.db")).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    for (root, part) in [
        (file.clone(), "is not a folder"),
        (file.join("below"), "cannot make"),
        (garbage, "not a readable database"),
        (foreign, "not of this program"),
        (later, "format 99"),
    ] {
        let line = Store::open(&root).unwrap_err().to_string();
        assert!(
            line.contains(part) && !line.contains('\n') && !line.contains("os error"),
            "{line}"
        );
    }
}

#[test]
fn what_a_killed_process_left_is_removed_at_the_next_open() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    let left = dir.path().join("objects/.incoming-indriya-5-0123.bin");
    fs::write(&left, "half").unwrap();
    drop(Store::open(dir.path()).unwrap());
    assert!(!left.exists());
}

#[test]
fn a_failed_commit_takes_the_object_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    // The database may not grow: the record's report does not fit any more.
    let pages: i64 = store
        .db
        .query_row("PRAGMA page_count", [], |r| r.get(0))
        .unwrap();
    store
        .db
        .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
        .unwrap();
    let bytes = object(3, 3000);
    let (r, report) = (record(9, &bytes), "x".repeat(100_000));
    let error = store
        .keep(
            &NewTransfer {
                report: &report,
                ..new(&r)
            },
            &bytes,
        )
        .unwrap_err();
    assert!(
        error.to_string().ends_with("no space left on device"),
        "{error}"
    );
    assert!(error.is_full());
    assert!(names(&store).is_empty());
    assert!(store.transfers().unwrap().is_empty());
}

#[test]
fn a_campaign_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let all = [node(3), node(1), node(2)];
    let mut store = Store::open(dir.path()).unwrap();
    let campaign = store.campaign("k", &all).unwrap();
    assert!(campaign.left().eq(all));
    let bytes = object(4, 40);
    let r = record(1, &bytes);
    let kept = store
        .keep(
            &NewTransfer {
                campaign: Some(campaign.id),
                ..new(&r)
            },
            &bytes,
        )
        .unwrap();
    store.fail_turn(campaign.id, node(3), "no route").unwrap();
    drop(store);

    let mut store = Store::open(dir.path()).unwrap();
    let again = store.campaign("k", &all).unwrap();
    assert!(again.left().eq([node(2)]));
    assert_eq!(again.nodes[1].state, TurnState::Done(kept.transfer));
    assert_eq!(again.nodes[0].state, TurnState::Failed("no route".into()));
    assert_eq!(store.campaign("another", &all).unwrap().left().count(), 3);
    assert!(matches!(
        store.campaign("k", &all[..2]),
        Err(StoreError::CampaignNodes)
    ));
}

#[test]
fn two_processes_worth_of_connections_take_turns() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    std::thread::scope(|scope| {
        for n in 0..3u16 {
            let root = dir.path();
            scope.spawn(move || {
                for i in 0..5 {
                    let bytes = object(u64::from(n) * 100 + i, 900);
                    Store::open(root)
                        .unwrap()
                        .keep(&new(&record(n, &bytes)), &bytes)
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(check(dir.path()), 15);
}

/// A child that stores objects until it is killed. Does nothing unless the test below runs it.
#[test]
fn child_that_is_killed() {
    let Some(root) = std::env::var_os("THALWEG_STORE_TEST_ROOT") else {
        return;
    };
    let mut n = 0;
    loop {
        let bytes = object(n, 4_000_000);
        Store::open(&root)
            .unwrap()
            .keep(&new(&record(7, &bytes)), &bytes)
            .unwrap();
        n += 1;
    }
}

#[test]
fn killed_at_any_instant_the_store_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (mut kept, mut round) = (0, 0u64);
    // On a busy machine it takes longer until a child stores anything.
    while round < 16 || kept == 0 && round < 80 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "store::tests::child_that_is_killed",
                "--nocapture",
            ])
            .env("THALWEG_STORE_TEST_ROOT", dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(15 + round * 8));
        child.kill().unwrap();
        child.wait().unwrap();
        let now = check(dir.path());
        assert!(now >= kept, "a record was lost");
        (kept, round) = (now, round + 1);
    }
    assert!(kept > 0, "no child lived long enough to store anything");
}

/// Needs the right to mount; where there is none the test says so and passes.
#[test]
fn a_full_disk_is_one_line_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mount = |args: &[&str]| {
        let status = Command::new("mount")
            .args(args)
            .arg(dir.path())
            .stderr(Stdio::null())
            .status();
        status.is_ok_and(|s| s.success())
    };
    if !mount(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"]) {
        eprintln!("skipped: no right to mount a small disk here");
        return;
    }
    let result = std::panic::catch_unwind(|| {
        let mut store = Store::open(dir.path()).unwrap();
        let small = object(1, 10_000);
        store.keep(&new(&record(1, &small)), &small).unwrap();
        let big = object(2, 2_000_000);
        let error = store.keep(&new(&record(2, &big)), &big).unwrap_err();
        assert!(error.to_string().contains("cannot write"), "{error}");
        assert!(!error.to_string().contains('\n'));
        assert_eq!(names(&store).len(), 1);
        drop(store);
        assert_eq!(check(dir.path()), 1);
    });
    let _ = Command::new("umount").arg(dir.path()).status();
    assert!(result.is_ok());
}

#[test]
fn objects_that_are_gone_get_their_turns_back_and_changed_ones_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let all = [node(1), node(2), node(3)];
    let campaign = store.campaign("k", &all).unwrap();
    let mut paths = Vec::new();
    for n in all {
        let bytes = object(u64::from(n.get()), 100);
        let r = record(n.get(), &bytes);
        let new = NewTransfer {
            campaign: Some(campaign.id),
            file: Some("photo.jpg"),
            ..new(&r)
        };
        paths.push(store.keep(&new, &bytes).unwrap().path);
    }
    fs::remove_file(&paths[0]).unwrap();
    fs::write(&paths[1], "others").unwrap();
    let conditions = |store: &Store| -> Vec<Condition> {
        let all = store.with_objects().unwrap();
        all.iter().map(|t| t.condition().unwrap()).collect()
    };
    use Condition::{Changed, Missing, Whole};
    assert_eq!(conditions(&store), [Missing, Changed, Whole]);
    assert_eq!(
        store.with_objects().unwrap()[2].file.as_deref(),
        Some("photo.jpg")
    );
    let mut campaign = store.campaign("k", &all).unwrap();
    assert_eq!(store.renew(&mut campaign).unwrap(), 1);
    assert!(campaign.left().eq([node(1)]));
    assert!(store.campaign("k", &all).unwrap().left().eq([node(1)]));
}

#[test]
fn a_campaign_is_one_processes_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let (k, other) = (
        store.campaign("k", &[node(1)]).unwrap().id,
        store.campaign("other", &[node(1)]).unwrap().id,
    );
    let lock = store.lock(k).unwrap();
    let second = Store::open(dir.path()).unwrap();
    assert!(matches!(second.lock(k), Err(StoreError::Locked(_))));
    assert!(second.lock(other).is_ok());
    // As a child process has it between fork and exec.
    let inherited = lock.0.try_clone().unwrap();
    drop(lock);
    assert!(second.lock(k).is_ok());
    drop(inherited);
}

#[test]
fn a_store_of_the_first_format_is_read_on() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = object(5, 50);
    let r = record(4, &bytes);
    let mut store = Store::open(dir.path()).unwrap();
    store.keep(&new(&r), &bytes).unwrap();
    // As it was before files had names.
    let back = "ALTER TABLE transfers DROP COLUMN file; DROP TABLE jobs; DROP TABLE surveys; DROP TABLE log;
        DROP TABLE samples; DROP TABLE streams; DROP INDEX transfers_by_session;
        ALTER TABLE transfers DROP COLUMN session;
        DROP TABLE outbox; DROP TABLE spent; DROP TABLE parts; DROP TABLE seen;
        DROP TRIGGER object_comes; DROP TRIGGER object_goes; DROP TRIGGER object_changes;
        DROP INDEX objects_by_node; DROP INDEX objects_by_name; DROP INDEX transfers_by_baseline;
        DROP TABLE totals; DROP TABLE job_totals; DROP TABLE days; DROP TABLE numbers;
        ALTER TABLE transfers DROP COLUMN sealed;
        PRAGMA user_version = 1;";
    store.db.execute_batch(back).unwrap();
    drop(store);
    let store = Store::existing(dir.path()).unwrap();
    assert_eq!(store.total().unwrap(), (1, 50));
    let stored = store.with_objects().unwrap();
    assert_eq!(
        (stored[0].record.clone(), stored[0].file.clone()),
        (r, None)
    );
    assert!(
        stored[0].stored_at.ends_with('Z'),
        "{}",
        stored[0].stored_at
    );
    assert!(matches!(
        Store::existing(dir.path().join("none")),
        Err(StoreError::NoStore(_))
    ));
}

#[test]
fn jobs_of_the_third_format_keep_their_numbers_and_new_kinds_join_them() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(OBJECTS)).unwrap();
    let db = Connection::open(dir.path().join(DATABASE)).unwrap();
    for migration in &schema::MIGRATIONS[..3] {
        db.execute_batch(migration).unwrap();
    }
    db.pragma_update(None, "application_id", schema::APPLICATION_ID)
        .unwrap();
    db.execute_batch(
        "INSERT INTO jobs (id, network, kind, source, priority, state, outcome) VALUES
            (7, 'a', 'survey', NULL, 3, 'done', '{}'), (9, 'a', 'fetch', 4, 0, 'queued', NULL);
         PRAGMA user_version = 3;",
    )
    .unwrap();
    drop(db);
    let mut store = Store::open(dir.path()).unwrap();
    let old = store.job(JobId(7)).unwrap().unwrap();
    assert_eq!(
        (old.work, old.priority, old.outcome.as_deref()),
        (Work::Survey, 3, Some("{}"))
    );
    let plan = NewJob {
        network: "a",
        work: Work::Plan { from: node(5) },
        priority: 1,
    };
    assert_eq!(
        store.submit(std::slice::from_ref(&plan), 9).unwrap(),
        [JobId(10)]
    );
    let first = super::jobs::tests::begin(&mut store, "a").unwrap();
    assert_eq!(first.work, plan.work);
    let second = super::jobs::tests::begin(&mut store, "a").unwrap();
    assert_eq!(
        (second.id, second.work),
        (JobId(9), Work::Fetch { from: node(4) })
    );
}
