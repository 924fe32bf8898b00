//! A sink on a bench: packets go in by hand, messages and events are checked.

mod delivery;
mod feedback;
mod hostile;
mod policies;
mod rates;
mod spare;

use super::*;
use thalweg_units::Duration;
use thalweg_wire::rcrt::{Echo, Met};

const FLOW: Flow = Flow { sink: 1, number: 0 };
const SECOND: Duration = Duration::from_secs(1);

fn node(id: u16) -> NodeId {
    NodeId::new(id).unwrap()
}
fn rate(per_s: f64) -> Rate {
    Rate::from_per_s(per_s)
}

/// The paper's text to the letter, and C is L_norm of the last packet: numbers that can be had by hand.
const PLAIN: Config = Config {
    gain: 1.0,
    length: Length::Whole,
    evidence: Evidence::Remembered,
    leave: Leave::WithItsRate,
    packets: 0.0,
    first_rtt: SECOND,
    ..Config::PAPER
};

/// What a message to a source says.
#[derive(Debug, Clone, PartialEq)]
enum Said {
    Accept(Heard),
    Feedback(Heard),
    Finished,
    Unknown,
    Refuse,
}

/// What a feedback says.
#[derive(Debug, Clone, PartialEq)]
struct Heard {
    number: u8,
    rate: Rate,
    next: u16,
    nacks: Vec<u16>,
}

struct Bench {
    sink: Sink,
    now: Instant,
}

impl Bench {
    fn new(config: Config, policy: &str) -> Self {
        let sink = Sink::new(config, policy::named(policy).unwrap());
        let now = Instant::ZERO + SECOND * 1000;
        Self { sink, now }
    }
    fn pass(&mut self, seconds: f64) {
        self.now += Duration::from_secs_f64(seconds);
        while let Some(at) = self.sink.poll_timeout().filter(|at| *at <= self.now) {
            self.sink.handle_timeout(at);
        }
    }
    fn up(&mut self, origin: u16, connection: u8, what: UpBody<'_>) {
        let up = Up {
            flow: FLOW,
            connection,
            what,
        };
        let bytes = FrameBuf::build(|w| up.emit(w)).unwrap();
        self.sink.handle_packet(self.now, node(origin), &bytes);
    }
    fn open(&mut self, origin: u16, connection: u8, demand: f64, first: u16) {
        let demand = rate(demand);
        self.up(origin, connection, UpBody::Open { demand, first });
    }
    /// A packet of a source that has its newest rate and asks for nothing.
    fn data(&mut self, origin: u16, connection: u8, sequence: u16) {
        let rate = self.rate_of(origin);
        self.data_at(
            origin,
            connection,
            sequence,
            rate,
            FeedbackRequest::No,
            None,
        );
    }
    fn data_at(
        &mut self,
        origin: u16,
        connection: u8,
        sequence: u16,
        rate: Rate,
        ask: FeedbackRequest,
        echo: Option<Echo>,
    ) {
        let payload = &sequence.to_le_bytes();
        let says = UpBody::Data {
            met: Met::default(),
            sequence,
            rate,
            ask,
            echo,
            payload,
        };
        self.up(origin, connection, says);
    }
    fn finish(&mut self, origin: u16, connection: u8, end: u16) {
        self.up(
            origin,
            connection,
            UpBody::Finish {
                end,
                echo: None,
                proof: None,
            },
        );
    }
    fn view(&self, origin: u16) -> View {
        let found = self.sink.flows().find(|view| view.origin == node(origin));
        found.unwrap()
    }
    fn rate_of(&self, origin: u16) -> Rate {
        let found = self.sink.flows().find(|view| view.origin == node(origin));
        found.map_or(Rate::ZERO, |view| rate(view.rate))
    }
    /// What the sink says now, and to whom.
    fn says(&mut self) -> Vec<(u16, Said)> {
        let mut all = Vec::new();
        while let Some((to, bytes)) = self.sink.poll_message(self.now) {
            let down = Down::parse(&bytes).unwrap();
            let heard = |feedback: Feedback<'_>| Heard {
                number: feedback.number,
                rate: feedback.rate,
                next: feedback.next,
                nacks: feedback.nacks.iter().collect(),
            };
            let said = match down.what {
                DownBody::Accept(feedback) => Said::Accept(heard(feedback)),
                DownBody::Feedback(feedback) => Said::Feedback(heard(feedback)),
                DownBody::Finished => Said::Finished,
                DownBody::Unknown => Said::Unknown,
                DownBody::Refuse => Said::Refuse,
            };
            all.push((to.get(), said));
        }
        all
    }
    /// The one feedback that the sink says now.
    fn feedback(&mut self) -> Option<Heard> {
        let mut all = self.says();
        assert!(all.len() <= 1, "{all:?}");
        match all.pop()?.1 {
            Said::Feedback(heard) => Some(heard),
            said => panic!("{said:?}"),
        }
    }
    fn events(&mut self) -> Vec<Event> {
        core::iter::from_fn(|| self.sink.poll_event()).collect()
    }
    /// Numbers of the packets delivered since, each of which carries its number.
    fn delivered(&mut self) -> Vec<u64> {
        let events = self.events().into_iter();
        let number = |event| match event {
            Event::Delivered {
                sequence, payload, ..
            } => {
                assert_eq!(*payload, (sequence as u16).to_le_bytes());
                Some(sequence)
            }
            _ => None,
        };
        events.filter_map(number).collect()
    }
    /// Why rates have changed since.
    fn changes(&mut self) -> Vec<Why> {
        let events = self.events().into_iter();
        let why = |event| match event {
            Event::Assigned { why, .. } => Some(why),
            _ => None,
        };
        events.filter_map(why).collect()
    }
    /// Takes all messages and events, and forgets them.
    fn clear(&mut self) {
        self.says();
        self.events();
    }
    /// A source whose connection stands, and that has its rate.
    fn connected(&mut self, origin: u16, demand: f64) {
        self.open(origin, 1, demand, 0);
        self.clear();
    }
}
