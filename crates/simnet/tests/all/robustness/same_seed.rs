//! Same seed, same bytes: events, outcomes and what is on the air.

use super::bench::{fetch, object, terms, Ladder, Reverse};
use std::io::{self, Write};
use std::ops::ControlFlow::Continue;
use std::sync::{Arc, Mutex};
use thalweg_host::survey::Survey;
use thalweg_sim::{Pcapng, Scope};
use thalweg_simnet::motes::Motes;
use thalweg_testbeds::Site;
use thalweg_units::{Channel, ChannelSet, Duration};
use thalweg_wire::route::{Hopping, Scheme};

/// A file in memory that somebody else reads.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Everything that a run gives: its log and its capture.
fn run(seed: u64) -> (String, Vec<u8>) {
    let ladder = Ladder {
        hops: 3,
        paths: 4,
        least_prr: 0.8,
        seed: 5,
        reverse: Reverse::Alive,
    };
    let site = Site::new(ladder.testbed(), 5);
    let mut session = Motes::open(&site, seed).unwrap();
    let file = Shared::default();
    let capture = Pcapng::new(file.clone(), ladder.nodes(), Scope::Receptions).unwrap();
    session.network().capture(Some(Box::new(capture))).unwrap();
    let mut log = String::new();
    let channels: ChannelSet = [26, 15].iter().map(|c| Channel::new(*c).unwrap()).collect();
    let mut note = |step| {
        log.push_str(&format!("{step:?}\n"));
        Continue(())
    };
    let surveyed = session
        .survey(ladder.sink(), Survey::of(channels), &mut note)
        .unwrap();
    log.push_str(&format!("{:?}\n", surveyed.links));
    for protocol in [
        Scheme::P3,
        Scheme::Pip(Hopping::Fixed),
        Scheme::Pip(Hopping::EveryCyclePair),
        Scheme::PipCit,
    ] {
        let outcome = fetch(
            &mut session,
            &ladder.plan(),
            protocol,
            &terms(),
            &object(seed, 9_000),
        );
        log.push_str(&format!("{outcome:?}\n"));
    }
    let until = session.network().now() + Duration::from_secs(3);
    let mut rest = Vec::new();
    session
        .network()
        .run_until(until, |at, node, event| {
            rest.push(format!("{at} {node} {event:?}\n"));
            Continue(())
        })
        .unwrap();
    log.extend(rest);
    for node in 0..ladder.nodes() {
        log.push_str(&format!("{:?}\n", session.network().energy(node)));
    }
    session.network().capture(None).unwrap();
    let bytes = file.0.lock().unwrap().clone();
    (log, bytes)
}

#[test]
fn two_sessions_of_one_seed_are_the_same_byte_for_byte() {
    let (log, pcap) = run(3);
    let (again, pcap_again) = std::thread::spawn(|| run(3)).join().unwrap();
    assert!(log == again && pcap == pcap_again);
    assert!(log.len() > 1_000 && pcap.len() > 100_000);
    let (other, other_pcap) = run(4);
    assert!(
        log != other && pcap != other_pcap,
        "the seed makes a difference"
    );
}
