extern crate std;
use super::*;
use proptest::prelude::*;
use std::vec;
use thalweg_units::Duration;
use thalweg_wire::rcrt::Echo;

const FLOW: Flow = Flow { sink: 0, number: 0 };
const SECOND: Duration = Duration::from_secs(1);

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}

/// A sink and its sources' words, at a time of the test's own.
struct Bench {
    sink: Sink,
    now: Instant,
}

impl Bench {
    fn new(policy: &str) -> Self {
        Self::with(Config::PAPER, policy)
    }
    fn with(config: Config, policy: &str) -> Self {
        let sink = Sink::new(config, policy::named(policy).unwrap());
        let now = Instant::ZERO + SECOND;
        Self { sink, now }
    }
    fn hear(&mut self, n: u16, what: Says<'_>) {
        let up = Up {
            flow: FLOW,
            connection: 1,
            what,
        };
        let bytes = FrameBuf::build(|w| up.emit(w)).unwrap();
        self.sink.handle_packet(self.now, id(n), &bytes);
    }
    fn open(&mut self, n: u16, demand: f64) {
        let demand = Rate::from_per_s(demand);
        self.hear(n, Says::Open { demand, first: 0 });
    }
    fn data(&mut self, n: u16, sequence: u16, ask: Ask, echo: Option<Echo>) {
        let rate = self.rate(n);
        let payload = &sequence.to_le_bytes();
        self.hear(
            n,
            Says::Data {
                sequence,
                rate,
                ask,
                echo,
                payload,
            },
        );
    }
    /// The rate that `n` has, as it would report it.
    fn rate(&self, n: u16) -> Rate {
        let view = self.view(n);
        Rate::from_per_s(view.rate).max(Rate::LEAST)
    }
    fn view(&self, n: u16) -> View {
        let mut flows = self.sink.flows();
        flows.find(|f| f.origin == id(n)).unwrap()
    }
    /// All that is sent now: to whom, which kind, number, what is next and missing.
    fn sends(&mut self) -> Vec<(u16, &'static str, u8, u16, Vec<u16>)> {
        let mut all = Vec::new();
        while let Some((to, bytes)) = self.sink.poll_message(self.now) {
            let down = Down::parse(&bytes).unwrap();
            let (kind, feedback) = match down.what {
                Answers::Accept(f) => ("accept", Some(f)),
                Answers::Feedback(f) => ("feedback", Some(f)),
                Answers::Finished => ("finished", None),
                Answers::Unknown => ("unknown", None),
                Answers::Refuse => ("refuse", None),
            };
            let (number, next) = feedback.map_or((0, 0), |f| (f.number, f.next));
            let missing = feedback.map_or(Vec::new(), |f| f.nacks.iter().collect());
            all.push((to.get(), kind, number, next, missing));
        }
        all
    }
    fn delivered(&mut self) -> Vec<u64> {
        let events = core::iter::from_fn(|| self.sink.poll_event());
        let sequence = |event| match event {
            Event::Delivered { sequence, .. } => Some(sequence),
            _ => None,
        };
        events.filter_map(sequence).collect()
    }
}

#[test]
fn packets_are_delivered_in_order_and_missing_ones_asked_for() {
    let mut bench = Bench::new("fair");
    bench.open(1, 1.0);
    assert_eq!(bench.sends(), [(1, "accept", 1, 0, vec![])]);
    for sequence in [0, 2, 3] {
        bench.data(1, sequence, Ask::No, None);
    }
    assert_eq!(bench.delivered(), [0]);
    // The accept was a feedback too: the next comes a round trip later, with the packet that comes then.
    assert_eq!(bench.sends(), []);
    bench.now += SECOND * 2;
    bench.data(1, 5, Ask::No, None);
    assert_eq!(bench.sends(), [(1, "feedback", 2, 1, vec![1, 4])]);
    bench.data(1, 1, Ask::No, None);
    bench.data(1, 4, Ask::No, None);
    assert_eq!(bench.delivered(), [1, 2, 3, 4, 5]);
    assert_eq!(bench.sends(), []);
}

#[test]
fn feedback_has_four_reasons() {
    let control = Control::Fixed;
    let config = Config {
        control,
        ..Config::PAPER
    };
    let mut bench = Bench::with(config, "fair");
    bench.open(1, 1.0);
    bench.data(1, 0, Ask::No, None);
    bench.sends();
    let mut feedback = |ask, sequence, rate: Option<Rate>| {
        bench.now += SECOND * 5;
        let rate = rate.unwrap_or(bench.rate(1));
        let (echo, payload) = (None, &[1, 2][..]);
        bench.hear(
            1,
            Says::Data {
                sequence,
                rate,
                ask,
                echo,
                payload,
            },
        );
        bench.sends().len()
    };
    assert_eq!(feedback(Ask::No, 1, None), 0, "no reason");
    assert_eq!(feedback(Ask::Feedback, 2, None), 1, "asked for");
    assert_eq!(feedback(Ask::No, 2, None), 1, "a duplicate");
    assert_eq!(feedback(Ask::No, 3, Some(Rate::LEAST)), 1, "another rate");
    assert_eq!(feedback(Ask::No, 5, None), 1, "missing");
}

#[test]
fn round_trips_are_measured_without_what_the_source_waited() {
    let mut bench = Bench::new("fair");
    bench.open(1, 1.0);
    let (.., number, _, _) = bench.sends().remove(0);
    bench.now += Duration::from_millis(900);
    let waited_ms = 500;
    bench.data(1, 0, Ask::No, Some(Echo { number, waited_ms }));
    assert!((bench.view(1).rtt_s - 0.4).abs() < 1e-9);
    // An echo of nothing, and one that waited longer than it was away.
    bench.data(
        1,
        1,
        Ask::No,
        Some(Echo {
            number: 77,
            waited_ms,
        }),
    );
    let waited_ms = 5000;
    bench.data(1, 2, Ask::No, Some(Echo { number, waited_ms }));
    assert!((bench.view(1).rtt_s - 0.4).abs() < 1e-9);
}

#[test]
fn the_total_grows_by_a_step_and_shrinks_by_what_was_lost() {
    let mut bench = Bench::new("fair");
    bench.open(1, 4.0);
    bench.open(2, 4.0);
    bench.sends();
    assert!((bench.sink.total() - 8.0).abs() < 1e-9);
    bench.data(2, 0, Ask::No, None);
    assert!((bench.sink.total() - 8.5).abs() < 1e-9, "A = .5");
    bench.data(1, 0, Ask::No, None);
    assert!((bench.sink.total() - 8.5).abs() < 1e-9, "not so soon");
    // 9 packets at 4.25 a second, and two round trips of 1 s, later.
    bench.now += Duration::from_millis(4200);
    bench.data(1, 1, Ask::No, None);
    assert!((bench.sink.total() - 9.0).abs() < 1e-9);
    // Packet 21 is lost; what follows it makes the list grow: L / (r RTT) = 70 / 4.5 = 15, and C beyond 4.
    for sequence in (2..21).chain(22..100) {
        bench.data(1, sequence, Ask::No, None);
    }
    assert!(bench.view(1).congestion > 4.0);
    bench.now += SECOND * 3;
    bench.data(1, 100, Ask::No, None);
    // One loss event, 21 packets after the first, and 80 since: p = 1 - 1 / 80.
    let p = 1.0 - 1.0 / 80.0;
    assert!((bench.view(1).delivery - p).abs() < 1e-9);
    assert!((bench.sink.total() - 9.0 * p / (2.0 - p)).abs() < 1e-9);
    // Nor does it grow while one flow is above L.
    bench.now += SECOND * 20;
    let before = bench.sink.total();
    bench.data(2, 1, Ask::No, None);
    assert!((bench.sink.total() - before).abs() < 1e-9);
}

#[test]
fn a_connection_ends_when_its_tail_has_come_and_stays_ended() {
    let mut bench = Bench::new("fair");
    bench.open(1, 1.0);
    bench.sends();
    bench.now += SECOND * 3;
    let finish = Says::Finish { end: 2, echo: None };
    bench.hear(1, finish);
    assert_eq!(bench.sends(), [(1, "feedback", 2, 0, vec![0, 1])]);
    bench.data(1, 1, Ask::No, None);
    bench.data(1, 0, Ask::No, None);
    assert_eq!(bench.delivered(), [0, 1]);
    assert_eq!(bench.sends(), [(1, "finished", 0, 0, vec![])]);
    assert_eq!(bench.sink.flows().count(), 0);
    bench.hear(1, finish);
    bench.open(1, 1.0);
    assert_eq!(bench.sends(), [(1, "finished", 0, 0, vec![])]);
    assert_eq!(bench.delivered(), []);
}

#[test]
fn bad_input_is_counted_and_changes_nothing() {
    let mut bench = Bench::new("fair");
    bench.open(1, 1.0);
    bench.sends();
    bench.open(2, 0.0);
    bench.hear(3, Says::Finish { end: 0, echo: None });
    bench.data(1, 2000, Ask::No, None);
    bench.data(1, 40_000, Ask::No, None);
    bench.sink.handle_packet(bench.now, id(1), &[9, 9]);
    let refused = Refused {
        malformed: 1,
        unknown: 1,
        demands: 1,
        sequences: 2,
    };
    assert_eq!(bench.sink.refused(), refused);
    let mut kinds: Vec<&str> = bench.sends().iter().map(|sent| sent.1).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["refuse", "unknown"]);
    assert_eq!(bench.view(1).next, 0);
}

#[test]
fn policies_share_as_they_say() {
    let claims: Vec<policy::Claim> = (1..=4)
        .map(|n| policy::Claim {
            origin: id(n),
            demand: f64::from(n),
        })
        .collect();
    let share = |name: &str, total: f64| {
        let mut rates = vec![0.0; 4];
        policy::named(name)
            .unwrap()
            .allocate(total, &claims, &mut rates);
        rates
    };
    let near = |a: Vec<f64>, b: [f64; 4]| {
        let close = a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(close, "{a:?} {b:?}");
    };
    near(share("fair", 8.0), [2.0; 4]);
    near(share("demand-proportional", 5.0), [0.5, 1.0, 1.5, 2.0]);
    near(share("demand-limited", 8.0), [1.0, 2.0, 2.5, 2.5]);
    near(share("weighted:2=3", 6.0), [1.0, 3.0, 1.0, 1.0]);
    let rest = 0.01 + 0.97 / 3.0;
    near(share("priority:3=1", 4.0), [rest, rest, 3.0, rest]);
    for wrong in [
        "best",
        "fair:1=2",
        "weighted:1=0",
        "weighted:x=1",
        "priority:1",
    ] {
        assert!(policy::named(wrong).is_none(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn rates_sum_to_the_total_or_to_the_limit(
        demands in proptest::collection::vec(0.01f64..5.0, 1..20),
        total in 0.1f64..50.0,
    ) {
        let claims: Vec<policy::Claim> = (1..).zip(&demands)
            .map(|(n, demand)| policy::Claim { origin: id(n), demand: *demand })
            .collect();
        for name in policy::NAMES {
            let policy = policy::named(name).unwrap();
            let total = policy.limit(&claims).map_or(total, |limit| limit.min(total));
            let mut rates = vec![0.0; claims.len()];
            policy.allocate(total, &claims, &mut rates);
            prop_assert!((rates.iter().sum::<f64>() - total).abs() < 1e-6, "{name}");
            prop_assert!(rates.iter().all(|rate| *rate >= 0.0), "{name}");
        }
    }

    #[test]
    fn nothing_that_comes_in_breaks_a_sink(
        messages in proptest::collection::vec((1u16..4, 0u8..48, 0u8..4, proptest::collection::vec(any::<u8>(), 0..40)), 0..300),
    ) {
        let mut bench = Bench::new("demand-limited");
        bench.open(1, 1.0);
        for (n, kind, flow, rest) in messages {
            bench.now += Duration::from_millis(200);
            let mut bytes = vec![kind, flow, 1];
            bytes.extend(rest);
            bench.sink.handle_packet(bench.now, id(n), &bytes);
            bench.sink.handle_timeout(bench.now);
            bench.sends();
            prop_assert!(bench.sink.flows().all(|f| f.rate.is_finite() && f.rate > 0.0));
        }
        prop_assert!(bench.sink.flows().count() <= 3 * 256);
    }
}
