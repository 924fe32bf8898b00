//! Streams over simulated nodes with two radios: what FastForward promises, over random paths, losses
//! and queues; how streams end when something is wrong; and what nothing may exceed.

mod baselines;
mod ends;
mod explain;
mod promises;
mod survey;

use std::ops::ControlFlow::Continue;
use thalweg_host::transfer::stream;
use thalweg_planner::streams::StreamPlan;
use thalweg_simnet::streams::{
    run, Carried, Carrier, Ground, Onlookers, PipBoard, Stream, Terms, Version,
};
use thalweg_testbeds::{Loss, Site, Testbed};

const FULL: Carrier = Carrier::FastForward(Version::Full);
const NO_BACK_PRESSURE: Carrier = Carrier::FastForward(Version::NoBackPressure);
const NO_ACK: Carrier = Carrier::FastForward(Version::NoAck);

/// A row of Opals without luck or foreign traffic.
const ROW: &str = r#"
name = "row"
board = "opal"
sink = 1
nodes = [
    { id = 1, x_m = 0.0, y_m = 0.0 }, { id = 2, x_m = 8.0, y_m = 0.0 },
    { id = 3, x_m = 16.0, y_m = 0.0 }, { id = 4, x_m = 24.0, y_m = 0.0 },
    { id = 5, x_m = 32.0, y_m = 0.0 }, { id = 6, x_m = 40.0, y_m = 0.0 },
    { id = 7, x_m = 48.0, y_m = 0.0 },
]
[propagation]
model = "open_plan"
place = "still"
clean_bursts = false
shadowing_db = 0.0
tx_spread_db = 0.0
noise_spread_db = 0.0
"#;

fn ground_of(testbed: Testbed, seed: u64) -> Ground {
    Ground::new(Site::with_all_radios(testbed, seed).unwrap()).unwrap()
}
fn row(seed: u64) -> Ground {
    ground_of(Testbed::from_toml(ROW, "row").unwrap(), seed)
}
fn path(ground: &Ground, hops: usize) -> StreamPlan {
    let via = (0..=hops).rev().collect();
    ground
        .plan(&ground.request(hops, 0, Some(via)), &[])
        .unwrap()
}
fn object(packets: usize) -> Vec<u8> {
    (0..packets * 100).map(|n| (n * 31 % 253) as u8).collect()
}
/// What becomes of so many packets over `plan` while `onlookers` look on.
fn carry(
    ground: &Ground,
    plan: StreamPlan,
    packets: usize,
    (terms, seed): (&Terms, u64),
    onlookers: &mut Onlookers,
) -> Carried {
    let loads = [(plan, object(packets).into())];
    let carried = run(
        ground,
        &loads,
        terms,
        seed,
        &mut |_| Continue(()),
        onlookers,
    );
    carried.unwrap().remove(0)
}
fn go(ground: &Ground, plan: &StreamPlan, packets: usize, terms: &Terms, seed: u64) -> Stream {
    let (plan, mut nobody) = (plan.clone(), Onlookers::default());
    let carried = carry(ground, plan, packets, (terms, seed), &mut nobody);
    carried.details.stream
}
fn terms(carrier: Carrier) -> Terms {
    Terms {
        carrier,
        ..Terms::default()
    }
}
