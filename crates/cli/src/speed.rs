//! `thalweg run bench.w1`: how fast contention networks are simulated.

use rustix::time::{clock_gettime, ClockId};
use serde::Serialize;
use std::time::Duration;
use thalweg_simnet::speed::{Counts, SpeedError, W1};

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::output::{print, print_json};

/// The benchmark's name, among the experiments'.
pub(crate) const ID: &str = "bench.w1";

#[derive(Debug, Serialize)]
struct Result {
    simulated_s: f64,
    air_frames: u64,
    run_s: f64,
    delivered: u64,
    generated: u64,
}

/// What this process has used of its processor: what else the machine does matters little.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Runs the benchmark once, on one thread, and times it without setting up.
pub(crate) fn run(args: &RunArgs) -> std::result::Result<(), Failure> {
    let nodes = args.nodes.unwrap_or(139) as usize;
    let seed = match args.runs.seeds {
        None => 1,
        Some(seeds) if seeds.first == seeds.last => seeds.first,
        Some(_) => return Err(Failure::Input(format!("{ID}: --seeds: expected one seed"))),
    };
    let mut workload = W1::new(nodes, seed).map_err(failure)?;
    let begin = processor_time();
    let counts: Counts = workload.run().map_err(failure)?;
    let result = Result {
        simulated_s: workload.simulated().as_micros() as f64 / 1e6,
        air_frames: counts.air_frames,
        run_s: processor_time().saturating_sub(begin).as_secs_f64(),
        delivered: counts.delivered,
        generated: counts.generated,
    };
    if args.runs.json {
        return print_json(&result);
    }
    print(&format!(
        "simulated_s={} air_frames={} run_s={:.4} delivered={} generated={}\n",
        result.simulated_s, result.air_frames, result.run_s, result.delivered, result.generated
    ))
}

fn failure(error: SpeedError) -> Failure {
    match error {
        SpeedError::Nodes(_) => Failure::input(error),
        _ => Failure::job(error),
    }
}
