//! x
use thalweg_host::link_state::PlanRequest;
use thalweg_host::registry::Pipelined;
use thalweg_simnet::collect;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::NodeId;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let seed: u64 = a[4].parse().unwrap();
    let id = |s: &str| NodeId::new(s.parse().unwrap()).ok();
    let tb = Testbed::load(&a[1]).unwrap();
    let file = collect::measured(&tb, id(&a[3]), None, seed)
        .unwrap()
        .unwrap();
    let s = collect::Surveyed::open(
        Site::new(tb, seed),
        (id(&a[3]), Pipelined::named("thalweg").unwrap()),
        None,
        &mut |_, _| std::ops::ControlFlow::Continue(()),
    )
    .unwrap();
    let p = s
        .plan(&PlanRequest {
            from: id(&a[2]),
            bytes: 59000,
            protocol: Pipelined::HOP_BY_HOP,
            payload: thalweg_wire::route::PayloadSize::MAX,
            paths: None,
            hops: None,
        })
        .unwrap();
    println!(
        "expect {} {:?}",
        p.prediction.goodput_kbps, p.prediction.hop_delivery
    );
    for (h, c) in p.paths[0].windows(2).zip(&p.channels[1..]) {
        let q = |l: &thalweg_planner::LinkQualities, f, t| {
            l.quality(f, t, *c).map(|q| (q.prr, q.rssi, q.sent))
        };
        println!(
            "{}->{} ch {c} surveyed {:?} back {:?} file {:?} back {:?}",
            h[0] + 1,
            h[1] + 1,
            q(s.links().links(), h[0], h[1]),
            q(s.links().links(), h[1], h[0]),
            q(file.links(), h[0], h[1]).map(|q| q.0),
            q(file.links(), h[1], h[0]).map(|q| q.0)
        );
    }
}
