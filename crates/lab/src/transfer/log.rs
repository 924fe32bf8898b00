//! What the sink told of one transfer, and what follows from it.

use super::session::Step;
use thalweg_planner::closed_forms::Cycle;
use thalweg_protocols::mote;
use thalweg_protocols::pipeline::{self, Complete, End};
use thalweg_sim::Energy;
use thalweg_units::{BitRate, Duration, Instant, SimTime};
use thalweg_wire::phy;

/// What the sink told of one transfer, all its attempts together.
pub(super) struct Log {
    pub(super) cycle: Cycle,
    /// Which attempt, from 1.
    pub(super) attempt: u32,
    /// First symbol of the first wake-up packet: by the sink's clock, and by true time.
    pub(super) began: Option<(Instant, SimTime)>,
    pub(super) wake_up: Duration,
    /// When the last attempt failed.
    pub(super) failed: Option<SimTime>,
    pub(super) received: u32,
    pub(super) round: u32,
    pub(super) first_round: Option<u16>,
    pub(super) complete: Option<Complete>,
    pub(super) end: Option<End>,
    pub(super) refused: Option<pipeline::SetupError>,
    pub(super) energy_before: Option<Vec<Energy>>,
    pub(super) energy_after: Option<Vec<Energy>>,
}

impl Log {
    pub(super) fn new(cycle: Cycle) -> Self {
        Self {
            cycle,
            attempt: 0,
            began: None,
            wake_up: Duration::ZERO,
            failed: None,
            received: 0,
            round: 1,
            first_round: None,
            complete: None,
            end: None,
            refused: None,
            energy_before: None,
            energy_after: None,
        }
    }

    /// Another attempt: what the last one brought is forgotten, its time is not.
    pub(super) fn begin(&mut self, attempt: u32) {
        self.attempt = attempt;
        (self.received, self.first_round, self.end) = (0, None, None);
    }

    /// Whether the attempt ended without the object and without anybody having wanted that.
    pub(super) fn is_broken(&self) -> bool {
        self.complete.is_none() && self.refused.is_none() && !matches!(self.end, Some(End::Stopped))
    }

    pub(super) fn note(&mut self, at: SimTime, event: mote::Event) -> Option<Step> {
        match event {
            mote::Event::WakeUp { reference, start } => {
                let first = reference.saturating_sub(phy::SFD_OFFSET);
                self.began.get_or_insert((first, at));
                self.wake_up = start.since(first);
                (self.end, self.round) = (None, 1);
                None
            }
            mote::Event::Pipeline(event) => self.note_pipeline(at, event),
            mote::Event::Floods(_) | mote::Event::Joined | mote::Event::Refused(_) => None,
        }
    }

    fn note_pipeline(&mut self, at: SimTime, event: pipeline::Event) -> Option<Step> {
        match event {
            pipeline::Event::Progress { received } => {
                self.received = u32::from(received);
                let bytes = u64::from(self.received) * self.cycle.payload_bytes as u64;
                let since = self
                    .began
                    .map_or(Duration::ZERO, |(_, began)| at.since(began));
                let goodput = BitRate::of_bytes(bytes, since);
                return Some(Step::Packets {
                    round: self.round,
                    received: self.received,
                    goodput,
                });
            }
            pipeline::Event::RoundReported {
                round, received, ..
            } => {
                if round == 0 {
                    self.first_round = Some(received);
                }
                self.round = u32::from(round) + 2;
            }
            pipeline::Event::Complete(complete) => {
                self.complete = Some(complete);
                self.received = u32::from(complete.packets);
            }
            pipeline::Event::Finished(end) => {
                self.end = Some(end);
                self.failed = Some(at);
            }
            pipeline::Event::Refused(why) => {
                self.refused = Some(why);
                self.end = Some(End::Stopped);
                self.failed = Some(at);
            }
            pipeline::Event::RoundSent { .. } => {}
        }
        None
    }

    /// From the first wake-up packet to the last data packet, by the sink's clock; to the end of
    /// the last attempt where the object did not arrive.
    pub(super) fn duration(&self) -> Duration {
        match (self.began, self.complete, self.failed) {
            (Some((began, _)), Some(complete), _) => complete.last_packet.since(began),
            (Some((_, began)), None, Some(failed)) => failed.since(began),
            _ => Duration::ZERO,
        }
    }

    pub(super) fn failure(&self) -> String {
        match (self.refused, self.complete, self.end) {
            (Some(why), _, _) => why.to_string(),
            (_, Some(_), _) => "what arrived has another digest than the object".to_owned(),
            (_, _, Some(End::GaveUp)) => "gave up: requests stayed unanswered".to_owned(),
            (_, _, Some(End::TimedOut)) if self.received == 0 => "nothing arrived".to_owned(),
            (_, _, Some(End::TimedOut)) => "nothing arrived any more".to_owned(),
            (_, _, Some(End::Released)) => "the source gave up".to_owned(),
            (_, _, end) => format!("ended early: {end:?}"),
        }
    }
}
