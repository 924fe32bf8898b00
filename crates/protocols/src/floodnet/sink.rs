//! The sink's orders: one at a time.

use super::{lead, Config, Event, Floodnet, Refused, Waiting, LEAD};
use crate::collection::{report_frame, Collect, Ledger, Links};
use crate::glossy::{flood_spacing, flood_time, Insistence};
use crate::linkprobe::{Measure, Sweep};
use crate::seals::Guard;
use thalweg_engine::When;
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::flood::{Campaign, Kind, HEADER_BYTES};
use thalweg_wire::report::{Health, Report, Schedule};
use thalweg_wire::sweep::Reports;
use thalweg_wire::{FrameBuf, Reader, WireError};

/// Between an order, or a round, and its first frame.
pub(super) const START: Duration = Duration::from_millis(2);
/// Between the frames of the sink's own report, which need no air.
pub(super) const OWN_FRAME: Duration = Duration::from_millis(1);

/// What the sink is doing.
// In place: there is no allocator.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub(super) enum Task<const NODES: usize> {
    Idle,
    Flooding {
        sequence: u8,
        mpdu_bytes: usize,
        reference: Option<Instant>,
    },
    Measuring(Sweep<NODES>),
    Collecting(Collection<NODES>),
}

#[derive(Debug)]
pub(super) struct Collection<const NODES: usize> {
    pub(super) ledger: Ledger<NODES>,
    pub(super) floor: u8,
    pub(super) begin: Instant,
    pub(super) phase: Phase,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Phase {
    /// Of a sweep: announcements.
    Announcing(Announcing),
    /// Of a sweep: the last beacon ends then.
    Sweeping { end: Instant },
    /// The sink's own report.
    Own { frame: u8, due: Instant },
    /// The round's last slot ends then.
    Round { end: Instant },
    /// All is done; this is how long it took.
    Done { time: Duration },
}

/// How far the sink is in announcing a sweep to all nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Announcing {
    /// The next announcement's first node, among those of the order.
    pub(super) rank: u16,
    /// How many more times all announcements are flooded, this time included.
    pub(super) copies: u8,
    /// The next announcement's reference time.
    pub(super) reference: Instant,
}

impl<const NEIGHBOURS: usize, const NODES: usize, G: Guard> Floodnet<NEIGHBOURS, NODES, G> {
    pub(super) fn is_free(&mut self) -> bool {
        let has_number = self.guard.seals().is_none_or(|seals| seals.has_number());
        let why = match (self.is_busy(), has_number) {
            (true, _) => Refused::Busy,
            (_, false) => Refused::NoNumber,
            (false, true) => return true,
        };
        self.emit(Event::Refused(why));
        false
    }

    pub(super) fn order_flood(
        &mut self,
        now: Instant,
        payload: &[u8],
        insistence: Insistence,
        begin: When,
    ) {
        if !self.is_free() {
            return;
        }
        let content = FrameBuf::build(|w| {
            Kind::Application.emit(Campaign::default(), w)?;
            w.bytes(payload).map(|_| ())
        });
        let started = content
            .map_err(|_| Refused::TooLong)
            .and_then(|content| self.start(now, &content, begin));
        match started {
            Ok(sequence) => {
                self.flood.insist(insistence);
                let mpdu_bytes = HEADER_BYTES + 1 + payload.len() + self.trailer_bytes();
                self.task = Task::Flooding {
                    sequence,
                    mpdu_bytes,
                    reference: None,
                };
            }
            Err(why) => self.emit(Event::Refused(why)),
        }
    }

    pub(super) fn order_measure(&mut self, now: Instant, measure: Measure<NODES>) {
        if self.is_free() {
            self.campaign = self.campaign.next();
            let begin = now + START.max(lead(&self.timing) + LEAD);
            self.task = Task::Measuring(Sweep {
                measure,
                campaign: self.campaign,
                begin,
                control: self.config.control,
                turn: 0,
            });
        }
    }

    pub(super) fn order_collect(&mut self, now: Instant, collect: Collect<NODES>) {
        if self.is_free() {
            let ledger = Ledger::new(collect.nodes, self.config.tries);
            self.task = Task::Collecting(Collection {
                phase: match ledger.includes(self.id) {
                    true => Phase::Own { frame: 0, due: now },
                    false => Phase::Round { end: now },
                },
                ledger,
                floor: collect.floor,
                begin: now,
            });
        }
    }

    /// When the sink's order wants to go on.
    pub(super) fn task_due(&self) -> Option<Instant> {
        match &self.task {
            Task::Idle => None,
            Task::Flooding {
                mpdu_bytes,
                reference,
                ..
            } => {
                let spacing = flood_spacing(*mpdu_bytes, self.config.n_tx, &self.timing);
                reference.map(|reference| reference + spacing)
            }
            Task::Measuring(sweep) if sweep.announce().is_some() => {
                Some(sweep.reference().saturating_sub(lead(&self.timing)))
            }
            Task::Measuring(sweep) => Some(sweep.reference()),
            Task::Collecting(collection) => match collection.phase {
                Phase::Announcing(announcing) => {
                    Some(announcing.reference.saturating_sub(lead(&self.timing)))
                }
                Phase::Own { due, .. } => Some(due),
                Phase::Sweeping { end } | Phase::Round { end } => Some(end),
                Phase::Done { .. } => None,
            },
        }
    }

    /// Goes on with the sink's order if that is due; `false` where it is not.
    pub(super) fn run_task(&mut self, now: Instant) -> bool {
        if self.task_due().is_none_or(|due| due > now) {
            return false;
        }
        match &mut self.task {
            Task::Idle => {}
            Task::Flooding {
                reference,
                mpdu_bytes,
                ..
            } => {
                if let Some(reference) = *reference {
                    let Config { reach, n_tx, .. } = self.config;
                    let quiet = reference + flood_time(*mpdu_bytes, reach, n_tx, &self.timing);
                    self.task = Task::Idle;
                    self.emit(Event::FloodDone { reference, quiet });
                }
            }
            Task::Measuring(_) => self.next_turn(now),
            Task::Collecting(collection) => match collection.phase {
                Phase::Announcing(announcing) => self.send_announcement(now, announcing),
                Phase::Sweeping { .. } => self.end_beacons(now),
                Phase::Own { frame, .. } => self.own_report(now, frame),
                Phase::Round { .. } => self.next_round(now),
                Phase::Done { .. } => {}
            },
        }
        true
    }

    fn next_turn(&mut self, now: Instant) {
        let Task::Measuring(sweep) = &mut self.task else {
            return;
        };
        let (reference, turn, of) = (
            sweep.reference(),
            sweep.turn,
            sweep.measure.nodes().len() as u16,
        );
        let Some(announce) = sweep.announce() else {
            let time = sweep.measure.total_time(sweep.control);
            self.task = Task::Idle;
            return self.emit(Event::Measured { nodes: of, time });
        };
        sweep.turn += 1;
        // Refused or not, the turn takes its time.
        if let Ok(content) = FrameBuf::build(|w| announce.emit(w)) {
            let _ = self.start(now, &content, When::At(reference));
        }
        self.begin_turn(announce, reference);
        self.emit(Event::Probing {
            node: announce.node,
            turn,
            of,
        });
    }

    fn own_report(&mut self, now: Instant, frame: u8) {
        if self.swept(self.campaign).is_some() {
            return self.own_levels();
        }
        let Task::Collecting(Collection {
            ledger,
            floor,
            phase,
            ..
        }) = &mut self.task
        else {
            return;
        };
        let content = report_frame(&self.table, self.campaign, *floor, frame, self.health);
        let Some(content) = content.ok().flatten() else {
            *phase = Phase::Round { end: now };
            return;
        };
        let (frame, due) = (frame + 1, now + OWN_FRAME);
        *phase = Phase::Own { frame, due };
        if let Ok(report) = Report::parse(&mut Reader::new(&content)) {
            ledger.accept(self.id, report.frame, report.frames);
            self.links = Some(Waiting::Report(Links::new(self.id, &report, content)));
            self.emit_health(self.id, report.health);
        }
    }

    fn next_round(&mut self, now: Instant) {
        let (config, timing, campaign) = (self.config, self.timing, self.campaign);
        let (swept, most_hops) = (self.swept(campaign).copied(), self.flood.most_hops().into());
        let Task::Collecting(Collection {
            ledger,
            floor,
            begin,
            phase,
        }) = &mut self.task
        else {
            return;
        };
        let reference = now + START.max(lead(&timing) + LEAD);
        let sealing = self.guard.sealing();
        let built = ledger.next_round(sealing).map(|round| {
            let (slot, last) = match swept {
                None => (config.report_slot(&timing), Duration::ZERO),
                // The first answer goes inwards as the report did, later ones are flooded: the way inwards may lead
                // nowhere.
                Some(parameters) if parameters.reports == Reports::Inwards && !round.has_silent => {
                    (parameters.report, parameters.hop() * most_hops)
                }
                Some(_) => (config.levels_slot(&timing), Duration::ZERO),
            };
            let bytes = HEADER_BYTES + Schedule::BYTES + 4 * round.len + sealing.trailer_bytes();
            let first = config.schedule_slot(bytes, &timing);
            let schedule = Schedule {
                campaign,
                first,
                slot,
                floor: *floor,
            };
            let content = FrameBuf::build(|w| -> Result<(), WireError> {
                schedule.emit(w)?;
                round.assignments().try_for_each(|a| a.emit(w))
            });
            let slots = slot * u64::from(round.slots);
            (content, reference + first + slots + last)
        });
        let progress = Event::Progress {
            complete: ledger.complete,
            of: ledger.nodes.len(),
        };
        match built {
            Some((content, end)) => {
                *phase = Phase::Round { end };
                // Refused or not, the round takes its time.
                if let Ok(content) = content {
                    let _ = self.start(now, &content, When::At(reference));
                }
            }
            None => {
                let time = now.since(*begin);
                *phase = Phase::Done { time };
            }
        }
        self.emit(progress);
    }

    /// Takes a frame of `from`'s report.
    pub(super) fn sink_report(&mut self, from: NodeId, content: FrameBuf) {
        let Task::Collecting(Collection { ledger, .. }) = &mut self.task else {
            return;
        };
        let Ok(report) = Report::parse(&mut Reader::new(&content)) else {
            return;
        };
        if report.campaign == self.campaign && ledger.accept(from, report.frame, report.frames) {
            self.links = Some(Waiting::Report(Links::new(from, &report, content)));
            self.emit_health(from, report.health);
        }
    }

    /// Emits how `node` reported to be.
    pub(super) fn emit_health(&mut self, node: NodeId, health: Health) {
        if let Some(level) = health.battery {
            self.emit(Event::Battery { node, level });
        }
        if let Some(restarts) = health.restarts {
            self.emit(Event::Restarted { node, restarts });
        }
    }

    /// The events that wait in the ledger of a collection.
    pub(super) fn poll_collection(&mut self) -> Option<Event> {
        let Task::Collecting(Collection { ledger, phase, .. }) = &mut self.task else {
            return None;
        };
        if let Some(missing) = ledger.poll_missing() {
            return Some(Event::Missing(missing));
        }
        let Phase::Done { time } = *phase else {
            return None;
        };
        let (complete, missing) = (ledger.complete, ledger.given_up());
        self.task = Task::Idle;
        Some(Event::Collected {
            complete,
            missing,
            time,
        })
    }

    pub(super) fn sink_flood_started(&mut self, started: u8, at: Instant) {
        let Task::Flooding {
            sequence,
            reference,
            ..
        } = &mut self.task
        else {
            return;
        };
        if *sequence != started {
            return;
        }
        *reference = Some(at);
        let (initiator, sequence) = (self.id, started);
        self.application = Some((initiator, sequence));
        self.emit(Event::Flooded {
            initiator,
            sequence,
            relay: 0,
            reference: at,
        });
    }

    pub(super) fn end_unsent(&mut self, number: u8, why: Refused) {
        if matches!(self.task, Task::Flooding { sequence, .. } if sequence == number) {
            self.task = Task::Idle;
            self.emit(Event::Refused(why));
        }
    }

    /// Bytes by which a flood of the sink is longer in a secured network.
    pub(super) fn trailer_bytes(&self) -> usize {
        self.guard.sealing().trailer_bytes()
    }

    /// Begins a flood of the sink.
    pub(super) fn start(
        &mut self,
        now: Instant,
        content: &[u8],
        when: When,
    ) -> Result<u8, Refused> {
        let sealed;
        let content = match self.guard.seals() {
            None => content,
            Some(seals) => {
                let made = seals.seal_flood(self.id, content);
                sealed = made.map_err(|_| Refused::TooLong)?;
                sealed.as_deref().ok_or(Refused::NoNumber)?
            }
        };
        let started = self.flood.start(now, content, self.config.n_tx, when);
        started.map_err(|_| Refused::TooLong)
    }
}
