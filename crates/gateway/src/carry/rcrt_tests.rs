use super::*;
use thalweg_protocols::rcrt::source::{self, Order, Source};
use thalweg_protocols::stack::{Above, Packet, Room};
use thalweg_wire::rcrt::Rate;
use thalweg_wire::tree::Way;

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

/// Node 7, right beside the base station, until the job is over; every so many packets one is lost.
fn beside(object: &Arc<[u8]>, payload: u8, job: &mut Gather, lose: u64) -> Instant {
    let supply = Stored::new(object.clone(), payload);
    let mut mote: Source<_, 1> = Source::new(source::Config::PAPER, supply);
    let order = Order::Open {
        flow: FLOW,
        connection: 1,
        demand: Rate::from_per_s(50.0),
    };
    let mut now = Instant::ZERO;
    mote.handle_command(now, order);
    let mut sent = 0;
    while !job.is_over(now) {
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
    beside(&object, 1, &mut job, 97);
    let gathered = job.finish();
    assert_eq!(gathered[0].packets, 70_001);
    assert!(gathered[0].object.as_deref() == Ok(&object[..]));
}

#[test]
fn what_is_missing_is_told_and_the_job_ends() {
    let (here, there) = (object(1000), object(500));
    let all = [wanted(7, &here), wanted(9, &there)];
    let mut job = Gather::new(Instant::ZERO, &terms(64), all).unwrap();
    let over = beside(&here, 64, &mut job, u64::MAX);
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
fn other_bytes_than_the_sources_are_no_object() {
    let (has, said) = (object(300), vec![1; 300]);
    let mut job = Gather::new(Instant::ZERO, &terms(64), [wanted(7, &said)]).unwrap();
    beside(&Arc::clone(&has), 64, &mut job, u64::MAX);
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
