//! The contract of [`Node`]: what it is told, in which order it looks at what is due, and what it asks
//! of its radio.

use super::{
    strategy::Detection, ChannelState, Command, Event, Node, Power, HEAR, LISTEN, MAX_EVENTS,
    SAMPLE,
};
use crate::tree::Routing;
use thalweg_engine::{
    Ability, Activity, Engine, Hear, RadioEvent, RadioId, RadioOp, Request, Wants,
};
use thalweg_units::{ChannelSet, Instant};
use thalweg_wire::tree::{flags, FLAGS_AT};

impl Engine for Node {
    type Command = Command;
    type Event = Event;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        let own = match self.config.strategy.detection {
            Detection::Sampling(_) => Wants::of(&[Ability::Hear, Ability::Sense]),
            Detection::Off | Detection::Occupancy { .. } => Wants::of(&[Ability::Hear]),
        };
        (radio == RadioId(0)).then(|| Wants {
            address: Some(self.config.id),
            channels: ChannelSet::EMPTY.with(self.config.channel),
            ..own.and(self.config.mac.wants())
        })
    }

    fn handle_command(&mut self, now: Instant, command: Command) {
        match command {
            Command::Start => {
                self.turn(now, Power::On);
                let learns = matches!(self.config.routing, Routing::Beacons { .. });
                self.hear = Some(if learns || self.config.strategy.overhears() {
                    Hear::Everything
                } else {
                    Hear::Addressed
                });
            }
            Command::Offer(schedule) => self.source.begin(schedule),
            Command::Stop => {
                self.turn(now, Power::Off);
                self.source.stop();
                self.mac.withdraw();
            }
            Command::Pin => self.router.pin(),
            Command::Doze { listen } => {
                self.doze = Some(listen);
                self.fall_asleep(now);
            }
        }
        self.pump(now);
    }

    fn handle_radio(&mut self, now: Instant, _radio: RadioId, event: RadioEvent<'_>) {
        if let RadioEvent::Sensed {
            op: SAMPLE,
            power,
            activity,
        } = event
        {
            let busy = activity != Activity::Idle || power.0 >= self.mac.carrier().0;
            let state = if busy {
                ChannelState::Busy
            } else {
                ChannelState::Free
            };
            self.detector.sample(now, state);
            return;
        }
        let outcome = self.mac.handle_radio(now, &event);
        if let RadioEvent::Frame { mpdu, end, .. } = event {
            self.heard(now, end, mpdu);
        }
        if let Some(outcome) = outcome {
            self.finish(now, outcome);
        }
        self.pump(now);
    }

    fn handle_timeout(&mut self, at: Instant) {
        if self.wake_at.is_some_and(|wake| wake <= at) {
            self.wake(at);
        }
        if let Some((packets, skipped)) = self.source.make(at) {
            self.tell(Event::Made { packets, skipped });
        }
        if self.power == Power::On && self.router.poll_timeout().is_some_and(|t| t <= at) {
            self.sequence = self.sequence.wrapping_add(1);
            let congestion = self.congestion();
            self.beacon = self.router.build_beacon(at, self.sequence, congestion);
        }
        if self.detector.poll_timeout().is_some_and(|t| t <= at) {
            self.detector.asked(at);
            self.sample = true;
        }
        if let Some(outcome) = self.mac.handle_timeout(at) {
            self.finish(at, outcome);
        }
        self.pump(at);
    }

    #[inline]
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        if let Some(power) = self.switch.take() {
            let op = match power {
                Power::On => RadioOp::Listen {
                    channel: self.config.channel,
                    head_bytes: 0,
                },
                Power::Off => RadioOp::Sleep,
            };
            return Some(Request::new(LISTEN, op));
        }
        if let Some(hear) = self.hear.take() {
            return Some(Request::new(HEAR, RadioOp::Hear(hear)));
        }
        if core::mem::replace(&mut self.sample, false) {
            return Some(Request::new(SAMPLE, RadioOp::Sense));
        }
        if self.config.strategy.has_flow_control() {
            let flags = flags(self.congestion());
            self.mac.patch(FLAGS_AT, flags);
        }
        self.mac.poll_radio()
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        let beacon = match self.power {
            Power::On => self.router.poll_timeout(),
            Power::Off => None,
        };
        let own = sooner(self.mac.poll_timeout(), self.source.poll_timeout());
        let others = sooner(beacon, self.detector.poll_timeout());
        sooner(sooner(own, others), self.wake_at)
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        if self.event_count == 0 {
            return None;
        }
        let event = self.events.get_mut(self.first_event)?.take();
        self.first_event = (self.first_event + 1) % MAX_EVENTS;
        self.event_count -= 1;
        event
    }
}

/// The sooner of two; this is asked after every event of every node.
#[inline]
fn sooner(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, None) => a,
        (None, b) => b,
    }
}
