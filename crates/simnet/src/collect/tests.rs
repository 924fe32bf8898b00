use super::*;
use std::ops::ControlFlow::Continue;
use thalweg_wire::route::PayloadSize;

#[test]
fn a_node_has_one_object_for_one_seed() {
    let [one, other] = [1, 2].map(|id| NodeId::new(id).unwrap());
    let object = |seed, source, bytes| Object::Random { bytes }.of(seed, source);
    let long = object(1, one, 2_000);
    assert_eq!(object(1, one, 700)[..], long[..700]);
    assert!(object(2, one, 700)[..] != long[..700]);
    assert!(object(1, other, 700)[..] != long[..700]);
}

#[test]
fn another_attempt_goes_over_another_plan() {
    let site = Site::new(Testbed::load("building100").unwrap(), 1);
    let mut quiet = |_: &str, _: Progress| Continue(());
    let protocol = Pipelined::named("p3-planned").unwrap();
    let patience = Patience::DEFAULT;
    let collector = Surveyed::open(site, (None, protocol), None, patience, &mut quiet).unwrap();
    let request = PlanRequest {
        from: None,
        bytes: 1_000,
        protocol,
        payload: PayloadSize::MAX,
        paths: None,
        hops: None,
    };
    let links = collector.links();
    let first = links.plan(&request).unwrap();
    let again = PlanRequest {
        from: Some(collector.testbed().nodes[first.source].id),
        protocol: Pipelined::P3,
        ..request
    };
    let second = links.plan_attempt(&again, 1).unwrap();
    let third = links.plan_attempt(&again, 2).unwrap();
    assert_eq!((second.source, second.sink), (first.source, first.sink));
    assert!(second.active_nodes().len() > first.active_nodes().len());
    assert_ne!(second.stages, third.stages, "groups are drawn again");
}
