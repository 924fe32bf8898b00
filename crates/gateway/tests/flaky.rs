//! Every job over a field that loses orders, loses, delays and repeats events, and whose stations start
//! anew or fall silent: it ends, typed, within a bound, and never with an object that is not whole.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use std::collections::VecDeque;
use std::ops::ControlFlow::{Break, Continue};
use thalweg_engine::BoardTiming;
use thalweg_gateway::carry::pipeline::{Fetch, Order, Terms};
use thalweg_gateway::field::{Clock, Field, FieldError, FieldTime, News};
use thalweg_gateway::job::{run, Failure};
use thalweg_gateway::object::digest;
use thalweg_gateway::survey::{Survey, SurveyJob};
use thalweg_gateway::waves::Wave;
use thalweg_protocols::floodnet;
use thalweg_protocols::mote::{Command, Event};
use thalweg_protocols::pipeline::{self, Complete, End};
use thalweg_units::{Channel, Duration, Instant, NodeId};
use thalweg_wire::route::{Channels, Route, Scheme};

const OBJECT: [u8; 3] = [7, 8, 9];

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}

/// A base station that does what it is ordered, by a script.
#[derive(Default)]
struct Obedient {
    now: FieldTime,
    /// What is told next: when, and by whom.
    told: VecDeque<(FieldTime, NodeId, Event)>,
}

impl Clock for Obedient {
    fn when(&self, _station: NodeId, local: Instant) -> FieldTime {
        FieldTime::from_nanos(local.as_nanos())
    }
}

impl Obedient {
    fn tell(&mut self, by: NodeId, after_ms: u64, event: Event) {
        let at = self.now + Duration::from_millis(after_ms);
        let place = self.told.partition_point(|(then, _, _)| *then <= at);
        self.told.insert(place, (at, by, event));
    }
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

impl Field for Obedient {
    type Order = Order;
    type Event = Event;
    fn now(&self) -> FieldTime {
        self.now
    }
    fn order(&mut self, by: NodeId, order: Order) -> Result<(), FieldError> {
        match order {
            Command::Fetch(_) | Command::FetchTogether { .. } => self.fetched(by),
            Command::Measure(_) => {
                let time = Duration::from_secs(1);
                self.tell(
                    by,
                    1_000,
                    Event::Floods(floodnet::Event::Measured { nodes: 2, time }),
                );
            }
            Command::Collect(_) => {
                self.tell(
                    by,
                    500,
                    Event::Floods(floodnet::Event::Collected {
                        complete: 2,
                        missing: 0,
                        time: Duration::from_millis(500),
                    }),
                );
            }
            Command::Stop => self.told.retain(|(_, of, _)| *of != by),
        }
        Ok(())
    }
    fn next(&mut self, until: FieldTime) -> Result<News<Event>, FieldError> {
        match self.told.front() {
            Some((at, _, _)) if *at <= until => {
                let (at, by, event) = self.told.pop_front().unwrap();
                self.now = self.now.max(at);
                Ok(News::Told(self.now, by, event))
            }
            _ => {
                self.now = self.now.max(until);
                Ok(News::Nothing)
            }
        }
    }
    fn take(&mut self, _station: NodeId, len: usize) -> Result<Vec<u8>, FieldError> {
        Ok(OBJECT[..len.min(3)].to_vec())
    }
    fn joules(&mut self, _node: NodeId) -> Option<f64> {
        None
    }
}

/// A field in which things go wrong, as `draws` have it.
struct Flaky<F: Field> {
    field: F,
    draws: Vec<u8>,
    at: usize,
    /// An event that comes a second time.
    again: Option<(NodeId, F::Event)>,
    /// Something went wrong.
    was_hurt: bool,
}

impl<F: Field> Flaky<F> {
    fn draw(&mut self) -> u8 {
        self.at += 1;
        self.draws.get(self.at - 1).copied().unwrap_or(255)
    }
}

impl<F: Field> Clock for Flaky<F> {
    fn when(&self, station: NodeId, local: Instant) -> FieldTime {
        self.field.when(station, local)
    }
}

impl<F: Field<Event = Event>> Field for Flaky<F> {
    type Order = F::Order;
    type Event = Event;
    fn now(&self) -> FieldTime {
        self.field.now()
    }
    fn order(&mut self, station: NodeId, order: F::Order) -> Result<(), FieldError> {
        match self.draw() {
            0..=20 => self.was_hurt = true,
            _ => self.field.order(station, order)?,
        }
        Ok(())
    }
    fn next(&mut self, until: FieldTime) -> Result<News<Event>, FieldError> {
        if let Some((by, event)) = self.again.take() {
            return Ok(News::Told(self.now(), by, event));
        }
        let News::Told(at, by, event) = self.field.next(until)? else {
            return Ok(News::Nothing);
        };
        let draw = self.draw();
        self.was_hurt |= draw <= 45;
        Ok(match draw {
            0..=20 => News::Nothing,
            21..=30 => News::Restarted(by),
            31..=40 => News::Silent(by),
            41..=45 => News::Cancelled,
            46..=70 => {
                self.again = Some((by, event));
                News::Told(at, by, event)
            }
            _ => News::Told(at, by, event),
        })
    }
    fn take(&mut self, station: NodeId, len: usize) -> Result<Vec<u8>, FieldError> {
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

fn flaky(draws: Vec<u8>) -> Flaky<Obedient> {
    Flaky {
        field: Obedient::default(),
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

fn is_typed(why: &Failure) -> bool {
    !matches!(
        why,
        Failure::Refused(_) | Failure::Unfit(_) | Failure::Field(_)
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_fetch_ends_and_what_it_brings_is_whole(draws in proptest::collection::vec(any::<u8>(), 0..40)) {
        let mut field = flaky(draws);
        let mut job = Fetch::new(route(1), vec![id(9), id(1)], &Terms::default());
        match run(&mut field, &mut job, &mut |_| Continue(())) {
            Ok(fetched) => {
                prop_assert_eq!(fetched.object.is_some(), fetched.failure.is_none());
                prop_assert!(fetched.object.is_none_or(|bytes| bytes == OBJECT));
                prop_assert_eq!(fetched.joules, None);
            }
            Err(why) => prop_assert!(is_typed(&why) && field.was_hurt, "{}", why),
        }
        // Three attempts of at most ten minutes and a half each, their ends, and the rests between.
        prop_assert!(field.now() < FieldTime::ZERO + Duration::from_secs(3 * 3 * 640));
    }

    #[test]
    fn a_wave_ends_and_each_part_is_whole_or_says_why(draws in proptest::collection::vec(any::<u8>(), 0..60)) {
        let mut field = flaky(draws);
        let mut job = Wave::new(vec![route(1), route(2), route(3)], &BoardTiming::IDEAL);
        match run(&mut field, &mut job, &mut |_| Continue(())) {
            Ok(waved) => for part in waved.parts {
                prop_assert_eq!(part.object.is_some(), part.failure.is_none());
                prop_assert!(part.object.is_none_or(|bytes| bytes == OBJECT));
            },
            Err(why) => prop_assert!(matches!(why, Failure::Cancelled), "{}", why),
        }
        prop_assert!(field.now() <= FieldTime::ZERO + Duration::from_secs(640));
    }

    #[test]
    fn a_survey_ends(draws in proptest::collection::vec(any::<u8>(), 0..20)) {
        let mut field = flaky(draws);
        let survey = Survey::of([Channel::LAST].into_iter().collect());
        let ids = [id(1), id(9)];
        let mut job = SurveyJob::new(survey, &ids, None, &BoardTiming::IDEAL, id(1)).unwrap();
        match run(&mut field, &mut job, &mut |_| Continue(())) {
            Ok(surveyed) => prop_assert_eq!(surveyed.links.nodes(), 2),
            Err(why) => prop_assert!(is_typed(&why) && field.was_hurt, "{}", why),
        }
        prop_assert!(field.now() < FieldTime::ZERO + Duration::from_secs(600));
    }
}

#[test]
fn who_watches_may_stop_and_the_sink_is_told() {
    let mut field = flaky(Vec::new());
    let mut job = Fetch::new(route(1), vec![id(9), id(1)], &Terms::default());
    let end = run(&mut field, &mut job, &mut |_| Break(()));
    assert!(matches!(end, Err(Failure::Cancelled)));
    assert!(field.field.told.is_empty(), "stopped at its base station");
}
