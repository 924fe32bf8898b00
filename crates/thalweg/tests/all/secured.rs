//! A secured network as its user sees it, and as an eavesdropper hears it.

use std::collections::BTreeSet;
use std::ops::ControlFlow::Continue;
use std::sync::{Arc, Mutex};
use thalweg::{Error, ErrorKind, Explain, Gathering, Network, Object, Visit};
use thalweg_sim::{Capture, CaptureError, Captured};
use thalweg_testbeds::Testbed;
use thalweg_units::NodeId;
use thalweg_wire::seal::frame::Sealing;

fn line() -> Network {
    Network::open("line5").unwrap().seed(7).random_object(3_000)
}
fn secured() -> Network {
    line().secured(Sealing::Sealed)
}

/// Every frame of a transfer, as anybody near hears it.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<Vec<u8>>>>);

impl Capture for Listener {
    fn frame(&mut self, frame: &Captured<'_>) -> Result<(), CaptureError> {
        self.0.lock().unwrap().push(frame.mpdu.to_vec());
        Ok(())
    }
    fn flush(&mut self) -> Result<(), CaptureError> {
        Ok(())
    }
}

/// The frames of a transfer from node 5, and what arrived.
fn heard(network: &Network) -> (Vec<Vec<u8>>, Vec<u8>) {
    let listener = Listener::default();
    let network = network.clone().from(NodeId::new(5).ok());
    let watch = &mut |_: &str, _| Continue(());
    let surveyed = network.survey(watch).unwrap();
    let request = network.request().unwrap();
    let capture = Some(Box::new(listener.clone()) as Box<dyn Capture>);
    let (report, _) = surveyed
        .fetch(&request, capture, Explain::Nothing, watch)
        .unwrap();
    let frames = listener.0.lock().unwrap().clone();
    (frames, report.object().unwrap().to_vec())
}

#[test]
fn the_object_arrives_and_says_that_it_was_sealed() {
    let (open, sealed) = (line().collect(5).unwrap(), secured().collect(5).unwrap());
    assert_eq!(open.object(), sealed.object());
    assert!(sealed.summary().verified && sealed.summary().sealed);
    assert!(open.summary().verified && !open.summary().sealed);
    assert!(sealed.baseline().is_none(), "PIP is not sealed");
    let again = secured().collect(5).unwrap();
    assert_eq!(again.summary(), sealed.summary(), "one seed, one result");
    let json = |summary| serde_json::to_string(summary).unwrap();
    assert!(json(sealed.summary()).contains(r#""sealed":true"#));
    assert!(!json(open.summary()).contains("sealed"));
}

/// Nobody who listens reads a piece of it. In an open network he reads all of it.
#[test]
fn a_listener_reads_nothing() {
    let windows = |bytes: &[u8]| {
        bytes
            .windows(8)
            .map(<[u8]>::to_vec)
            .collect::<BTreeSet<_>>()
    };
    for (network, is_read) in [(line(), true), (secured(), false)] {
        let (frames, object) = heard(&network);
        let pieces = windows(&object);
        let on_air: BTreeSet<_> = frames.iter().flat_map(|frame| windows(frame)).collect();
        assert_eq!(pieces.intersection(&on_air).next().is_some(), is_read);
    }
}

/// A session of RCRT, too, brings sealed objects of which nobody who listens reads a piece.
#[test]
fn a_session_is_sealed() {
    let session = |network: Network| {
        let (network, listener) = (network.protocol("rcrt").unwrap(), Listener::default());
        let capture = Some(Box::new(listener.clone()) as Box<dyn Capture>);
        let all = Gathering::default();
        let report = network
            .gather(&all, capture, &mut |_| Continue(()))
            .unwrap();
        let frames = listener.0.lock().unwrap().clone();
        (report, frames)
    };
    for (network, is_sealed) in [(line(), false), (secured(), true)] {
        let (report, frames) = session(network.clone());
        let on_air: BTreeSet<&[u8]> = frames.iter().flat_map(|frame| frame.windows(8)).collect();
        assert_eq!((report.whole, report.nodes.len()), (4, 4));
        for node in &report.nodes {
            let summary = &node.outcome.summary;
            assert_eq!((summary.verified, summary.sealed), (true, is_sealed));
            let object = node.object.as_ref().unwrap();
            let is_read = object.windows(8).any(|piece| on_air.contains(piece));
            assert_eq!(is_read, !is_sealed);
        }
        let (again, _) = session(network);
        assert_eq!(again.feedbacks, report.feedbacks, "one seed, one result");
    }
}

/// Parts of an object, and other sizes of packets, are the same bytes on the air, wherever they are cut.
#[test]
fn every_cut_of_an_object_is_the_same_on_the_air() {
    let of = |payload| {
        let bytes: Arc<[u8]> = vec![0x5a; 2_000].into();
        let network = secured()
            .object(Object::Bytes(bytes))
            .payload(Some(payload));
        let (frames, object) = heard(&network);
        assert_eq!(object, [0x5a; 2_000]);
        frames
    };
    // Of constant plaintext, a block that is used twice shows in the ciphertext.
    let frames = of(96);
    let data = frames.iter().filter(|frame| frame.len() == 100);
    let blocks: Vec<&[u8]> = data.flat_map(|frame| frame[4..].chunks(16)).collect();
    let different: BTreeSet<&[u8]> = blocks.iter().copied().collect();
    // 20 whole packets of six blocks, and the last of five and padding.
    assert!(
        different.len() >= 125,
        "{} of {}",
        different.len(),
        blocks.len()
    );
    let other = of(64);
    let data = other.iter().filter(|frame| frame.len() == 68);
    let blocks: BTreeSet<&[u8]> = data.flat_map(|frame| frame[4..].chunks(16)).collect();
    assert!(different.intersection(&blocks).count() >= 124);
}

#[test]
fn what_is_not_sealed_is_refused_in_one_line() {
    let kind = |error: Error| (error.kind(), error.to_string());
    for protocol in ["p3", "pip", "p3-best", "rcrt-published"] {
        let network = secured().protocol(protocol).unwrap();
        let (of, line) = kind(network.check_options().unwrap_err());
        assert_eq!(of, ErrorKind::Input);
        assert_eq!(line, format!("secure is not for protocol {protocol}"));
    }
}

/// A testbed's file says the same for all commands.
#[test]
fn a_testbed_may_demand_it() {
    let text = |security: &str| {
        format!(
            "name = \"short\"\n{security}\n[[nodes]]\nid = 1\nx_m = 0\ny_m = 0\n\
             [[nodes]]\nid = 2\nx_m = 8\ny_m = 0\n"
        )
    };
    let read = |security: &str| Testbed::from_toml(&text(security), "short.toml");
    let testbed = read("security = \"require\"").unwrap();
    let network = Network::of(testbed).random_object(500);
    assert!(network.collect(2).unwrap().summary().sealed);
    let p3 = network.clone().protocol("p3").unwrap();
    let p3 = p3.collect(2).unwrap_err();
    assert_eq!(p3.kind(), ErrorKind::Input);
    assert!(p3.to_string().contains("is not sealed"), "{p3}");
    for (protocol, sealed) in [
        ("rcrt", Ok(true)),
        ("rcrt-published", Err(ErrorKind::Input)),
    ] {
        let network = network.clone().protocol(protocol).unwrap();
        let all = Gathering::default();
        let told = network.gather(&all, None, &mut |_| Continue(()));
        let told = told.map(|report| report.nodes[0].outcome.summary.sealed);
        assert_eq!(told.map_err(|why| why.kind()), sealed, "{protocol}");
    }
    assert!(
        !Network::of(read("").unwrap())
            .random_object(500)
            .collect(2)
            .unwrap()
            .summary()
            .sealed
    );
    assert!(read("security = \"perhaps\"").is_err());
}

/// What brings the objects of all nodes is sealed: one after the other, or into two base stations at once.
#[test]
fn all_nodes_bring_sealed_objects() {
    let network = Network::open("motes20").unwrap().seed(3);
    let network = network.random_object(500).secured(Sealing::Sealed);
    let ids =
        |ids: &[u16]| -> Vec<NodeId> { ids.iter().map(|id| NodeId::new(*id).unwrap()).collect() };
    for to in [ids(&[]), ids(&[1, 20])] {
        let all = network.all_nodes(&to).unwrap();
        let mut whole = Vec::new();
        let mut visit = |visit: Visit<'_>| {
            let summary = match visit {
                Visit::Ended(_, Ok(report)) => report.summary(),
                Visit::InWave(turn, Some(_)) => &turn.summary,
                Visit::Ended(..) | Visit::InWave(..) => panic!("{visit:?}"),
                Visit::Surveyed | Visit::Begins(_) => return Ok(()),
            };
            assert!(summary.verified && summary.sealed, "{summary:?}");
            whole.push(summary.source);
            Ok::<(), Error>(())
        };
        let left = all.sources().to_vec();
        all.collect(left, &mut |_, _| Continue(()), &mut visit)
            .unwrap();
        whole.sort_unstable();
        assert_eq!(whole, all.sources());
    }
    let refused = network.all_nodes(&ids(&[1, 2, 3, 4, 5])).unwrap_err();
    assert!(refused.to_string().contains("4 base stations"), "{refused}");
}

/// Seven hops over links that carry half of all frames: blocks hop by hop are sealed, too.
#[test]
fn a_row_of_lossy_links_brings_a_sealed_object() {
    let mut text = String::from("src,dst,channel,prr\n");
    for (from, to) in (1..8).flat_map(|n| [(n, n + 1), (n + 1, n)]) {
        for channel in [15, 20, 25, 26] {
            text.push_str(&format!("{from},{to},{channel},0.5\n"));
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("row.csv");
    std::fs::write(&file, text).unwrap();
    let testbed = Testbed::load(&file).unwrap();
    let network = Network::of(testbed).to(Some(NodeId::new(1).unwrap()));
    let network = network.random_object(2_000).secured(Sealing::Sealed);
    let report = network.collect(8).unwrap();
    let summary = report.summary();
    assert!(summary.verified && summary.sealed, "{summary:?}");
    assert_eq!(
        (report.object().map(<[u8]>::len), summary.hops),
        (Some(2_000), 7)
    );
}
