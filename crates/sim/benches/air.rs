//! Simulator throughput: nodes that broadcast without pause, in events and air frames per second
//! of processor time.
//!
//! `saturated` is the building of 139 nodes, each sending a 60-byte frame on channel 26 about
//! every 20 ms: some 15 frames are on the air at any time. `quiet` is 40 nodes that take turns, one
//! frame at a time, which is what a pipeline looks like.

#[path = "../../../bench/cpu_time.rs"]
mod cpu_time;

use cpu_time::CpuTime;
use criterion::{Criterion, Throughput};
use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;
use thalweg_engine::{
    Ability, Cca, Engine, OpId, RadioEvent, RadioId, RadioOp, Request, Wants, When,
};
use thalweg_medium::chip::CC2420;
use thalweg_medium::{corridor_layout, BuildingModel, Environment};
use thalweg_sim::{boards, Network, Stats};
use thalweg_units::{Channel, Duration, Instant, SimTime};

/// Sends a frame whenever its period has passed, and listens in between.
struct Broadcaster {
    due: Option<Instant>,
    period: Duration,
    listening: bool,
    send: bool,
    mpdu: [u8; 60],
    heard: u64,
}

impl Engine for Broadcaster {
    /// When to send first, after now.
    type Command = Duration;
    type Event = ();
    fn wants(&self, radio: RadioId) -> Option<Wants> {
        (radio == RadioId(0)).then(|| Wants::of(&[Ability::Stream]))
    }
    fn handle_command(&mut self, now: Instant, first: Duration) {
        self.due = Some(now + first);
    }
    fn handle_radio(&mut self, _at: Instant, _radio: RadioId, event: RadioEvent<'_>) {
        if let RadioEvent::Frame { mpdu, .. } = event {
            self.heard += u64::from(mpdu[0]);
        }
    }
    fn handle_timeout(&mut self, at: Instant) {
        self.send = true;
        self.due = Some(at + self.period);
    }
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        let channel = Channel::LAST;
        let op = if !std::mem::replace(&mut self.listening, true) {
            RadioOp::Listen {
                channel,
                head_bytes: 0,
            }
        } else if std::mem::take(&mut self.send) {
            RadioOp::Stream {
                mpdu: &self.mpdu,
                channel,
                when: When::Now,
                cca: Cca::Skip,
            }
        } else {
            return None;
        };
        Some(Request::new(OpId(0), op))
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }
    fn poll_event(&mut self) -> Option<()> {
        None
    }
}

fn network(env: &Arc<Environment>, spacing: Duration) -> Network<Broadcaster> {
    let nodes = env.ears.len();
    let engines = (0..nodes)
        .map(|n| Broadcaster {
            due: None,
            period: spacing * nodes as u64,
            listening: false,
            send: false,
            mpdu: [n as u8; 60],
            heard: 0,
        })
        .collect();
    let mut net = Network::new(Arc::clone(env), &[boards::telosb()], engines, 1)
        .unwrap_or_else(|error| panic!("{error}"));
    for n in 0..nodes {
        net.command(n, Duration::from_millis(2) + spacing * n as u64);
    }
    net
}

fn run(net: &mut Network<Broadcaster>, until: SimTime) -> Stats {
    let end = net.run_until(until, |_, _, ()| ControlFlow::Continue(()));
    black_box(end.is_ok());
    net.stats()
}

fn building(floors: u16, nodes: usize) -> Arc<Environment> {
    let layout = corridor_layout(floors, nodes, 153.0, 8.0, 3.5, 1);
    Arc::new(Environment::from_building(
        &BuildingModel::default(),
        &layout,
        &CC2420,
        1,
    ))
}

fn air(c: &mut Criterion<CpuTime>) {
    let cases = [
        (
            "saturated_139",
            building(3, 139),
            Duration::from_micros(144),
        ),
        ("quiet_40", building(1, 40), Duration::from_micros(2500)),
    ];
    for (name, env, spacing) in cases {
        let second = SimTime::from_nanos(1_000_000_000);
        let stats = run(&mut network(&env, spacing), second);
        let mut group = c.benchmark_group(name);
        group.sample_size(20);
        for (what, count) in [("air_frames", stats.air_frames), ("events", stats.events)] {
            group.throughput(Throughput::Elements(count));
            group.bench_function(what, |b| {
                b.iter_batched_ref(
                    || network(&env, spacing),
                    |net| run(net, second),
                    criterion::BatchSize::LargeInput,
                );
            });
        }
        group.finish();
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .with_measurement(CpuTime)
        .configure_from_args();
    air(&mut criterion);
    criterion.final_summary();
}
