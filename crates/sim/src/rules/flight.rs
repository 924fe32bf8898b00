//! The radios' states and the frames on the air.
//!
//! A strobe leaves the mode one turnaround before the first symbol; the receiver is on one
//! turnaround after the last. CCA looks at the strobe, or for a while before it, free of charge
//! whatever the mode. Notices come the board's event latency later, or when its
//! software comes to it (`software.rs`). Tests: `tests/contract.rs`, `tests/whole.rs`.

use crate::board::McuRuns;
use crate::capture::{Captured, Side};
use crate::energy::RadioState;
use crate::hooks::{Activity, Kind, ReceptionTrace};
use crate::queue::Rank;
use crate::radio::{CcaStep, Excursion, Filling, LastRx, Mode, Radio};
use crate::world::{Event, Frame, Notice, World};
use thalweg_engine::{Hear, Refusal};
use thalweg_medium::chip::Band;
use thalweg_medium::{
    Air, Cause, Deaf, EarId, Explain, FrameId, Lead, Outcome, Reception, Sending,
};
use thalweg_units::{Channel, Channel900, Dbm, Duration, NodeId, SimTime, Tuning};
use thalweg_wire::addressed;

impl<A: Air> World<A> {
    /// The receiver hears nothing any more; a reception in progress is lost.
    pub(crate) fn stop_receiving(&mut self, n: usize) {
        let radio = &mut self.radios[n];
        radio.tuning = radio.tuning.wrapping_add(1);
        radio.on_from = None;
        if radio.tuned {
            radio.tuned = false;
            self.air.deafen(self.now, ear(n), Deaf::Busy);
        }
    }

    /// The radio turns to what its mode says, unless it is away.
    pub(crate) fn settle(&mut self, n: usize) {
        let now = self.now;
        let radio = &mut self.radios[n];
        if matches!(radio.excursion, Excursion::OnAir { .. }) {
            return;
        }
        if matches!(radio.mode, Mode::Listen { .. }) && !radio.dead {
            self.begin_tuning(n);
            return;
        }
        // Asleep: stay awake only for a transmission that leaves no time for another start-up.
        let wake = radio.board.timing.wake;
        let pending = radio.pending.as_ref().map(|p| (p.strobe, p.token));
        if let (Some((strobe, _)), Some(_)) = (pending, radio.awake_from) {
            if strobe <= now + wake {
                return radio.meter.radio(now, RadioState::Idle, [None; 2]);
            }
        }
        radio.awake_from = None;
        radio.meter.radio(now, RadioState::Sleep, [None; 2]);
        self.stop_receiving(n);
        self.air.deafen(now, ear(n), Deaf::Sleeping);
        if let Some((strobe, token)) = pending {
            let at = strobe.saturating_sub(wake).max(now);
            let node = n as u32;
            self.queue.push(at, Rank::Turn, Event::Wake { node, token });
        }
    }

    /// Starts what it takes to receive; says when the receiver is on.
    pub(crate) fn begin_tuning(&mut self, n: usize) -> SimTime {
        let now = self.now;
        let radio = &mut self.radios[n];
        let (wake, to_receive) = (radio.board.timing.wake, radio.board.timing.to_receive);
        radio.tuning = radio.tuning.wrapping_add(1);
        if radio.wakes_ahead() {
            radio.meter.started_ahead(now, wake, to_receive);
            (radio.awake_from, radio.on_from) = (Some(now), Some(now));
            let tuning = radio.tuning;
            self.tune(n, tuning);
            return now;
        }
        let awake = *radio.awake_from.get_or_insert(now + wake);
        let calibrate = awake.max(now);
        let on = calibrate + to_receive;
        radio.on_from = Some(on);
        let receive = Some((on, RadioState::Receive));
        if calibrate > now {
            radio.pay_for_waking(now);
            let then = [Some((calibrate, RadioState::Calibrate)), receive];
            radio.meter.radio(now, RadioState::Idle, then);
        } else {
            radio
                .meter
                .radio(now, RadioState::Calibrate, [receive, None]);
        }
        let (node, tuning) = (n as u32, radio.tuning);
        self.queue
            .push(on, Rank::Turn, Event::Tune { node, tuning });
        self.span(n, calibrate, on, Activity::Calibrate, None, None);
        on
    }

    pub(crate) fn tune(&mut self, n: usize, tuning: u32) {
        let now = self.now;
        let radio = &mut self.radios[n];
        if radio.tuning != tuning {
            return;
        }
        let Mode::Listen { channel, .. } = radio.mode else {
            return;
        };
        if !radio.is_deaf(now) {
            self.hear(n, channel);
        }
    }

    /// The receiver is on from now on; it may find a frame whose preamble is still going on.
    pub(crate) fn hear(&mut self, n: usize, channel: Channel) {
        if self.radios[n].jammed == Some(channel) {
            return;
        }
        self.radios[n].tuned = true;
        let found = self.air.listen(self.now, ear(n), channel);
        if let Some(frame) = found.and_then(|id| self.frame_on_air(id)) {
            self.locked_on(n, frame);
        }
    }

    /// Where the frame is kept that the air calls `id`.
    fn frame_on_air(&self, id: FrameId) -> Option<u32> {
        let is_it = |frame: &&u32| self.frames.get(**frame).is_some_and(|kept| kept.id == id);
        self.on_air.iter().find(is_it).copied()
    }

    /// The receiver has just locked on a frame.
    fn locked_on(&mut self, n: usize, frame: u32) {
        let (Some(kept), radio) = (self.frames.get(frame), &mut self.radios[n]) else {
            return;
        };
        radio.overflown = false;
        let head = radio.head_bytes(kept.mpdu.len());
        if head > 0 {
            let phy = &radio.board.chip.phy;
            let header = u64::from(phy.symbols_per_byte * phy.phr_bytes);
            let symbols = header + u64::from(phy.symbols_per_byte) * head as u64;
            let at = kept.sfd + phy.symbol * symbols;
            let (node, tuning) = (n as u32, radio.tuning);
            let what = Event::Head {
                node,
                frame,
                tuning,
            };
            self.queue.push(at, Rank::Head, what);
        }
    }

    /// Ears have locked on frames, as the air reports.
    fn all_locked(&mut self) {
        if !A::ABLE.heads {
            return;
        }
        let mut locked = std::mem::take(&mut self.locked);
        for lock in locked.drain(..) {
            if let Some(frame) = self.frame_on_air(lock.on) {
                self.locked_on(lock.ear.0 as usize, frame);
            }
        }
        self.locked = locked;
    }

    pub(crate) fn wake(&mut self, n: usize, token: u32) {
        let radio = &mut self.radios[n];
        if radio.pending(token).is_some() && radio.awake_from.is_none() {
            radio.awake_from = Some(self.now + radio.board.timing.wake);
            radio.pay_for_waking(self.now);
            radio.meter.radio(self.now, RadioState::Idle, [None; 2]);
        }
    }

    pub(crate) fn strobe(&mut self, n: usize, token: u32) {
        let now = self.now;
        let Some(pending) = self.radios[n].pending(token) else {
            return;
        };
        let (id, channel, start) = (pending.id, pending.channel, pending.start);
        let (cca_step, filling, bytes) = (pending.cca_step, pending.filling, pending.frame.len());
        if cca_step != CcaStep::No {
            let busy = self.is_busy(n, channel) || cca_step == CcaStep::Again { busy: true };
            let radio = &mut self.radios[n];
            let cca = radio.board.cca;
            if cca_step == CcaStep::Ahead && !cca.is_zero() {
                if let Some(pending) = &mut radio.pending {
                    pending.cca_step = CcaStep::Again { busy };
                }
                let node = n as u32;
                let what = Event::Strobe { node, token };
                return self.queue.push(now + cca, Rank::Turn, what);
            }
            if busy {
                radio.pending = None;
                if let Some(id) = id {
                    self.refuse(n, id, Refusal::ChannelBusy);
                }
                if self.radios[n].mode == Mode::Sleep {
                    self.settle(n);
                }
                // The buffer is free for whoever waits to write it.
                return self.begin_work(self.node_of(n));
            }
        }
        self.stop_receiving(n);
        let radio = &mut self.radios[n];
        radio.excursion = Excursion::Strobed;
        let transmit = Some((start, RadioState::Transmit));
        radio
            .meter
            .radio(now, RadioState::Calibrate, [transmit, None]);
        if filling == Filling::Streamed {
            let copied = now + radio.copy_time(bytes);
            radio.bus_until = radio.bus_until.max(copied);
            // Glossy's code waits in the interrupt handler for the last symbol.
            let until = match radio.is_prompt() || radio.board.mcu == McuRuns::ForHandlers {
                true => copied,
                false => start + radio.board.chip.phy.air_time(bytes),
            };
            let node = self.node_of(n);
            self.radios[node].meter.mcu(now, until);
            self.span(n, now, copied, Activity::Load, None, None);
        }
        self.span(n, now, start, Activity::Calibrate, Some(channel), None);
        let node = n as u32;
        self.queue
            .push(start, Rank::AirStart, Event::AirStart { node, token });
    }

    /// What clear channel assessment finds: energy at the chip's threshold, or a frame that is being
    /// received (IEEE 802.15.4-2006, 6.9.9, mode 3 with "or", as the CC2420 has it).
    fn is_busy(&mut self, n: usize, channel: Channel) -> bool {
        let radio = &self.radios[n];
        let same = matches!(radio.mode, Mode::Listen { channel: c, .. } if c == channel);
        let threshold = radio.busy_from;
        let receiving = self.air.receiving(ear(n));
        same && receiving.is_some_and(|r| r.until > self.now)
            || self.air.sensed(self.now, ear(n), channel) >= threshold
    }

    pub(crate) fn air_start(&mut self, n: usize, token: u32) {
        let now = self.now;
        let radio = &mut self.radios[n];
        if radio.excursion != Excursion::Strobed || radio.pending(token).is_none() {
            return;
        }
        let Some(pending) = radio.pending.take() else {
            return;
        };
        let (id, channel, kind, mpdu) = (pending.id, pending.channel, pending.kind, pending.frame);
        let (lead, air) = lead_and_air_time(radio, kind, mpdu.len());
        let sfd = match lead {
            Lead::Preamble(bytes) => now + radio.board.chip.phy.with_preamble(bytes).sfd_offset(),
            Lead::Expected => now,
        };
        let end = now + air;
        radio.excursion = Excursion::OnAir { until: end };
        let (power, last_rx) = (radio.tx_power, self.filters[n].last_rx);
        self.stats.air_frames += 1;
        let (destination, to) = match kind {
            Kind::Data => self.addressee(n, &mpdu),
            Kind::Acknowledgement => (None, last_rx.map(|last| last.from)),
        };
        let sending = Sending {
            from: ear(n),
            to: to.map(ear),
            on: channel,
            power,
            lead,
            air,
            mpdu: &mpdu,
        };
        let id_on_air = self.air.begin(now, &sending, &mut self.locked);
        self.span(n, now, end, Activity::Transmit, Some(channel), Some(&mpdu));
        let frame = self.frames.insert(Frame {
            id: id_on_air,
            op: id,
            from: n,
            to,
            destination,
            kind,
            start: now,
            sfd,
            channel,
            mpdu,
            users: 1,
        });
        if A::ABLE.heads {
            self.on_air.push(frame);
        }
        self.all_locked();
        if self.watch.is_some() {
            self.watch_beginning(frame);
        }
        self.queue.push(end, Rank::AirEnd, Event::AirEnd { frame });
    }

    /// The address that radio `n`'s frame is for, and the radio that has it; none where no node filters addresses.
    fn addressee(&self, n: usize, mpdu: &[u8]) -> (Option<NodeId>, Option<usize>) {
        if self.by_address.is_empty() {
            return (None, None);
        }
        let destination = addressed::destination(mpdu);
        let to = destination.and_then(|to| self.radio_of(to, n));
        (destination, to)
    }

    /// The radio that `address` is of, on the band of radio `like`.
    fn radio_of(&self, address: NodeId, like: usize) -> Option<usize> {
        let node = *self.by_address.get(usize::from(address.get()))?;
        Some(node? as usize + usize::from(self.which(like).0) * self.mcus.len())
    }

    pub(crate) fn head(&mut self, n: usize, frame: u32, tuning: u32) {
        let now = self.now;
        let (Some(kept), radio) = (self.frames.get_mut(frame), &self.radios[n]) else {
            return;
        };
        if radio.tuning != tuning {
            return;
        }
        let bytes = radio.head_bytes(kept.mpdu.len());
        let Some(sfd) = self.air.head(now, ear(n), kept.id, bytes) else {
            return;
        };
        kept.users += 1;
        let sfd = radio.read(sfd.min(now));
        let at = now + radio.board.timing.event_latency;
        let notice = Notice::Head {
            frame,
            bytes: bytes as u8,
            sfd,
            tuning,
        };
        self.notify(n, at, notice);
    }

    /// The last symbol of a frame, which is kept until it is released; why it did not arrive where it
    /// was meant to, where it did not.
    pub(crate) fn air_end(&mut self, frame: u32) -> Option<Cause> {
        let now = self.now;
        let kept = self.frames.get(frame)?;
        let (id, from, sfd, channel) = (kept.id, kept.from, kept.sfd, kept.channel);
        let (op, kind, to, destination) = (kept.op, kept.kind, kept.to, kept.destination);
        if A::ABLE.heads {
            self.on_air.retain(|other| *other != frame);
        }
        if self.watch.is_some() {
            self.watch_end(frame);
        }
        let mut received = std::mem::take(&mut self.received);
        received.clear();
        let explain = match self.watch.is_some() || self.trace.is_some() {
            true => Explain::Losses,
            false => Explain::No,
        };
        let lost = (self.air).end(now, id, explain, &mut received, &mut self.locked);
        if self.watch.is_some() {
            self.watch_ending(frame, &received);
        }

        self.radios[from].excursion = Excursion::No;
        self.sent(from, channel);
        self.radios[from].pause(now);
        let node = self.node_of(from);
        self.record(frame, sfd, now, Side::Sent { node });
        if let Some(op) = op {
            let radio = &self.radios[from];
            let at = now + radio.board.timing.event_latency;
            let notice = Notice::Sent(op, radio.read(sfd));
            self.notify(from, at, notice);
        }
        let is_quiet = self.capture.is_none() && self.trace.is_none() && self.spans.is_none();
        for r in &received {
            let n = r.ear.0 as usize;
            let Some(filter) = self.filters.get_mut(n) else {
                continue; // an ear without a node
            };
            self.radios[n].pause(now);
            if r.outcome == Outcome::Good {
                self.stats.receptions += 1;
                let end = r.end;
                filter.last_rx = Some(LastRx { end, from });
            } else {
                self.stats.corrupt += 1;
            }
            let is_notified = filter.hear == Hear::Everything
                || match kind {
                    Kind::Data => destination.is_none() || destination == filter.address,
                    Kind::Acknowledgement => to == Some(n),
                };
            if is_notified || !is_quiet {
                self.receive(frame, r, is_notified);
            }
        }
        self.received = received;
        self.all_locked();
        lost
    }

    /// A radio has received a frame that ends now, right or wrong; with a notice to its engine, or without.
    fn receive(&mut self, frame: u32, r: &Reception, is_notified: bool) {
        let n = r.ear.0 as usize;
        let (Some(kept), radio) = (self.frames.get_mut(frame), &self.radios[n]) else {
            return;
        };
        let good = r.outcome == Outcome::Good;
        // The power-weighted end of several senders' frames may lie beyond the first's.
        let end = r.end.max(self.now);
        let (sfd, last) = (radio.read(r.sfd), radio.read(r.end));
        let (bytes, readout) = (kept.mpdu.len(), radio.readout);
        let (rssi, lqi) = self.air.registers(kept.id, r);
        if is_notified && good {
            kept.users += 1;
        }
        let (start, channel) = (kept.start, kept.channel);
        self.trace_reception(frame, r, (rssi, lqi));
        if let (Some(_), Some(kept)) = (&self.spans, self.frames.get(frame)) {
            let activity = match good {
                true => Activity::Receive,
                false => Activity::Corrupt,
            };
            let mpdu = kept.mpdu;
            self.span(n, start, end, activity, Some(channel), Some(&mpdu));
        }
        if is_notified {
            let notice = match good {
                true => Notice::Frame {
                    frame,
                    bytes: readout.min(bytes as u8),
                    sfd,
                    end: last,
                    rssi,
                    lqi,
                },
                false => Notice::Corrupt { sfd },
            };
            let good = self.frames.get(frame).filter(|_| good);
            let (ack, met) = good.map_or((None, None), |kept| {
                (self.hardware_ack(n, &kept.mpdu), self.met(n, &kept.mpdu))
            });
            if let Some(ack) = ack {
                self.send_ack(n, ack, end + self.radios[n].board.acks.gap);
            }
            let timing = &self.radios[n].board.timing;
            if timing.software.is_serial() {
                self.take_in(n, notice, bytes, met);
            } else {
                self.notify(n, end + timing.event_latency, notice);
                self.set_off(n, met);
            }
        }
        if good {
            let node = self.node_of(n);
            self.record(frame, r.sfd, self.now, Side::Received { node, rssi, lqi });
        }
    }

    fn record(&mut self, frame: u32, sfd: SimTime, end: SimTime, side: Side) {
        let (Some(capture), Some(kept)) = (&mut self.capture, self.frames.get(frame)) else {
            return;
        };
        let on = match self.radios.get(kept.from).map(|r| r.board.chip.band) {
            Some(Band::Mhz900) => Channel900::at_place(kept.channel).map(Tuning::Mhz900),
            _ => None,
        };
        let captured = Captured {
            sfd,
            end,
            on: on.unwrap_or(Tuning::Ghz2_4(kept.channel)),
            mpdu: &kept.mpdu,
            side,
        };
        if let Err(error) = capture.frame(&captured) {
            self.capture = None;
            self.failed = Some(error);
        }
    }

    fn trace_reception(&mut self, frame: u32, r: &Reception, (rssi, lqi): (Dbm, u8)) {
        let (from, to) = (
            self.frames.get(frame).map_or(0, |kept| kept.from),
            r.ear.0 as usize,
        );
        let (from, to) = (self.node_of(from), self.node_of(to));
        let (Some(trace), Some(kept)) = (&mut self.trace, self.frames.get(frame)) else {
            return;
        };
        trace(&ReceptionTrace {
            at: r.end,
            from,
            to,
            channel: kept.channel,
            start: kept.start,
            mpdu: &kept.mpdu,
            outcome: r.outcome,
            rssi,
            lqi,
            senders: r.senders,
        });
    }
}

pub(crate) fn ear(n: usize) -> EarId {
    EarId(n as u32)
}

/// How a frame of so many MPDU bytes begins, and how long it takes.
fn lead_and_air_time(radio: &Radio, kind: Kind, bytes: usize) -> (Lead, Duration) {
    let phy = &radio.board.chip.phy;
    let byte = phy.symbol * u64::from(phy.symbols_per_byte);
    match (kind, radio.board.acks.bare_bytes) {
        (Kind::Acknowledgement, Some(bare)) => (Lead::Expected, byte * u64::from(bare)),
        (Kind::Acknowledgement, None) => {
            let usual = phy.preamble_bytes as u16;
            (Lead::Preamble(usual), phy.air_time(bytes))
        }
        (Kind::Data, _) => {
            let phy = phy.with_preamble(radio.preamble);
            (Lead::Preamble(radio.preamble), phy.air_time(bytes))
        }
    }
}
