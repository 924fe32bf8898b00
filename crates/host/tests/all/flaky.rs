//! Every job over a field that loses orders, loses, delays and repeats events, and whose stations start
//! anew or fall silent: it ends, typed, within a bound, and never with an object that is not whole.

use proptest::prelude::*;
use std::collections::VecDeque;
use std::ops::ControlFlow::{Break, Continue};
use thalweg_engine::BoardTiming;
use thalweg_host::job::{run, Failure};
use thalweg_host::network::{Clock, Network, NetworkFault, NetworkTime, Notice};
use thalweg_host::object::digest;
use thalweg_host::survey::{Survey, SurveyJob};
use thalweg_host::transfer::pipeline::{Fetch, Order, RoutePlan, TransferTerms};
use thalweg_host::transfer::{fastforward as forward, stream};
use thalweg_host::waves::Wave;
use thalweg_planner::streams::StreamPlan;
use thalweg_protocols::mote::{Command, Event};
use thalweg_protocols::pipeline::{self, Complete, End};
use thalweg_protocols::{fastforward, floodnet};
use thalweg_units::{Channel, Channel900, Duration, Instant, NodeId, Tuning};
use thalweg_wire::route::{Channels, Route, Scheme};

const OBJECT: [u8; 3] = [7, 8, 9];

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}

/// Base stations that do what they are ordered, by a script.
struct Obedient<O, V> {
    now: NetworkTime,
    /// What is reported next: when, and by which station.
    told: VecDeque<(NetworkTime, NodeId, V)>,
    obey: fn(&mut Self, NodeId, O),
}

impl<O, V> Clock for Obedient<O, V> {
    fn when(&self, _station: NodeId, local: Instant) -> NetworkTime {
        NetworkTime::from_nanos(local.as_nanos())
    }
}

impl<O, V> Obedient<O, V> {
    fn tell(&mut self, by: NodeId, after_ms: u64, event: V) {
        let at = self.now + Duration::from_millis(after_ms);
        let place = self.told.partition_point(|(then, _, _)| *then <= at);
        self.told.insert(place, (at, by, event));
    }
}

/// How measuring ends.
const MEASURED: Event = Event::Floods(floodnet::Event::Measured {
    nodes: 2,
    time: Duration::from_secs(1),
});
/// How collecting ends.
const COLLECTED: Event = Event::Floods(floodnet::Event::Collected {
    complete: 2,
    missing: 0,
    time: Duration::from_millis(500),
});

/// A sink of pipelines and surveys.
type Mote = Obedient<Order, Event>;

impl Mote {
    fn fetched(&mut self, by: NodeId) {
        let local = |ms| Instant::from_nanos(self.now.as_nanos()) + Duration::from_millis(ms);
        let (reference, start) = (local(10), local(60));
        let complete = Complete {
            len: 3,
            object_len: 3,
            digest: digest(&OBJECT),
            packets: 1,
            first_round: 1,
            rounds: 1,
            last_packet: local(80),
        };
        let over = pipeline::Event::Finished(End::Complete);
        self.tell(by, 10, Event::WakeUp { reference, start });
        let progress = pipeline::Event::Progress { received: 1 };
        self.tell(by, 80, Event::Pipeline(progress));
        self.tell(by, 81, Event::Pipeline(pipeline::Event::Complete(complete)));
        self.tell(by, 90, Event::Pipeline(over));
    }
}

impl Mote {
    fn obey(&mut self, by: NodeId, order: Order) {
        match order {
            Command::Fetch(_) | Command::FetchTogether { .. } | Command::FetchHops(_) => {
                self.fetched(by);
            }
            Command::Measure(_) => self.tell(by, 1_000, MEASURED),
            Command::Collect(_) => self.tell(by, 500, COLLECTED),
            Command::Sweep(_) => {
                self.tell(by, 1_000, MEASURED);
                self.tell(by, 1_500, COLLECTED);
            }
            Command::Stop => self.told.retain(|(_, of, _)| *of != by),
            Command::Numbers { .. } => {}
        }
    }
}

/// A sink that calls streams, and hears their sources as well.
type Caller = Obedient<fastforward::Command, fastforward::Event>;

impl Caller {
    fn obey(&mut self, by: NodeId, order: fastforward::Command) {
        let fastforward::Command::Open(call) = order else {
            return;
        };
        let (stream, source) = (call.stream, call.path.node(0).unwrap());
        let begun = fastforward::Event::Begun { stream, packets: 3 };
        self.tell(source, 500, begun);
        let asked = |number: &u16| {
            let mut ranges = call.ranges.iter().flatten();
            let holds = |r: &fastforward::Range| (r.first..r.first + r.count).contains(number);
            call.round == 0 || ranges.any(holds)
        };
        for number in (0..3).filter(asked) {
            let bytes = 1;
            let received = fastforward::Event::Received {
                stream,
                number,
                bytes,
            };
            self.tell(by, 510 + u64::from(number), received);
        }
        let (why, packets) = (fastforward::End::Complete, Some(3));
        self.tell(
            by,
            520,
            fastforward::Event::Ended {
                stream,
                why,
                packets,
            },
        );
    }
}

impl<O, V> Network for Obedient<O, V> {
    type Order = O;
    type Event = V;
    fn now(&self) -> NetworkTime {
        self.now
    }
    fn order(&mut self, by: NodeId, order: O) -> Result<(), NetworkFault> {
        (self.obey)(self, by, order);
        Ok(())
    }
    fn next(&mut self, until: NetworkTime) -> Result<Notice<V>, NetworkFault> {
        match self.told.front() {
            Some((at, _, _)) if *at <= until => {
                let (at, by, event) = self.told.pop_front().unwrap();
                self.now = self.now.max(at);
                Ok(Notice::Event(self.now, by, event))
            }
            _ => {
                self.now = self.now.max(until);
                Ok(Notice::Nothing)
            }
        }
    }
    fn take(&mut self, _station: NodeId, len: usize) -> Result<Vec<u8>, NetworkFault> {
        Ok(OBJECT[..len.min(3)].to_vec())
    }
    fn joules(&mut self, _node: NodeId) -> Option<f64> {
        None
    }
}

/// A field in which things go wrong, as `draws` have it.
struct Flaky<F: Network> {
    field: F,
    draws: Vec<u8>,
    at: usize,
    /// An event that comes a second time.
    again: Option<(NodeId, F::Event)>,
    /// Something went wrong.
    was_hurt: bool,
}

impl<F: Network> Flaky<F> {
    fn draw(&mut self) -> u8 {
        self.at += 1;
        self.draws.get(self.at - 1).copied().unwrap_or(255)
    }
}

impl<F: Network> Clock for Flaky<F> {
    fn when(&self, station: NodeId, local: Instant) -> NetworkTime {
        self.field.when(station, local)
    }
}

impl<F: Network<Event: Clone>> Network for Flaky<F> {
    type Order = F::Order;
    type Event = F::Event;
    fn now(&self) -> NetworkTime {
        self.field.now()
    }
    fn order(&mut self, station: NodeId, order: F::Order) -> Result<(), NetworkFault> {
        match self.draw() {
            0..=20 => self.was_hurt = true,
            _ => self.field.order(station, order)?,
        }
        Ok(())
    }
    fn next(&mut self, until: NetworkTime) -> Result<Notice<F::Event>, NetworkFault> {
        if let Some((by, event)) = self.again.take() {
            return Ok(Notice::Event(self.now(), by, event));
        }
        let Notice::Event(at, by, event) = self.field.next(until)? else {
            return Ok(Notice::Nothing);
        };
        let draw = self.draw();
        self.was_hurt |= draw <= 45;
        Ok(match draw {
            0..=20 => Notice::Nothing,
            21..=30 => Notice::Restarted(by),
            31..=40 => Notice::Silent(by),
            41..=45 => Notice::Cancelled,
            46..=70 => {
                self.again = Some((by, event.clone()));
                Notice::Event(at, by, event)
            }
            _ => Notice::Event(at, by, event),
        })
    }
    fn take(&mut self, station: NodeId, len: usize) -> Result<Vec<u8>, NetworkFault> {
        let mut bytes = self.field.take(station, len)?;
        // The line cuts bytes off, or flips one.
        match self.draw() {
            0..=30 => bytes.truncate(len / 2),
            31..=60 => bytes[0] ^= 1,
            _ => return Ok(bytes),
        }
        self.was_hurt = true;
        Ok(bytes)
    }
    fn joules(&mut self, node: NodeId) -> Option<f64> {
        self.field.joules(node)
    }
}

fn flaky<O, V>(draws: Vec<u8>, obey: fn(&mut Obedient<O, V>, NodeId, O)) -> Flaky<Obedient<O, V>> {
    Flaky {
        field: Obedient {
            now: NetworkTime::ZERO,
            told: VecDeque::new(),
            obey,
        },
        draws,
        at: 0,
        again: None,
        was_hurt: false,
    }
}

fn route(sink: u16) -> Route {
    let channels = Channels::new(&[Channel::FIRST, Channel::LAST]).unwrap();
    Route::new(1, id(9), id(sink), Scheme::P3, channels)
}

/// Two streams into one sink, of which the first comes in on the calling radio.
fn two_streams() -> stream::StreamSetup<forward::Node> {
    let ids = [id(9), id(8), id(1)];
    let [first, second] = [
        Tuning::Ghz2_4(Channel::FIRST),
        Tuning::Mhz900(Channel900::new(3).unwrap()),
    ];
    let path = |source: usize, link| {
        let plan = StreamPlan {
            nodes: vec![source, 2],
            links: vec![link],
        };
        stream::StreamPath::new(&plan, &ids, &OBJECT, 1).unwrap()
    };
    let terms = stream::StreamTerms {
        payload_bytes: 1,
        repairs: 3,
        ..stream::StreamTerms::default()
    };
    let paths = vec![path(0, second), path(1, first)];
    forward::streams(fastforward::Version::Full, paths, terms).unwrap()
}

fn is_typed(why: &Failure) -> bool {
    !matches!(
        why,
        Failure::Refused(_) | Failure::Unfit(_) | Failure::Network(_)
    )
}

fn fetch() -> Fetch {
    let setup = RoutePlan {
        route: route(1),
        nodes: vec![id(9), id(1)],
    };
    Fetch::new(setup.into(), 1, &[id(1), id(9)], &TransferTerms::default())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_fetch_ends_and_what_it_brings_is_whole(draws in proptest::collection::vec(any::<u8>(), 0..40)) {
        let mut field = flaky(draws, Mote::obey);
        let mut job = fetch();
        match run(&mut field, &mut job, &mut |_| Continue(())) {
            Ok(fetched) => {
                prop_assert_eq!(fetched.segment.is_some(), fetched.failure.is_none());
                prop_assert!(fetched.segment.is_none_or(|segment| segment.bytes == OBJECT));
                prop_assert_eq!(fetched.joules, None);
            }
            Err(why) => prop_assert!(is_typed(&why) && field.was_hurt, "{}", why),
        }
        // Three attempts of at most ten minutes and a half each, their ends, and the rests between.
        prop_assert!(field.now() < NetworkTime::ZERO + Duration::from_secs(3 * 3 * 640));
    }

    #[test]
    fn a_wave_ends_and_each_part_is_whole_or_says_why(draws in proptest::collection::vec(any::<u8>(), 0..60)) {
        let mut field = flaky(draws, Mote::obey);
        let mut job = Wave::new(vec![route(1), route(2), route(3)], &BoardTiming::IDEAL);
        match run(&mut field, &mut job, &mut |_| Continue(())) {
            Ok(waved) => for part in waved.transfers {
                prop_assert_eq!(part.object.is_some(), part.failure.is_none());
                prop_assert!(part.object.is_none_or(|bytes| bytes == OBJECT));
            },
            Err(why) => prop_assert!(matches!(why, Failure::Cancelled), "{}", why),
        }
        prop_assert!(field.now() <= NetworkTime::ZERO + Duration::from_secs(640));
    }

    #[test]
    fn streams_end_and_what_they_bring_is_whole(draws in proptest::collection::vec(any::<u8>(), 0..60)) {
        let mut field = flaky(draws, Caller::obey);
        let mut job = stream::Fetch::new(two_streams());
        match run(&mut field, &mut job, &mut |_| Continue(())) {
            Ok(streams) => for stream in streams {
                prop_assert_eq!(stream.object.is_some(), stream.verified);
                prop_assert!(stream.object.is_none_or(|bytes| bytes == OBJECT));
                prop_assert!(stream.verified || field.was_hurt);
                prop_assert_eq!(stream.joules, None);
            },
            Err(why) => prop_assert!(is_typed(&why) && field.was_hurt, "{}", why),
        }
        // The deadline of all calls together.
        prop_assert!(field.now() <= NetworkTime::ZERO + Duration::from_secs(120));
    }

    #[test]
    fn a_survey_ends(draws in proptest::collection::vec(any::<u8>(), 0..20), sweeps: bool) {
        let mut field = flaky(draws, Mote::obey);
        let survey = if sweeps { Survey::sweep } else { Survey::of };
        let survey = survey([Channel::LAST].into_iter().collect());
        let ids = [id(1), id(9)];
        let mut job = SurveyJob::new(survey, &ids, None, &BoardTiming::IDEAL, id(1)).unwrap();
        match run(&mut field, &mut job, &mut |_| Continue(())) {
            Ok(surveyed) => prop_assert_eq!(surveyed.links.nodes(), 2),
            Err(why) => prop_assert!(is_typed(&why) && field.was_hurt, "{}", why),
        }
        prop_assert!(field.now() < NetworkTime::ZERO + Duration::from_secs(600));
    }
}

/// A sink whose collection has no end.
fn collects_for_ever(mote: &mut Mote, by: NodeId, order: Order) {
    match order {
        Command::Collect(_) | Command::Sweep(_) => {
            if let Command::Sweep(_) = order {
                mote.tell(by, 400, MEASURED);
            }
            let (complete, of) = (1, 3);
            let progress = floodnet::Event::Progress { complete, of };
            mote.tell(by, 500, Event::Floods(progress));
        }
        other => mote.obey(by, other),
    }
}

#[test]
fn a_survey_without_an_end_says_what_was_heard() {
    for survey in [Survey::of, Survey::sweep] {
        let mut field = flaky(Vec::new(), collects_for_ever);
        let survey = survey([Channel::LAST].into_iter().collect());
        let ids = [id(1), id(9), id(10)];
        let mut job = SurveyJob::new(survey, &ids, None, &BoardTiming::IDEAL, id(1)).unwrap();
        let why = run(&mut field, &mut job, &mut |_| Continue(())).unwrap_err();
        let line = why.to_string();
        let expected = "the link tables of 2 of 3 nodes did not reach node 1 within";
        assert!(
            line.starts_with(expected) && line.ends_with("it hears nobody"),
            "{line}"
        );
    }
}

#[test]
fn who_watches_may_stop_and_the_sink_is_told() {
    let mut field = flaky(Vec::new(), Mote::obey);
    let mut job = fetch();
    let end = run(&mut field, &mut job, &mut |_| Break(()));
    assert!(matches!(end, Err(Failure::Cancelled)));
    assert!(field.field.told.is_empty(), "stopped at its base station");
}

#[test]
fn streams_into_one_sink_are_called_one_after_another() {
    let mut field = flaky(Vec::new(), Caller::obey);
    let mut job = stream::Fetch::new(two_streams());
    let streams = run(&mut field, &mut job, &mut |_| Continue(())).unwrap();
    // The one that comes in on the calling radio is called when the other has begun.
    assert_eq!(
        two_streams()
            .paths
            .iter()
            .map(|l| l.turn)
            .collect::<Vec<_>>(),
        [1, 0]
    );
    let set_up: Vec<f64> = streams.iter().map(|stream| stream.setup_seconds).collect();
    assert_eq!(set_up, [0.5, 0.5]);
    assert!(streams
        .iter()
        .all(|s| s.verified && s.rounds == 1 && s.end == "complete"));
    // Both began, one after the other, and the rest that follows.
    assert_eq!(
        field.now(),
        NetworkTime::ZERO + Duration::from_millis(500 + 520 + 1_500)
    );
}
