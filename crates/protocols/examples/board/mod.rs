//! A board without a chip, in virtual time: what both hosts of these examples drive a mote with. Nobody else is on its air.

use std::error::Error;
use std::mem;
use thalweg_engine::{
    BoardTiming, OpId, Port, RadioEvent, RadioId, RadioOp, Refusal, Request, When,
};
use thalweg_protocols::floodnet::Config;
use thalweg_protocols::linkprobe::{Measure, NodeList};
use thalweg_protocols::mote::{Command, Event, Mote};
use thalweg_protocols::object::NoObject;
use thalweg_units::{Channel, ChannelSet, Duration, Instant, NodeId};
use thalweg_wire::phy;

/// From strobe to the first symbol, as of a CC2420.
const TURNAROUND: Duration = Duration::from_micros(192);

/// The mote of these examples: a base station.
pub(crate) type Node = Mote<NoObject, 32, 16>;

/// The radio and the timer of one mote.
#[derive(Default)]
pub(crate) struct Board {
    /// The present instant of the node's clock.
    pub(crate) now: Instant,
    /// When the timer is to go off.
    pub(crate) due: Option<Instant>,
    /// Whether the order has been carried out.
    pub(crate) is_done: bool,
    answers: Vec<(Instant, RadioEvent<'static>)>,
    /// A transmission that has not begun: its name and when it begins.
    pending: Option<(OpId, Instant)>,
}

/// What wakes a host.
pub(crate) enum Cause {
    /// The radio answers.
    Radio(RadioId, RadioEvent<'static>),
    /// The timer has gone off.
    Timer,
}

impl Board {
    /// What has happened by now.
    pub(crate) fn poll(&mut self) -> Option<Cause> {
        let ready = self.answers.iter().position(|(at, _)| *at <= self.now);
        if let Some(place) = ready {
            let (_, event) = self.answers.remove(place);
            return Some(Cause::Radio(RadioId(0), event));
        }
        self.due
            .is_some_and(|due| due <= self.now)
            .then_some(Cause::Timer)
    }

    /// Time passes until something happens; `false` where nothing ever will. A chip would sleep here.
    pub(crate) fn sleep(&mut self) -> bool {
        let answers = self.answers.iter().map(|(at, _)| *at);
        let next = answers.chain(self.due).min();
        self.now = next.unwrap_or(self.now).max(self.now);
        next.is_some()
    }

    fn answer(&mut self, at: Instant, event: RadioEvent<'static>) {
        self.answers.push((at, event));
        // Answers of one instant keep their order.
        self.answers.sort_by_key(|(at, _)| *at);
    }

    /// The transmission that has not begun is given up.
    fn give_up(&mut self) {
        let (now, why) = (self.now, Refusal::Superseded);
        if let Some((op, _)) = mem::take(&mut self.pending).filter(|(_, start)| *start > now) {
            self.answers
                .retain(|(_, event)| event.answers() != Some(op));
            self.answer(now, RadioEvent::Refused { op, why });
        }
    }

    fn send(&mut self, op: OpId, bytes: usize, when: When) {
        let soonest = self.now + TURNAROUND;
        let start = match when {
            When::Now => soonest,
            When::At(sfd) => sfd.saturating_sub(phy::SFD_OFFSET),
            // Nothing is ever received here.
            When::AfterRx(_) => {
                let why = Refusal::Empty;
                return self.answer(self.now, RadioEvent::Refused { op, why });
            }
        };
        if start < soonest {
            let why = Refusal::Late {
                by: soonest.since(start),
            };
            return self.answer(self.now, RadioEvent::Refused { op, why });
        }
        self.give_up();
        self.pending = Some((op, start));
        let sfd = start + phy::SFD_OFFSET;
        self.answer(start + phy::air_time(bytes), RadioEvent::Sent { op, sfd });
    }
}

impl Port<Event> for Board {
    fn submit(&mut self, request: Request<'_>) {
        let (op, now) = (request.id, self.now);
        match request.op {
            RadioOp::Stream {
                mpdu,
                when,
                channel,
                ..
            } => {
                println!(
                    "{:>9.3} ms  {} bytes on channel {channel}",
                    millis(now),
                    mpdu.len()
                );
                self.send(op, mpdu.len(), when);
            }
            RadioOp::Sleep | RadioOp::Cancel => {
                self.give_up();
                self.answer(now, RadioEvent::Done { op });
            }
            RadioOp::Listen { .. } => self.answer(now + TURNAROUND, RadioEvent::Done { op }),
            _ => self.answer(now, RadioEvent::Done { op }),
        }
    }

    fn emit(&mut self, event: Event) {
        use thalweg_protocols::floodnet::Event::{Measured, Refused};
        println!("{:>9.3} ms  {event:?}", millis(self.now));
        self.is_done |= matches!(event, Event::Floods(Measured { .. } | Refused(_)));
    }
}

fn millis(at: Instant) -> f64 {
    at.as_nanos() as f64 / 1e6
}

/// The order of these examples: nodes 0 and 1 send two beacons each, on channels 15 and 26.
pub(crate) fn order() -> Result<Command<16>, Box<dyn Error>> {
    let channels = ChannelSet::from_iter([Channel::new(15)?, Channel::new(26)?]);
    let (nodes, interval) = (NodeList::range(0, 2)?, Duration::from_millis(10));
    Ok(Command::Measure(Measure::new(
        nodes, channels, 2, interval,
    )?))
}

/// Node 0.
pub(crate) fn node() -> Result<Node, Box<dyn Error>> {
    let (id, config) = (NodeId::new(0)?, Config::default());
    Ok(Mote::new(id, config, BoardTiming::IDEAL, NoObject))
}
