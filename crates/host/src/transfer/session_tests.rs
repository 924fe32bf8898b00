use super::*;
use crate::job::run;
use crate::transfer::beside::{id, Beside};
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow::Continue;
use std::rc::Rc;
use thalweg_protocols::rcrt::source::{Ready, Supply};
use thalweg_wire::rcrt::Flow;
use thalweg_wire::{WireError, Writer};

const BYTES: u64 = 4;

fn request(sources: &[u16]) -> SessionRequest {
    SessionRequest {
        sources: sources.to_vec(),
        policy: "fair".to_owned(),
        demand: 20.0,
        demands: BTreeMap::new(),
        duration_s: None,
    }
}

/// What is at a node: packets without an end, each with its number.
struct Numbers {
    released: Rc<Cell<u64>>,
}

impl Supply for Numbers {
    fn room(&self) -> u16 {
        1024
    }
    fn poll(&mut self, _now: Instant, _flow: Flow, _sequence: u32) -> Ready {
        Ready::Packet
    }
    fn read(&mut self, _flow: Flow, sequence: u32, w: &mut Writer<'_>) -> Result<(), WireError> {
        w.bytes(&sequence.to_be_bytes()).map(|_| ())
    }
    fn release(&mut self, _flow: Flow, sequence: u32) {
        self.released.set(u64::from(sequence));
    }
}

/// Has the bytes of the source's last connection.
struct Shelf {
    kept: Rc<RefCell<Vec<u8>>>,
    begun: u32,
    looked: Vec<(f64, SourceStatus)>,
    full_at: usize,
}

impl StreamStore for Shelf {
    fn append(&mut self, events: Vec<StreamEvent>) -> Result<(), Failure> {
        for one in events {
            match one {
                StreamEvent::Begun(..) => {
                    self.begun += 1;
                    self.kept.borrow_mut().clear();
                }
                StreamEvent::Ended(..) => {}
                StreamEvent::Bytes(source, _, bytes) => {
                    assert_eq!(source, id(7));
                    self.kept.borrow_mut().extend(bytes);
                }
            }
        }
        match self.kept.borrow().len() > self.full_at {
            true => Err(Failure::Unfit("no room".to_owned())),
            false => Ok(()),
        }
    }
    fn sample(&mut self, at_s: f64, sources: &[SourceStatus]) -> Result<(), Failure> {
        self.looked.push((at_s, sources[0]));
        Ok(())
    }
}

/// A session of `seconds` seconds with one mote, and how it ended.
fn session(
    seconds: u64,
    (lose, forgets): (u64, Option<NetworkTime>),
    full_at: usize,
) -> (Shelf, Result<(), Failure>) {
    let kept = Rc::new(RefCell::new(Vec::new()));
    let released = Rc::new(Cell::new(0));
    let make = || {
        released.set(0);
        let released = released.clone();
        Numbers { released }
    };
    let mut field = Beside::new(make, 20.0);
    (field.lose, field.forgets) = (lose, forgets);
    let (told, safe) = (released.clone(), kept.clone());
    // A source has forgotten nothing yet that is not safe.
    field.heard = Box::new(move || assert!(told.get() * BYTES <= safe.borrow().len() as u64));
    let shelf = Shelf {
        kept,
        begun: 0,
        looked: Vec::new(),
        full_at,
    };
    let left = Some(Duration::from_secs(seconds));
    let mut job = Session::new(
        (id(1), NetworkTime::ZERO),
        &request(&[7]),
        left,
        Config::STEADY,
        shelf,
    )
    .unwrap();
    let ended = run(&mut field, &mut job, &mut |_| Continue(()));
    assert!(field.now <= NetworkTime::ZERO + Duration::from_secs(seconds + 1));
    (job.finish(field.now).0, ended)
}

#[test]
fn what_came_is_in_order_and_safe_before_its_source_forgets_it() {
    let (shelf, ended) = session(60, (9, None), usize::MAX);
    ended.unwrap();
    let kept = shelf.kept.borrow();
    let packets = kept
        .chunks(4)
        .map(|p| u32::from_be_bytes(p.try_into().unwrap()));
    assert!(packets.eq(0..kept.len() as u32 / 4));
    let (at_s, last) = *shelf.looked.last().unwrap();
    assert!(shelf.looked.len() >= 60 && at_s >= 59.0, "{at_s}");
    assert!(last.packets > 300 && last.repaired > 20, "{last:?}");
    assert!(last.rate.is_some_and(|rate| rate > 0.0));
    assert!(last.bytes == kept.len() as u64 && last.bytes == last.packets * BYTES);
}

#[test]
fn a_source_that_begins_anew_is_told_and_counted_on() {
    let forgets = NetworkTime::ZERO + Duration::from_secs(20);
    let (shelf, ended) = session(60, (u64::MAX, Some(forgets)), usize::MAX);
    ended.unwrap();
    assert_eq!(shelf.begun, 2);
    let (_, last) = *shelf.looked.last().unwrap();
    let (before, after) = (last.bytes, shelf.kept.borrow().len() as u64);
    assert!(
        before > after && after > 0,
        "{before} of both, {after} of the last"
    );
}

#[test]
fn a_keeper_without_room_ends_it() {
    let (shelf, ended) = session(600, (u64::MAX, None), 1_000);
    assert_eq!(ended.unwrap_err().to_string(), "no room");
    assert!(shelf.kept.borrow().len() < 1_200);
}

#[test]
fn what_cannot_be_asked_is_told() {
    let says = |request: SessionRequest, part: &str| {
        let why = request.check().unwrap_err().to_string();
        assert!(why.contains(part), "{why}");
    };
    request(&[7]).check().unwrap();
    says(request(&[]), "list of nodes");
    says(request(&[7, 4, 7]), "node 7 is named twice");
    let change = |change: fn(&mut SessionRequest)| {
        let mut request = request(&[7]);
        change(&mut request);
        request
    };
    says(change(|w| w.policy = "fairest".into()), "demand-limited");
    says(change(|w| w.policy = "weighted:7=0".into()), "above 0");
    says(change(|w| w.demand = f64::NAN), "a demand is from");
    says(change(|w| w.demand = -1.0), "a demand is from");
    says(change(|w| w.demand = 1e9), "a demand is from");
    says(
        change(|w| w.demands = [(7, 0.0)].into()),
        "a demand is from",
    );
    says(
        change(|w| w.demands = [(8, 1.0)].into()),
        "node 8 is no source",
    );
    says(change(|w| w.duration_s = Some(0.0)), "duration_s");
    says(change(|w| w.duration_s = Some(f64::INFINITY)), "duration_s");
}
