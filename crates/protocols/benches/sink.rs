//! RCRT's sink: data packets of 1,000 flows per second of processor time.
//!
//! Each source sends 100 packets at a packet per second, repeats what it is asked for and answers feedbacks. Of the
//! packets, one in 50 is lost and one in 50 overtaken by the next. What sources do is measured too.

#[path = "../../../bench/cpu_time.rs"]
mod cpu_time;

use cpu_time::CpuTime;
use criterion::{BatchSize, Criterion, Throughput};
use std::collections::VecDeque;
use std::hint::black_box;
use thalweg_protocols::rcrt::sink::{policy, Config, Event, Sink};
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::rcrt::{Down, DownBody, Echo, FeedbackRequest, Flow, Met, Rate, Up, UpBody};
use thalweg_wire::FrameBuf;

const FLOWS: u16 = 1000;
const PACKETS: u16 = 100;
const FLOW: Flow = Flow { sink: 0, number: 0 };
/// Between two packets, whichever flow's.
const SPACING: Duration = Duration::from_millis(1);

#[derive(Default)]
struct Source {
    next: u16,
    rate: Rate,
    again: VecDeque<u16>,
    /// Overtaken by the next.
    late: Option<u16>,
    echo: Option<Echo>,
}

struct Bench {
    sink: Sink,
    sources: Vec<Source>,
    now: Instant,
    heard: u64,
    delivered: u64,
}

impl Bench {
    fn new() -> Self {
        let policy = policy::named("fair").unwrap_or_else(|| panic!("no policy"));
        let mut bench = Self {
            sink: Sink::new(Config::PAPER, policy),
            sources: (0..FLOWS).map(|_| Source::default()).collect(),
            now: Instant::ZERO + SPACING,
            heard: 0,
            delivered: 0,
        };
        for n in 0..FLOWS {
            let (demand, first) = (Rate::from_per_s(1.0), 0);
            bench.says(n, UpBody::Open { demand, first });
        }
        bench.drain();
        bench.heard = 0;
        bench
    }
    fn says(&mut self, n: u16, what: UpBody<'_>) {
        let up = Up {
            flow: FLOW,
            connection: 1,
            what,
        };
        let origin = NodeId::new(n + 1);
        if let (Ok(origin), Ok(bytes)) = (origin, FrameBuf::build(|w| up.emit(w))) {
            self.sink.handle_packet(self.now, origin, &bytes);
            self.heard += 1;
        }
    }
    fn data(&mut self, n: u16, sequence: u16) {
        let source = &mut self.sources[usize::from(n)];
        let what = UpBody::Data {
            met: Met::default(),
            sequence,
            rate: source.rate,
            ask: FeedbackRequest::No,
            echo: source.echo.take(),
            payload: &[0; 64],
        };
        self.says(n, what);
        self.drain();
    }
    fn drain(&mut self) {
        while let Some((to, bytes)) = self.sink.poll_message(self.now) {
            let source = &mut self.sources[usize::from(to.get() - 1)];
            if let Ok(Down {
                what: DownBody::Accept(feedback) | DownBody::Feedback(feedback),
                ..
            }) = Down::parse(&bytes)
            {
                source.rate = feedback.rate;
                source.again.extend(feedback.nacks.iter());
                let (number, waited_ms) = (feedback.number, 600);
                source.echo = Some(Echo { number, waited_ms });
            }
        }
        while let Some(event) = self.sink.poll_event() {
            self.delivered += u64::from(matches!(event, Event::Delivered { .. }));
        }
    }
    /// Each source sends a packet in turn, and before it what was asked for.
    fn run(&mut self) -> u64 {
        for _ in 0..PACKETS {
            for n in 0..FLOWS {
                self.now += SPACING;
                while self.sink.poll_timeout().is_some_and(|at| at <= self.now) {
                    self.sink.handle_timeout(self.now);
                }
                while let Some(sequence) = self.sources[usize::from(n)].again.pop_front() {
                    self.data(n, sequence);
                }
                let source = &mut self.sources[usize::from(n)];
                let sequence = source.next;
                source.next += 1;
                let late = source.late.take();
                match (u32::from(sequence) * 7 + u32::from(n)) % 50 {
                    0 => {}
                    1 => source.late = Some(sequence),
                    _ => self.data(n, sequence),
                }
                if let Some(late) = late {
                    self.data(n, late);
                }
            }
        }
        self.heard
    }
}

fn sink(c: &mut Criterion<CpuTime>) {
    let (mut trial, packets) = (Bench::new(), u64::from(FLOWS) * u64::from(PACKETS));
    let heard = trial.run();
    assert!(trial.delivered > packets * 9 / 10, "{}", trial.delivered);
    // Those that were lost, and those that were overtaken.
    let repaired: u64 = trial.sink.flows().map(|f| f.repaired).sum();
    assert!(repaired > packets * 3 / 100, "{repaired}");
    let mut group = c.benchmark_group("rcrt_sink_1000");
    group.sample_size(20);
    group.throughput(Throughput::Elements(heard));
    group.bench_function("data_packets", |b| {
        b.iter_batched_ref(
            Bench::new,
            |bench| black_box(bench.run()),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default()
        .with_measurement(CpuTime)
        .configure_from_args();
    sink(&mut criterion);
    criterion.final_summary();
}
