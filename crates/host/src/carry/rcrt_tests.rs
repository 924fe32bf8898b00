use super::*;
use thalweg_protocols::rcrt::source::{self, Order, Source};
use thalweg_protocols::stack::{Above, Packet, Room};
use thalweg_wire::rcrt::Rate;
use thalweg_wire::tree::Way;

const NEVER: u64 = u64::MAX;
const STEP: Duration = Duration::from_millis(20);

fn id(number: u16) -> NodeId {
    NodeId::new(number).unwrap()
}

fn object(bytes: usize) -> Arc<[u8]> {
    (0..bytes).map(|k| (k * 7 + k / 251) as u8).collect()
}

fn wanted(source: u16, object: &[u8]) -> Wanted {
    let (source, len) = (id(source), object.len() as u32);
    let digest = digest(object);
    Wanted {
        source,
        info: ObjectInfo { len, digest },
    }
}

fn terms(payload: u8) -> Terms {
    Terms {
        policy: "fair".to_owned(),
        demand: 50.0,
        payload,
    }
}

/// Node 7's mote, at the beginning of a connection.
fn mote(object: &Arc<[u8]>, payload: u8, connection: u8) -> Source<Stored, 1> {
    let supply = Stored::new(object.clone(), payload);
    let mut mote = Source::new(source::Config::PAPER, supply);
    let order = Order::Open {
        flow: FLOW,
        connection,
        demand: Rate::from_per_s(50.0),
    };
    mote.handle_command(Instant::ZERO, order);
    mote
}

/// Node 7, right beside the base station, until the job is over. One packet of each `lose` is lost; the mote
/// forgets everything once it has sent `forget` packets.
fn beside(
    object: &Arc<[u8]>,
    payload: u8,
    job: &mut Gather,
    (lose, forget): (u64, u64),
) -> Instant {
    let mut mote = self::mote(object, payload, 1);
    let mut now = Instant::ZERO;
    let mut sent = 0;
    while !job.is_over(now) {
        if sent == forget {
            sent += 1;
            mote = self::mote(object, payload, 2);
        }
        mote.handle_timeout(now);
        while let Some((_, message)) = mote.next(now, |_| Room::Free) {
            sent += 1;
            if sent % lose != 0 {
                job.handle_packet(now, id(7), &message);
            }
        }
        while job.poll_event(now).is_some() {}
        while let Some(Send { to, message }) = job.poll_message(now) {
            mote.arrived(
                now,
                &Packet {
                    way: Way::Down { to },
                    origin: id(1),
                    number: 1,
                    hops: 1,
                    payload: message,
                },
            );
        }
        now += STEP;
        if job.poll_timeout().is_some_and(|at| at <= now) {
            job.handle_timeout(now);
        }
        assert!(sent < 200_000, "no end");
    }
    now
}

#[test]
fn an_object_of_more_packets_than_there_are_numbers_arrives_whole() {
    let object = object(70_001);
    let mut job = Gather::new(Instant::ZERO, &terms(1), [wanted(7, &object)]).unwrap();
    beside(&object, 1, &mut job, (97, NEVER));
    let gathered = job.finish();
    assert_eq!(gathered[0].packets, 70_001);
    assert!(gathered[0].object.as_deref() == Ok(&object[..]));
}

#[test]
fn what_is_missing_is_told_and_the_job_ends() {
    let (here, there) = (object(1000), object(500));
    let all = [wanted(7, &here), wanted(9, &there)];
    let mut job = Gather::new(Instant::ZERO, &terms(64), all).unwrap();
    let over = beside(&here, 64, &mut job, (NEVER, NEVER));
    assert!(over > Instant::ZERO + PATIENCE, "{over:?}");
    assert_eq!(
        (job.standing().complete, job.standing().bytes),
        (1, here.len() as u64)
    );
    let gathered = job.finish();
    assert_eq!(gathered[0].object.as_deref(), Ok(&here[..]));
    assert_eq!(gathered[1].object, Err(Missing::Unheard));
}

#[test]
fn a_source_that_has_forgotten_begins_anew_and_arrives_whole() {
    let object = object(20_000);
    let mut job = Gather::new(Instant::ZERO, &terms(64), [wanted(7, &object)]).unwrap();
    beside(&object, 64, &mut job, (NEVER, 100));
    let gathered = job.finish();
    assert_eq!(gathered[0].object.as_deref(), Ok(&object[..]));
    assert_eq!(gathered[0].packets, 313);
}

#[test]
fn other_bytes_than_the_sources_are_no_object() {
    let (has, said) = (object(300), vec![1; 300]);
    let mut job = Gather::new(Instant::ZERO, &terms(64), [wanted(7, &said)]).unwrap();
    beside(&Arc::clone(&has), 64, &mut job, (NEVER, NEVER));
    assert_eq!(job.finish()[0].object, Err(Missing::Other));
}

#[test]
fn what_cannot_be_asked_is_told() {
    let refused = |change: fn(&mut Terms)| {
        let mut terms = terms(64);
        change(&mut terms);
        terms.check().unwrap_err().to_string()
    };
    let policy = refused(|t| t.policy = "greedy".to_owned());
    assert!(policy.contains("fair, demand-proportional"), "{policy}");
    assert!(refused(|t| t.policy = "weighted:7=0".to_owned()).contains("above 0"));
    for demand in [0.0, -1.0, f64::NAN, 1e9] {
        let terms = Terms {
            demand,
            ..terms(64)
        };
        assert!(
            matches!(terms.check(), Err(AskError::Demand(_))),
            "{demand}"
        );
    }
    assert!(refused(|t| t.payload = 81).contains("1 to 80"));
}
