//! P3's rounds, left or kept by what the first of them brought.

use thalweg_host::job::{Job, Step};
use thalweg_host::network::{Clock, NetworkTime};
use thalweg_host::transfer::pipeline::{Fetch, RoutePlan, TransferTerms};
use thalweg_protocols::mote::{Command, Event};
use thalweg_protocols::pipeline;
use thalweg_units::{Channel, Duration, Instant, NodeId};
use thalweg_wire::route::{Channels, Route, Scheme};

struct Wall;

impl Clock for Wall {
    fn when(&self, _station: NodeId, local: Instant) -> NetworkTime {
        NetworkTime::from_nanos(local.as_nanos())
    }
}

/// Whether a transfer by `scheme` is left, and how it then says it ended, where its first round took two seconds and
/// brought `came` of 500 packets. Another way takes ten, after four for the nodes to leave this one.
fn left(scheme: Scheme, came: u16) -> Option<String> {
    let [sink, source] = [1, 9].map(|n| NodeId::new(n).unwrap());
    let channels = Channels::new(&[Channel::FIRST, Channel::LAST]).unwrap();
    let setup = RoutePlan {
        route: Route::new(1, source, sink, scheme, channels),
        nodes: vec![source, sink],
    };
    let terms = TransferTerms {
        other_way: Some(Duration::from_secs(10)),
        ..TransferTerms::default()
    };
    let mut job = Fetch::new(setup.into(), 1, &[sink, source], &terms);
    let end = NetworkTime::ZERO + Duration::from_secs(2);
    assert!(matches!(
        job.poll(NetworkTime::ZERO),
        Step::Order(_, Command::Fetch(_))
    ));
    let [reference, start] = [1, 2].map(|ms| Instant::from_nanos(ms * 1_000_000));
    let woke = Event::WakeUp { reference, start };
    job.on_event(&Wall, NetworkTime::ZERO, sink, woke);
    let first = Event::Pipeline(pipeline::Event::RoundReported {
        round: 0,
        received: came,
        packets: 500,
    });
    job.on_event(&Wall, end, sink, first);
    loop {
        match job.poll(end) {
            Step::Report(_) => {}
            Step::Meter(of) => job.on_meters(vec![None; of.len()]),
            Step::Order(to, Command::Stop) => assert_eq!(to, sink),
            Step::Wait(_) => return None,
            Step::Done(Ok(fetched)) => return fetched.failure,
            _ => panic!("another step"),
        }
    }
}

#[test]
fn rounds_that_bring_little_are_left_for_a_quicker_way() {
    assert_eq!(left(Scheme::P3, 65), None, "some 13 seconds more");
    let why = left(Scheme::P3, 60).unwrap();
    assert!(why.contains("60 of 500"), "{why}");
    // It repairs its chains by itself.
    assert_eq!(left(Scheme::Thalweg, 60), None);
}
