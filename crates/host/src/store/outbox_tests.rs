use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

fn message(topic: &str, payload: &str, keep: Retention) -> Message {
    Message {
        topic: topic.to_owned(),
        payload: payload.to_owned(),
        keep,
    }
}

#[test]
fn what_is_not_acknowledged_is_there_after_a_restart_in_its_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let messages = [
        message("a", "1", Retention::All),
        message("s", "old", Retention::Newest),
        message("a", "2", Retention::All),
        message("s", "new", Retention::Newest),
    ];
    store.queue_messages(&messages).unwrap();
    let taken = store.waiting(1).unwrap();
    assert_eq!(taken[0].message, messages[0]);
    // Sent, and killed before the answer.
    drop(store);
    let mut store = Store::open(dir.path()).unwrap();
    assert_eq!(store.waiting(1).unwrap(), taken);
    store.remove_messages(&[taken[0].id]).unwrap();
    let rest = store.waiting(9).unwrap();
    let payloads: Vec<&str> = rest.iter().map(|w| &*w.message.payload).collect();
    assert_eq!(payloads, ["2", "new"]);
    store.remove_messages(&[rest[0].id, rest[1].id]).unwrap();
    assert_eq!(store.count_waiting().unwrap(), 0);
    store.queue_messages(&messages[..1]).unwrap();
    let next = store.waiting(1).unwrap()[0].id;
    assert!(next > rest[1].id, "numbers are never taken again");
}

#[test]
fn an_acknowledgement_of_a_state_does_not_take_the_next_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    store
        .queue_messages(&[message("s", "old", Retention::Newest)])
        .unwrap();
    let sent = store.waiting(1).unwrap();
    store
        .queue_messages(&[message("s", "new", Retention::Newest)])
        .unwrap();
    store.remove_messages(&[sent[0].id]).unwrap();
    assert_eq!(store.waiting(9).unwrap()[0].message.payload, "new");
}

#[test]
fn states_are_bounded_and_what_is_too_long_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    store
        .queue_messages(&[message("a", "1", Retention::All)])
        .unwrap();
    let many = 0..MOST_NEWEST + 5;
    let many = many.map(|n| message(&format!("s{n}"), "x", Retention::Newest));
    store.queue_messages(&many.collect::<Vec<_>>()).unwrap();
    let long = "x".repeat(LONGEST_PAYLOAD + 1);
    store
        .queue_messages(&[message("a", &long, Retention::All)])
        .unwrap();
    let left = store.waiting(u32::MAX).unwrap();
    assert_eq!(left.len(), 1 + MOST_NEWEST as usize);
    assert_eq!(
        (&*left[0].message.topic, &*left[1].message.topic),
        ("a", "s5")
    );
}

#[test]
fn an_object_is_kept_with_its_message_or_neither() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let record = super::super::tests::record(5, b"abc");
    let new = super::super::tests::new(&record);
    let messages = |stored: &super::super::StoredTransfer| {
        assert!(stored.digest.is_some() && stored.stored_at.ends_with('Z'));
        vec![message("a", &stored.id.0.to_string(), Retention::All)]
    };
    let objects = dir.path().join(super::super::OBJECTS);
    std::fs::remove_dir(&objects).unwrap();
    store.keep_and_queue(&new, b"abc", messages).unwrap_err();
    assert_eq!(store.count_waiting().unwrap(), 0);
    std::fs::create_dir(&objects).unwrap();
    let kept = store.keep_and_queue(&new, b"abc", messages).unwrap();
    let waiting = store.waiting(9).unwrap();
    assert_eq!(waiting[0].message.payload, kept.transfer.0.to_string());
    assert_eq!(waiting.len(), 1);
}

#[derive(Debug, Clone)]
enum Step {
    Write(u8, bool),
    /// So many are sent, and of these so many acknowledged before the end comes, be it of line or process.
    Send(u32, usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..4_u8, any::<bool>()).prop_map(|(topic, newest)| Step::Write(topic, newest)),
        (1..6_u32, 0..6_usize).prop_map(|(sent, acked)| Step::Send(sent, acked)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(17),
        cases: 24,
        ..ProptestConfig::default()
    })]

    /// Whoever drops repeats has all objects in order, and the newest of each state.
    #[test]
    fn nothing_is_lost_and_order_is_kept(steps in prop::collection::vec(step(), 1..40)) {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path()).unwrap();
        store.db.pragma_update(None, "synchronous", "OFF").unwrap();
        let (mut all, mut newest) = (Vec::new(), BTreeMap::new());
        let (mut got, mut states) = (Vec::<Waiting>::new(), BTreeMap::new());
        let mut take = |store: &Store, sent: u32| {
            let rows = store.waiting(sent).unwrap();
            for row in &rows {
                let Message { topic, payload, keep } = row.message.clone();
                match keep {
                    Retention::Newest => drop(states.insert(topic, payload)),
                    Retention::All if got.iter().all(|g| g.id != row.id) => got.push(row.clone()),
                    Retention::All => {}
                }
            }
            rows.iter().map(|row| row.id).collect::<Vec<_>>()
        };
        for (n, step) in steps.iter().enumerate() {
            match *step {
                Step::Write(topic, false) => {
                    let new = message(&format!("a{topic}"), &n.to_string(), Retention::All);
                    store.queue_messages(std::slice::from_ref(&new)).unwrap();
                    all.push(new);
                }
                Step::Write(topic, true) => {
                    let new = message(&format!("s{topic}"), &n.to_string(), Retention::Newest);
                    store.queue_messages(std::slice::from_ref(&new)).unwrap();
                    newest.insert(new.topic, new.payload);
                }
                Step::Send(sent, acked) => {
                    let ids = take(&store, sent);
                    store.remove_messages(&ids[..acked.min(ids.len())]).unwrap();
                }
            }
        }
        let ids = take(&store, u32::MAX);
        store.remove_messages(&ids).unwrap();
        prop_assert_eq!(store.count_waiting().unwrap(), 0);
        let got: Vec<Message> = got.into_iter().map(|row| row.message).collect();
        prop_assert_eq!(got, all);
        prop_assert_eq!(states, newest);
    }
}
