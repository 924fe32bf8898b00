//! Sweeps: a node's role in one, and the sink's order. Missing reports are requested as in any other collection.

use super::sink::{Announcing, Collection, Phase, Task, OWN_FRAME, START};
use super::{lead, repeating, Event, Floodnet, Measuring, Radio, Waiting, LEAD};
use crate::collection::{Agenda, Ledger};
use crate::glossy::Ring;
use crate::seals::Guard;
use crate::sweep::{levels_frame, Built, Rows, Slots, Step, Sweep, Sweeping};
use crate::sweep::{BEACON_BYTES, COPIES, REACH};
use thalweg_engine::{RadioEvent, When};
use thalweg_units::{Channel, Db, Dbm, Duration, Instant, NodeId, Restarts};
use thalweg_wire::flood::{Campaign, Kind, HEADER_BYTES};
use thalweg_wire::levels::{Levels, BELOW_FLOOR_DB};
use thalweg_wire::report::Health;
use thalweg_wire::seal::frame::Sealing;
use thalweg_wire::sweep::{Announcement, Beacon, Parameters, Reports};
use thalweg_wire::{FrameBuf, Reader};

/// How nodes answer a request for reports in slots of `slot`: short slots are for reports that go inwards.
pub(super) fn answer_course(parameters: &Parameters, slot: Duration) -> Reports {
    match slot == parameters.report {
        true => parameters.reports,
        false => Reports::Flooded,
    }
}

impl<const NEIGHBOURS: usize, const NODES: usize, G: Guard> Floodnet<NEIGHBOURS, NODES, G> {
    /// The parameters of the last measurement, where that was a sweep and `campaign`.
    pub(super) fn swept(&self, campaign: Campaign) -> Option<&Parameters> {
        let parameters = self.measuring.sweep().map(Sweeping::parameters);
        parameters.filter(|parameters| parameters.campaign == campaign)
    }

    /// An announcement of a sweep came in after `relay` slots, in a flood of `kind` by `initiator`.
    pub(super) fn on_announcement(
        &mut self,
        (initiator, kind): (NodeId, Kind),
        relay: u8,
        reference: Instant,
    ) {
        // Two sinks at once: one's own order goes on.
        if self.has_order() {
            return;
        }
        let (content, under_way) = (self.flood.raw_content(), self.measuring.is_on());
        let content = match self.guard.seals() {
            Some(seals) => seals.announced(initiator, (kind, content), under_way),
            None => FrameBuf::from_slice(content).ok(),
        };
        let Some(content) = content else {
            return;
        };
        let Ok(announcement) = Announcement::parse(&content) else {
            return;
        };
        let (parameters, slot, begin) = (
            announcement.parameters,
            announcement.slot_of(self.id),
            reference + announcement.until,
        );
        self.agenda = None;
        match &mut self.measuring {
            // Another announcement of the same sweep, or the same again.
            Measuring::Sweep(sweep) if *sweep.parameters() == parameters && !sweep.is_done() => {
                sweep.set_slot(slot);
            }
            _ => self.begin_sweep(parameters, begin, slot),
        }
        self.set_hops(relay.saturating_add(1));
        self.note_announcement(&content, reference, begin);
    }

    /// This node is so many hops from the sink.
    fn set_hops(&mut self, hops: u8) {
        let turn = self.flood.most_hops().checked_sub(hops);
        if let (Measuring::Sweep(sweep), Some(turn)) = (&mut self.measuring, turn) {
            sweep.set_turn(turn);
        }
    }

    /// Where this node stands in floods that go inwards to the sink of the last sweep.
    pub(super) fn ring(&self) -> Option<Ring> {
        let sweep = self.measuring.sweep()?;
        let hops = self.flood.most_hops().checked_sub(sweep.turn()?)?;
        let slot = sweep.parameters().hop();
        Some(Ring { hops, slot })
    }

    fn begin_sweep(&mut self, parameters: Parameters, begin: Instant, slot: Option<u16>) {
        self.campaign = parameters.campaign;
        self.table.begin(parameters.campaign);
        let lead = lead(&self.timing);
        self.measuring = Measuring::Sweep(Sweeping::new(parameters, begin, slot, lead));
    }

    /// An idle node hears a beacon of a sweep whose floods it has missed.
    pub(super) fn join_sweep(&mut self, event: &RadioEvent<'_>) {
        let RadioEvent::Frame { mpdu, sfd, .. } = *event else {
            return;
        };
        let Ok(beacon) = Beacon::parse(mpdu) else {
            return;
        };
        // By its own clock a sweep may last longest.
        let is_new = self.table.campaign() != Some(beacon.parameters.campaign);
        if is_new && !self.is_busy() {
            self.campaign = beacon.parameters.campaign;
            self.table.begin(beacon.parameters.campaign);
            let own = beacon.parameters.slot_of(self.id);
            let lead = lead(&self.timing);
            self.measuring = Measuring::Sweep(Sweeping::joined(&beacon, sfd, own, lead));
        }
    }

    pub(super) fn take_sweep_step(&mut self, now: Instant, step: Step) {
        match step {
            Step::Tune(channel) => {
                self.flood.stop();
                self.tune = Some(channel);
                self.radio = Radio::Probing(Some(channel));
            }
            Step::Beacon {
                stretch,
                slot,
                channel,
                sfd,
            } => {
                let Some(parameters) = self.measuring.sweep().map(|sweep| *sweep.parameters())
                else {
                    return;
                };
                let beacon = Beacon {
                    from: self.id,
                    parameters,
                    stretch,
                    slot,
                };
                let frame = FrameBuf::build(|w| beacon.emit(w, BEACON_BYTES.into()));
                // A node that joins late has missed some of its slots.
                if let (Ok(mut frame), true) = (frame, sfd > now) {
                    if let Some(seals) = self.guard.seals() {
                        seals.seal_beacon(&mut frame);
                    }
                    self.beacon_frame = frame;
                    self.beacon = Some((channel, sfd));
                }
            }
            Step::Return => {
                self.radio = Radio::Floods;
                self.flood.listen();
                self.build_levels();
            }
            Step::Report(at) => {
                let parameters = self.measuring.sweep().map(Sweeping::parameters);
                let course = parameters.map_or(Reports::Flooded, |parameters| parameters.reports);
                self.report_levels(now, at, course);
            }
        }
    }

    /// Builds this node's report, which takes a microcontroller more than the lead that is left when its slot is due:
    /// 1.1 ms of 64 MHz for 40 neighbours. Beacons are over, so it is kept in their place.
    fn build_levels(&mut self) {
        let Measuring::Sweep(sweep) = &mut self.measuring else {
            return;
        };
        // The sink's own is built when it is wanted: it needs no air.
        if matches!(self.task, Task::Idle) {
            let parameters = for_report(sweep.parameters(), self.guard.sealing());
            let report = levels_frame(self.id, &self.table, &parameters, self.health);
            if let Ok(report) = report {
                self.beacon_frame = report;
                sweep.built = Built::With(self.health);
                self.note_power_told();
            }
        }
    }

    /// Reports of later sweeps need not say that power came.
    fn note_power_told(&mut self) {
        if self.health.restarts == Some(Restarts::POWER_ON) {
            self.health.restarts = None;
        }
    }

    /// Begins the flood of this node's report.
    pub(super) fn report_levels(&mut self, now: Instant, at: Instant, course: Reports) {
        let Some(sweep) = self.measuring.sweep() else {
            return;
        };
        let slot = sweep.parameters().report;
        // The sink's own needs no air.
        if at <= now || self.has_order() {
            return;
        }
        let Some(content) = self.levels() else {
            return;
        };
        // Fits: a report is built to.
        let _ = match course {
            Reports::Inwards => match self.ring() {
                Some(ring) => self
                    .flood
                    .start_inwards(now, &content, (ring, at))
                    .map(|_| ()),
                None => Ok(()),
            },
            Reports::Flooded => {
                let n_tx = self.config.levels_n_tx(slot, &self.timing);
                let at = When::At(at);
                self.flood.start(now, &content, n_tx, at).map(|_| ())
            }
        };
    }

    /// The agenda of a node that may have to answer inwards: in its ring's part of the slot. One that does not know its
    /// ring waits until it is asked again.
    pub(super) fn inwards_or_flooded(&self, agenda: Agenda) -> Option<Agenda> {
        let parameters = self.swept(agenda.campaign);
        let course = parameters.map(|parameters| answer_course(parameters, agenda.slot));
        match (course, self.measuring.sweep()) {
            (Some(Reports::Inwards), Some(sweep)) => Some(agenda.later(sweep.delay()?)),
            _ => Some(agenda),
        }
    }

    pub(super) fn count_in_sweep(
        &mut self,
        (mpdu, sfd): (&[u8], Instant),
        rssi: Dbm,
        listening: Channel,
    ) {
        let (Ok(beacon), Some(sweep)) = (Beacon::parse(mpdu), self.measuring.sweep()) else {
            return;
        };
        let parameters = sweep.parameters();
        let lowest = Dbm(f64::from(parameters.floor)) - Db(f64::from(BELOW_FLOOR_DB));
        let there = parameters.channel(beacon.stretch.into()) == Some(listening);
        let in_time = sweep.is_due(&beacon, sfd);
        // A level that cannot be reported takes no room.
        if beacon.parameters != *parameters || !there || rssi < lowest {
            return;
        }
        let seals = self.guard.seals();
        // A beacon that was recorded comes a beacon's time later at least.
        if seals.is_none_or(|seals| in_time && seals.is_beacon_right(mpdu)) {
            self.table.record_strong(beacon.from, listening, rssi);
        }
    }

    /// From one announcement to `nodes` to the next: all take as long as the longest.
    fn announcement_spacing(&self, nodes: &[NodeId]) -> Duration {
        if self.config.reach > REACH {
            return repeating::APART;
        }
        let trailer = self.trailer_bytes();
        let bits = match Slots::from(nodes, 0, self.guard.sealing()) {
            Some(slots) if usize::from(slots.next) == nodes.len() => slots.bits().len(),
            _ => Announcement::ADDRESSES / 8 - trailer,
        };
        let bytes = HEADER_BYTES + Announcement::BYTES + bits + trailer;
        self.config.schedule_slot(bytes, &self.timing)
    }

    pub(super) fn order_sweep(&mut self, now: Instant, sweep: Sweep<NODES>) {
        if !self.is_free() {
            return;
        }
        self.campaign = self.campaign.next();
        self.config.reach = sweep.reach();
        let report = match sweep.reports() {
            Reports::Flooded => self.config.levels_slot(&self.timing),
            Reports::Inwards => self.config.inward_slot(&self.timing),
        };
        let parameters = sweep.parameters(self.campaign, report, self.config.levels_bytes);
        let nodes = sweep.nodes().as_slice();
        let reference = now + START.max(lead(&self.timing) + LEAD);
        let announcements = Slots::announcements(nodes, self.guard.sealing());
        let copies = match sweep.reach() > REACH {
            true => repeating::copies(announcements),
            false => COPIES,
        };
        let floods = announcements * u64::from(copies);
        let begin = reference + self.announcement_spacing(nodes) * floods;
        let announcing = Announcing {
            rank: 0,
            copies,
            reference,
        };
        let slot = nodes.iter().position(|node| *node == self.id);
        let slot = slot.map(|slot| slot as u16);
        if let Some(seals) = self.guard.seals() {
            seals.begin_survey(self.id);
        }
        self.task = Task::Collecting(Collection {
            ledger: Ledger::new(sweep.nodes().clone(), self.config.tries),
            floor: 1,
            begin: reference,
            phase: Phase::Announcing(announcing),
        });
        self.begin_sweep(parameters, begin, slot);
        self.set_hops(0);
    }

    /// Floods the next announcement.
    pub(super) fn send_announcement(&mut self, now: Instant, mut announcing: Announcing) {
        let (Task::Collecting(collection), Some(sweep)) = (&self.task, self.measuring.sweep())
        else {
            return;
        };
        let nodes = collection.ledger.nodes.as_slice();
        let slots = Slots::from(nodes, announcing.rank, self.guard.sealing());
        let reference = announcing.reference;
        let content = slots.and_then(|slots| {
            let announcement = Announcement {
                parameters: *sweep.parameters(),
                until: sweep.begin().since(reference),
                from: slots.from,
                rank: announcing.rank,
                nodes: slots.bits(),
            };
            FrameBuf::build(|w| announcement.emit(w)).ok()
        });
        announcing.reference += self.announcement_spacing(nodes);
        let next = slots.map(|slots| slots.next);
        announcing.rank = next
            .filter(|next| usize::from(*next) < nodes.len())
            .unwrap_or(0);
        if announcing.rank == 0 {
            announcing.copies = announcing.copies.saturating_sub(1);
        }
        let end = sweep.end();
        if let Task::Collecting(Collection { phase, .. }) = &mut self.task {
            *phase = match announcing.copies {
                0 => Phase::Sweeping { end },
                _ => Phase::Announcing(announcing),
            };
        }
        let content = content.and_then(|content| match self.guard.seals() {
            Some(seals) => seals.seal_announcement(&content).ok(),
            None => Some(content),
        });
        // Refused or not, the flood takes its time.
        if let Some(content) = content {
            let n_tx = self.config.n_tx;
            let _ = self.flood.start(now, &content, n_tx, When::At(reference));
        }
    }

    /// The last beacon has been sent.
    pub(super) fn end_beacons(&mut self, now: Instant) {
        let Task::Collecting(Collection {
            ledger,
            begin,
            phase,
            ..
        }) = &mut self.task
        else {
            return;
        };
        let (nodes, time) = (ledger.nodes.len(), now.since(*begin));
        let (frame, due) = (0, now + OWN_FRAME);
        (*begin, *phase) = (now, Phase::Own { frame, due });
        self.emit(Event::Measured { nodes, time });
    }

    /// Takes the sink's own report, and waits for the others', which come in by themselves.
    pub(super) fn own_levels(&mut self) {
        let (Task::Collecting(collection), Some(sweep)) = (&mut self.task, self.measuring.sweep())
        else {
            return;
        };
        let (parameters, end) = (
            sweep.parameters(),
            sweep.report_at(collection.ledger.nodes.len()),
        );
        let end = match parameters.reports {
            Reports::Flooded => end,
            Reports::Inwards => end + parameters.hop() * u64::from(self.flood.most_hops()),
        };
        collection.phase = Phase::Round { end };
        let parameters = for_report(parameters, self.guard.sealing());
        if let Ok(content) = levels_frame(self.id, &self.table, &parameters, self.health) {
            self.note_power_told();
            self.sink_levels(self.id, content);
        }
    }

    /// What this node reports of the last sweep, sealed in a secured network; none where it took no part in it.
    pub(crate) fn levels(&mut self) -> Option<FrameBuf> {
        let sweep = self.measuring.sweep()?;
        let parameters = for_report(sweep.parameters(), self.guard.sealing());
        let mut health = self.health;
        if let Built::With(built) = sweep.built {
            health.restarts = health.restarts.or(built.restarts);
        }
        let content = match sweep.built == Built::With(health) {
            true => self.beacon_frame,
            false => levels_frame(self.id, &self.table, &parameters, health).ok()?,
        };
        match self.guard.seals() {
            Some(seals) => seals.seal_report(self.id, &content).ok(),
            None => Some(content),
        }
    }
    /// The report in the flood of `from` that came in, plain; none where it is not for this node, or another's.
    pub(super) fn opened_levels(&mut self, from: NodeId) -> Option<FrameBuf> {
        if !matches!(self.task, Task::Collecting(_)) {
            return None;
        }
        let content = self.flood.raw_content();
        match self.guard.seals() {
            Some(seals) => seals.open_report(from, content),
            None => FrameBuf::from_slice(content).ok(),
        }
    }
    /// Takes what `from` reported of this sink's last sweep, which came another way than by a flood.
    pub(crate) fn take_levels(&mut self, from: NodeId, content: &[u8]) {
        let opened;
        let content = match self.guard.seals() {
            Some(seals) => {
                opened = seals.open_report(from, content);
                opened.as_deref().unwrap_or_default()
            }
            None => content,
        };
        let Ok(head) = Levels::parse(&mut Reader::new(content)) else {
            return;
        };
        let parameters = self.swept(head.campaign).copied();
        if let (Some(parameters), Ok(content)) = (parameters, FrameBuf::from_slice(content)) {
            self.links = Some(Waiting::Levels(Rows::new(from, parameters, content)));
            self.emit_health(from, health_in(&head, &parameters, &content));
        }
    }

    /// Takes `from`'s report of a sweep.
    pub(super) fn sink_levels(&mut self, from: NodeId, content: FrameBuf) {
        let Ok(head) = Levels::parse(&mut Reader::new(&content)) else {
            return;
        };
        let Some(parameters) = self.swept(head.campaign).copied() else {
            return;
        };
        let Task::Collecting(Collection { ledger, .. }) = &mut self.task else {
            return;
        };
        if ledger.accept(from, 0, 1) {
            self.links = Some(Waiting::Levels(Rows::new(from, parameters, content)));
            self.emit_health(from, health_in(&head, &parameters, &content));
        }
    }
}

/// `parameters` with the room that a report has where its frame is sealed, or open, as `sealing` says.
fn for_report(parameters: &Parameters, sealing: Sealing) -> Parameters {
    let report_bytes = parameters.report_bytes.saturating_sub(sealing.mic_bytes());
    Parameters {
        report_bytes,
        ..*parameters
    }
}

/// How a node is that sent `content`, a report of a sweep with this head.
fn health_in(head: &Levels, parameters: &Parameters, content: &[u8]) -> Health {
    let rows = content.get(Levels::BYTES + usize::from(head.battery.is_some())..);
    let restarts = head.restarts(parameters, rows.unwrap_or_default());
    Health {
        battery: head.battery,
        restarts: restarts.ok().flatten(),
    }
}
