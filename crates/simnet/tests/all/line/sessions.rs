//! Sessions of RCRT over a line: what a source is told is there, is kept, whichever end goes away.

use super::bench::{
    assert_whole, collect, id, line, setup, site, Bad, Done, Faults, Place, Station, SEED,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow::Continue;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use thalweg_host::job::{run, Failure};
use thalweg_host::line::{LineNetwork, LineSession};
use thalweg_host::network::{Layered, Network, NetworkFault, NetworkTime, Notice, NoticeOf};
use thalweg_host::transfer::session::{
    Session, SessionRequest, SourceStatus, StreamEvent, StreamStore,
};
use thalweg_protocols::rcrt::sink::Config;
use thalweg_protocols::rcrt::Send;
use thalweg_simnet::basestation::Setup;
use thalweg_simnet::collect::Object;
use thalweg_units::{Duration, NodeId};
use thalweg_wire::rcrt::{Down, DownBody};

const SOURCES: [u16; 3] = [4, 6, 17];
/// Bytes of a packet.
const PACKET: usize = 64;
/// Bytes of a node's object: more than a session of these tests brings.
const BYTES: u32 = 200_000;

fn request() -> SessionRequest {
    SessionRequest {
        sources: SOURCES.to_vec(),
        policy: "weighted:17=3".to_owned(),
        demand: 4.0,
        demands: BTreeMap::new(),
        duration_s: None,
    }
}

fn quick(boot: u32) -> Setup {
    Setup {
        boot,
        speed: 40.0,
        ..setup(BYTES)
    }
}

/// What is safe of each source, since it began.
type Kept = Rc<RefCell<BTreeMap<NodeId, Vec<u8>>>>;

struct Shelf {
    kept: Kept,
    last: Vec<SourceStatus>,
}

impl StreamStore for Shelf {
    fn append(&mut self, events: Vec<StreamEvent>) -> Result<(), Failure> {
        let mut kept = self.kept.borrow_mut();
        for one in events {
            match one {
                StreamEvent::Begun(source, _) => drop(kept.insert(source, Vec::new())),
                StreamEvent::Ended(..) => {}
                StreamEvent::Bytes(source, _, bytes) => {
                    kept.entry(source).or_default().extend(bytes);
                }
            }
        }
        Ok(())
    }
    fn sample(&mut self, _at_s: f64, sources: &[SourceStatus]) -> Result<(), Failure> {
        self.last = sources.to_vec();
        Ok(())
    }
}

/// A session whose sources are told nothing that is not safe. `events` is told how many packets came, and may stop it.
struct Checked<'a, F: FnMut(u32) -> bool> {
    below: LineSession<'a>,
    kept: Kept,
    told: u32,
    events: u32,
    goes_on: F,
}

impl<'a, F: FnMut(u32) -> bool> Layered for Checked<'a, F> {
    type Inner = LineSession<'a>;

    fn inner(&self) -> &LineSession<'a> {
        &self.below
    }
    fn inner_mut(&mut self) -> &mut LineSession<'a> {
        &mut self.below
    }
    fn advance(&mut self, until: NetworkTime) -> Result<NoticeOf<LineSession<'a>>, NetworkFault> {
        let news = self.below.next(until)?;
        self.events += u32::from(matches!(news, Notice::Event(..)));
        match (self.goes_on)(self.events) {
            true => Ok(news),
            false => Ok(Notice::Cancelled),
        }
    }
    fn pass_on(&mut self, station: NodeId, send: Send) -> Result<(), NetworkFault> {
        let down = Down::parse(&send.message).unwrap();
        if let DownBody::Accept(feedback) | DownBody::Feedback(feedback) = down.what {
            let safe = self.kept.borrow().get(&send.to).map_or(0, Vec::len) / PACKET;
            assert!(
                usize::from(feedback.next) <= safe,
                "node {} is told of {} packets, {safe} are safe",
                send.to,
                feedback.next
            );
            self.told += 1;
        }
        self.below.order(station, send)
    }
}

/// What is kept is each node's object, from its beginning and without a gap; how many packets that is.
fn packets(kept: &Kept) -> usize {
    let kept = kept.borrow();
    for (node, bytes) in kept.iter() {
        let object = Object::Random { bytes: BYTES }.of(SEED, *node);
        assert!(object.starts_with(bytes), "node {node}");
    }
    kept.values().map(|bytes| bytes.len() / PACKET).sum()
}

/// A session of `seconds` seconds of the network's time at most, as long as `goes_on` says so: how it ended, what its
/// sources were told, and what was kept. Where it is `killed`, nothing is done at its end.
fn session(
    line: &mut LineNetwork,
    seconds: u64,
    killed: bool,
    goes_on: impl FnMut(u32) -> bool,
) -> (Result<(), Failure>, u32, Kept, Vec<SourceStatus>) {
    let station = line.station().unwrap().node;
    let sources: Vec<_> = request().nodes().map(|node| (node, 4.0)).collect();
    let below = line.session(station, &sources).unwrap();
    let kept = Kept::default();
    let shelf = Shelf {
        kept: kept.clone(),
        last: Vec::new(),
    };
    let left = Some(Duration::from_secs(seconds));
    let mut job = Session::new(
        (station, below.now()),
        &request(),
        left,
        Config::STEADY,
        shelf,
    )
    .unwrap();
    let mut field = Checked {
        below,
        kept: kept.clone(),
        told: 0,
        events: 0,
        goes_on,
    };
    let ended = run(&mut field, &mut job, &mut |_| Continue(()));
    if killed {
        return (ended, field.told, kept, Vec::new());
    }
    let (shelf, safe) = job.finish(field.now());
    safe.unwrap();
    (ended, field.told, kept, shelf.last)
}

#[test]
fn a_session_brings_what_sources_tell_at_rates_of_the_sink() {
    let site = site("floor21");
    let station = Station::start(&site, quick(1));
    let mut line = line(Place::of(&station)).unwrap();
    let (ended, told, kept, last) = session(&mut line, 150, false, |_| true);
    ended.unwrap();
    let events = packets(&kept);
    assert!(
        events > 300 && told > 10,
        "{events} packets, {told} answers"
    );
    assert_eq!(events as u64, last.iter().map(|s| s.packets).sum::<u64>());
    let rate = |at: usize| last[at].rate.unwrap();
    assert!((rate(2) / rate(0) - 3.0).abs() < 0.1, "{last:?}");
    // Afterwards the nodes are what they were.
    let reports = collect(&mut line, &site, (&[17], 3_000), |_| {}).unwrap();
    assert_whole(&reports[0], 3_000);
}

#[test]
fn whichever_end_is_killed_what_a_source_forgot_is_safe() {
    let site = site("floor21");
    let station = Station::start(&site, quick(1));
    let place = Place::of(&station);
    let mut host = line(place.clone()).unwrap();
    let (ended, told, kept, _) = session(&mut host, 1_000, true, |events| events < 150);
    assert!(matches!(ended, Err(Failure::Cancelled)));
    let events = packets(&kept);
    assert!(events > 20 && told > 2, "{events} packets, {told} answers");
    drop(host);

    // Another host, and its base station is killed under it.
    let mut host = line(place.clone()).unwrap();
    let mut station = Some(station);
    let (ended, told, kept, _) = session(&mut host, 1_000, false, |events| {
        if events > 150 {
            drop(station.take());
        }
        true
    });
    let why = ended.unwrap_err();
    assert!(matches!(why, Failure::Silent(_)), "{why}");
    assert!(packets(&kept) > 100 && told > 2, "{told} answers");

    let again = Station::start(&site, quick(2));
    place.moved(&again);
    assert_eq!(
        host.wait(std::time::Duration::from_secs(5)).unwrap().boot,
        2
    );
    let now = host.now();
    while !matches!(host.next(now).unwrap(), Notice::Nothing) {}
    let (ended, _, kept, _) = session(&mut host, 60, false, |_| true);
    ended.unwrap();
    assert!(packets(&kept) > 50);
}

#[test]
fn sessions_of_strangers_are_refused() {
    let site = site("floor21");
    let station = Station::start(&site, quick(1));
    let mut line = line(Place::of(&station)).unwrap();
    let sink = line.station().unwrap().node;
    for stranger in [id(999), sink] {
        let refused = line.session(sink, &[(stranger, 1.0)]);
        let why = refused.map(|_| ()).unwrap_err().to_string();
        assert!(why.contains("no node of its network"), "{why}");
    }
    assert!(line.session(sink, &[]).is_err());
    assert!(line.session(id(4), &[(id(6), 1.0)]).is_err());
    assert!(line.session(sink, &[(id(6), 1.0)]).is_ok());
}

#[test]
fn a_bad_line_changes_no_byte_of_a_session() {
    let site = site("floor21");
    let station = Station::start(&site, quick(1));
    let done = Arc::new(Done::default());
    let mut line = line(Bad {
        place: Place::of(&station),
        faults: Faults {
            dropped: 15,
            flipped: 15,
            delayed: 10,
        },
        seed: SEED,
        done: done.clone(),
    })
    .unwrap();
    let (ended, _, kept, _) = session(&mut line, 100, false, |_| true);
    ended.unwrap();
    let events = packets(&kept);
    let harmed = done.dropped.load(Ordering::Relaxed) + done.flipped.load(Ordering::Relaxed);
    assert!(
        events > 100 && harmed > 5,
        "{events} packets, {harmed} harmed"
    );
}
