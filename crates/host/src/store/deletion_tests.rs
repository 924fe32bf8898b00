use super::super::tests::{new, record};
use super::*;

/// A store with objects of these lengths, one after the other.
fn store(folder: &std::path::Path, lengths: &[usize]) -> Store {
    let mut store = Store::open(folder).unwrap();
    for (n, length) in lengths.iter().enumerate() {
        let object = vec![n as u8; *length];
        store
            .keep(&new(&record(n as u16 + 1, &object)), &object)
            .unwrap();
    }
    store
}

/// Which transfers have their objects, and how many files there are.
fn left(store: &Store) -> (Vec<i64>, usize) {
    let ids = store.with_objects().unwrap();
    let ids: Vec<i64> = ids.iter().map(|stored| stored.id.0).collect();
    (ids, fs::read_dir(&store.objects).unwrap().count())
}

#[test]
fn an_object_is_deleted_and_its_record_stays() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = store(dir.path(), &[10, 20, 30]);
    let deleted = store.delete_object(TransferId(2)).unwrap();
    assert_eq!((deleted.objects, deleted.bytes), (1, 20));
    assert_eq!(left(&store), (vec![1, 3], 2));
    let record = store.transfer(TransferId(2)).unwrap().unwrap();
    assert!(record.digest.is_some() && record.object.is_none());
    // Again, and one that never was.
    assert_eq!(
        store.delete_object(TransferId(2)).unwrap(),
        Deleted::default()
    );
    assert_eq!(
        store.delete_object(TransferId(9)).unwrap(),
        Deleted::default()
    );
}

#[test]
fn transfers_of_the_same_object_lose_it_together() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    for _ in 0..2 {
        store.keep(&new(&record(1, b"same")), b"same").unwrap();
    }
    assert_eq!(store.delete_object(TransferId(1)).unwrap().objects, 1);
    assert_eq!(left(&store), (vec![], 0));
    // The next transfer stores it again.
    store.keep(&new(&record(1, b"same")), b"same").unwrap();
    assert_eq!(left(&store), (vec![3], 1));
}

#[test]
fn the_oldest_go_until_the_rest_fits_and_the_youngest_stays() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = store(dir.path(), &[10, 20, 30, 40]);
    assert_eq!(store.delete_beyond(100).unwrap(), Deleted::default());
    let deleted = store.delete_beyond(75).unwrap();
    assert_eq!((deleted.objects, deleted.bytes), (2, 30));
    assert_eq!(left(&store), (vec![3, 4], 2));
    store.delete_beyond(1).unwrap();
    assert_eq!(left(&store), (vec![4], 1));
}

#[test]
fn what_is_old_goes_by_days_on_which_the_daemon_ran() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    // The clock jumps: a year ahead, and back.
    for (n, day) in [100, 101, 466, 102, 102, 101].into_iter().enumerate() {
        store.note_day(day).unwrap();
        let object = [n as u8; 10];
        store
            .keep(&new(&record(n as u16 + 1, &object)), &object)
            .unwrap();
    }
    // 100, 101, 466, 102: today, and three days before.
    assert_eq!(store.delete_older(3).unwrap(), Deleted::default());
    assert_eq!(store.delete_older(2).unwrap().objects, 1);
    assert_eq!(left(&store), (vec![2, 3, 4, 5, 6], 5));
    assert_eq!(store.delete_older(1).unwrap().objects, 1);
    assert_eq!(left(&store), (vec![3, 4, 5, 6], 4));
}

#[test]
fn an_object_that_came_again_is_as_young_as_that() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    for day in 1..=3 {
        store.note_day(day).unwrap();
        store.keep(&new(&record(1, b"same")), b"same").unwrap();
    }
    assert_eq!(store.delete_older(1).unwrap(), Deleted::default());
}

#[test]
fn what_the_folder_does_not_give_up_stays_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = store(dir.path(), &[10, 20]);
    // A folder in a file's place: not even root removes it so.
    let path = store
        .transfer(TransferId(1))
        .unwrap()
        .unwrap()
        .object
        .unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let why = store.delete_beyond(1).unwrap_err().to_string();
    assert!(why.contains("cannot delete"), "{why}");
    assert_eq!(left(&store), (vec![1, 2], 2));
    assert_eq!(store.total().unwrap(), (2, 30));
    fs::remove_dir(&path).unwrap();
    assert_eq!(store.delete_beyond(1).unwrap().objects, 1);
    assert_eq!(store.total().unwrap(), (1, 20));
}

#[test]
fn a_name_that_leads_elsewhere_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let outside = dir.path().join("outside");
    fs::write(&outside, b"not ours").unwrap();
    let mut store = store(&dir.path().join("store"), &[10]);
    let name = "UPDATE transfers SET object = '../../outside'";
    store.db.execute(name, []).unwrap();
    assert_eq!(
        store.delete_object(TransferId(1)).unwrap(),
        Deleted::default()
    );
    assert!(outside.exists());
}
