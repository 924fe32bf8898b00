//! What the engines below tell, and what follows from it.
//!
//! The longest chain of calls on a mote's stack begins here, so what is rare has a frame of its own. Time base: the node's
//! clock. Tests: `tests/`.

use super::{Duty, Event, Mote, Refused, Work};
use crate::floodnet;
use crate::object::ObjectStore;
use crate::pipeline::{self, End};
use crate::seals::Guard;
use thalweg_engine::Engine;
use thalweg_units::Instant;

impl<S: ObjectStore, const NEIGHBOURS: usize, const NODES: usize, G: Guard>
    Mote<S, NEIGHBOURS, NODES, G>
{
    /// Takes the events of the engines below, and acts on them.
    pub(super) fn attend(&mut self, now: Instant) {
        while let Some(event) = self.pipeline.poll_event() {
            self.handle_pipeline_event(now, event);
        }
        while let Some(event) = self.floods.poll_event() {
            // Links and missing nodes come by the dozen: they are left where they are until the layer above asks.
            let many = matches!(
                event,
                floodnet::Event::Link(_) | floodnet::Event::Missing(_)
            );
            self.handle_flood_event(now, event);
            if many {
                break;
            }
        }
    }

    #[inline(never)]
    fn handle_pipeline_event(&mut self, now: Instant, event: pipeline::Event) {
        use pipeline::Event::{Finished, Refused, Report};
        if let Report { from, len } = event {
            return self.floods.take_levels(from, self.pipeline.report(len));
        }
        self.emit(Event::Pipeline(event));
        let is_done = matches!(event, Finished(_) | Refused(_));
        if !is_done || self.duty != Duty::Transfer {
            return;
        }
        self.take_floods(now);
        // The others may still be at it.
        match (event, self.schedule) {
            (Finished(End::NotCalled), Some(schedule)) => {
                match schedule.begins_again_by(now, self.listens()) {
                    Some(until) => self.duty = Duty::Window(until),
                    None => self.rest(now, schedule),
                }
            }
            (Finished(End::NotNeeded), Some(schedule)) => {
                let schedule = schedule.begun_well();
                self.schedule = Some(schedule);
                self.rest(now, schedule);
            }
            _ => {}
        }
    }

    #[inline(never)]
    fn handle_flood_event(&mut self, now: Instant, event: floodnet::Event) {
        if let Duty::Window(_) = self.duty {
            self.duty = Duty::Floods;
        }
        match event {
            floodnet::Event::Flooded {
                initiator,
                reference,
                relay,
                ..
            } => {
                if self.heed(initiator, reference) {
                    return;
                }
                let Ok(segment) = self.assembler.push(self.floods.payload()) else {
                    return;
                };
                if segment.sealing != self.guard().sealing() {
                    return;
                }
                self.sinks.note_flood(self.id, initiator, relay);
                if initiator == self.id {
                    self.flood_began(segment, reference);
                } else {
                    self.handle_segment(segment, initiator, reference);
                }
            }
            floodnet::Event::FloodFinished { .. } => self.answer_call(now),
            floodnet::Event::FloodDone { .. } if self.goes_on_rousing(now) => {}
            floodnet::Event::FloodDone { .. } if matches!(self.work, Work::Mustering(_)) => {
                self.go_on_mustering(now);
            }
            floodnet::Event::FloodDone { .. } => self.go_on_waking(now),
            floodnet::Event::Refused(why) => {
                if let Work::Waking(_) | Work::Rousing(..) | Work::Mustering(_) = self.work {
                    self.work = Work::Nothing;
                }
                self.emit(match why {
                    floodnet::Refused::Busy => Event::Refused(Refused::Busy),
                    other => Event::Floods(floodnet::Event::Refused(other)),
                });
            }
            other => self.emit(Event::Floods(other)),
        }
    }
}
