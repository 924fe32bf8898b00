use super::*;
use crate::job::run;
use crate::network::Network;
use crate::object::info;
use crate::transfer::beside::{id, Beside};
use crate::transfer::session::{Session, SessionRequest};

fn object(bytes: usize) -> Arc<[u8]> {
    (0..bytes).map(|k| (k * 7 + k / 251) as u8).collect()
}

/// What comes of node 7, which has `object`, until the session is over; how far it was when, and when it was over.
fn gathered(
    object: &Arc<[u8]>,
    payload: u8,
    wanted: &[(u16, &[u8])],
    (lose, forgets): (u64, Option<NetworkTime>),
) -> (Vec<Gathered>, Progress, NetworkTime) {
    let mut field = Beside::new(|| Stored::new(object.clone(), payload), 50.0);
    (field.lose, field.forgets) = (lose, forgets);
    let request = SessionRequest {
        sources: wanted.iter().map(|(source, _)| *source).collect(),
        policy: "fair".to_owned(),
        demand: 50.0,
        demands: BTreeMap::new(),
        duration_s: None,
    };
    let wanted = wanted
        .iter()
        .map(|(source, it)| (id(*source), Some(info(it))));
    let mut last = None;
    let objects = Objects::new(field.now(), wanted, |progress| {
        last = Some(progress);
        ControlFlow::Continue(())
    });
    let mut job = Session::new(
        (id(1), field.now()),
        &request,
        None,
        Config::STEADY,
        objects,
    )
    .unwrap();
    run(&mut field, &mut job, &mut |_| ControlFlow::Continue(())).unwrap();
    let (objects, shown) = job.finish(field.now);
    shown.unwrap();
    let gathered = objects.finish();
    (gathered, last.unwrap(), field.now)
}

#[test]
fn an_object_of_more_packets_than_there_are_numbers_arrives_whole() {
    let object = object(70_001);
    let (gathered, ..) = gathered(&object, 1, &[(7, &object)], (97, None));
    assert!(gathered[0].object.as_deref() == Ok(&object[..]));
}

#[test]
fn what_is_missing_is_told_and_the_job_ends() {
    let (here, there) = (object(1000), object(500));
    let wanted = [(7, &here[..]), (9, &there[..])];
    let (gathered, last, over) = gathered(&here, 64, &wanted, (u64::MAX, None));
    assert!(over > NetworkTime::ZERO + PATIENCE, "{over:?}");
    assert_eq!((last.complete, last.bytes), (1, here.len() as u64));
    assert_eq!(gathered[0].object.as_deref(), Ok(&here[..]));
    assert_eq!(gathered[1].object, Err(Missing::Unheard));
}

#[test]
fn a_source_that_has_forgotten_begins_anew_and_arrives_whole() {
    let object = object(20_000);
    let forgets = NetworkTime::ZERO + Duration::from_secs(4);
    let (gathered, ..) = gathered(&object, 64, &[(7, &object)], (u64::MAX, Some(forgets)));
    assert_eq!(gathered[0].object.as_deref(), Ok(&object[..]));
    assert!(gathered[0].last > Some(forgets));
}

#[test]
fn other_bytes_than_the_sources_are_no_object() {
    let (has, said) = (object(300), vec![1; 300]);
    let (gathered, ..) = gathered(&has, 64, &[(7, &said)], (u64::MAX, None));
    assert_eq!(gathered[0].object, Err(Missing::Other));
}

#[test]
fn what_a_source_says_at_the_end_proves_its_object_and_nothing_else() {
    let (object, now) = (object(130), NetworkTime::ZERO);
    let told = info(&object);
    let proof = |len| Proof {
        len,
        digest: told.digest,
    };
    let wanted = [7, 8, 9, 10, 11].map(|source| (id(source), None));
    let mut objects = Objects::new(now, wanted, |_| ControlFlow::Continue(()));
    let said = [
        (7, Some(Some(proof(130)))),
        (8, Some(None)),
        (9, Some(Some(proof(131)))),
        (10, None),
    ];
    for (source, end) in said {
        let source = id(source);
        let came = StreamEvent::Bytes(source, now, object.to_vec());
        let end = end.map(|proof| StreamEvent::Ended(source, proof));
        let all = [StreamEvent::Begun(source, now), came]
            .into_iter()
            .chain(end);
        objects.append(all.collect()).unwrap();
    }
    let nothing = Proof {
        len: 0,
        digest: [0; 8],
    };
    let told = [
        StreamEvent::Begun(id(11), now),
        StreamEvent::Ended(id(11), Some(nothing)),
    ];
    objects.append(told.into()).unwrap();
    assert!(!objects.is_done(now), "node 10 may go on");
    let found = objects.finish().into_iter().map(|gathered| gathered.object);
    let incomplete = Missing::Incomplete {
        bytes: 130,
        of: 131,
    };
    let right = [
        Ok(object.to_vec()),
        Err(Missing::Unproved),
        Err(incomplete),
        Err(Missing::Endless { bytes: 130 }),
        Err(Missing::NoRecording),
    ];
    assert!(found.eq(right));
}
