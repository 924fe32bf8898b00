//! The library as a stranger uses it.

// Helpers of tests fail by panicking.
#![allow(clippy::unwrap_used)]

use thalweg::{Error, ErrorKind, Network};
use thalweg_units::NodeId;

fn line() -> Network {
    Network::open("line5").unwrap().seed(7).random_object(1_000)
}

#[test]
fn five_lines_bring_an_object_and_the_same_seed_the_same_one() {
    let got = line().collect(5).unwrap();
    let object = got.object().unwrap();
    assert_eq!((object.len(), got.summary().source.get()), (1_000, 5));
    assert!(got.summary().verified && got.summary().goodput_kbps > 0.0);
    let again = line().collect(5).unwrap();
    assert_eq!(
        (again.object(), again.summary()),
        (Some(object), got.summary())
    );
}

#[test]
fn what_cannot_be_asked_is_said_before_anything_runs() {
    let kind = |error: Error| (error.kind(), error.to_string());
    let (of, line_of_text) = kind(Network::open("nowhere").unwrap_err());
    assert_eq!(of, ErrorKind::Input);
    assert!(line_of_text.contains("nowhere"), "{line_of_text}");
    let unknown = line().protocol("p4").unwrap_err();
    assert!(unknown.to_string().contains("p3-best"), "{unknown}");
    let node = line().collect(99).unwrap_err();
    assert_eq!(node.kind(), ErrorKind::Input);
    let hops = line().protocol("rcrt").unwrap().hops(Some(3));
    let refused = hops.check_options().unwrap_err();
    assert_eq!(refused.to_string(), "hops is not for protocol rcrt");
    let nothing = line().random_object(0).collect(5).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::Input);
}

#[test]
fn an_observer_may_stop_it() {
    let stopped = line().run(&mut |_, _| std::ops::ControlFlow::Break(()));
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Stopped);
}

#[test]
fn a_plan_tells_who_relays() {
    let network = line().from(NodeId::new(5).ok());
    let known = network
        .links(&mut |_, _| std::ops::ControlFlow::Continue(()))
        .unwrap();
    let (plan, told) = network.plan(&known).unwrap();
    assert_eq!((told.source, plan.hops), (5, told.hops));
    assert!(told.paths.iter().all(|path| path.len() == told.hops + 1));
}
