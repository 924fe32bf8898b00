//! The radios' states and the frames on the air.
//!
//! A strobe leaves the mode one turnaround before the first symbol; the receiver is on one
//! turnaround after the last. CCA looks at the strobe, free of charge whatever the mode. What is
//! told to engines comes the board's event latency later, or when its software comes to it
//! (`software.rs`). Tests: `tests/contract.rs`, `tests/whole.rs`.

use crate::capture::{Captured, Side};
use crate::energy::RadioState;
use crate::queue::Rank;
use crate::radio::{Excursion, Filling, Mode, Pending};
use crate::timeline::Activity;
use crate::trace::ReceptionTrace;
use crate::world::{Air, Telling, What, World};
use thalweg_engine::{Cca, Refusal};
use thalweg_medium::chip::Band;
use thalweg_medium::{Deaf, EarId, Outcome, Reception};
use thalweg_units::{Channel, Channel900, SimTime, Tuning};

impl World {
    /// The receiver hears nothing any more; a reception in progress is lost.
    pub(crate) fn stop_receiving(&mut self, n: usize) {
        let radio = &mut self.radios[n];
        radio.tuning = radio.tuning.wrapping_add(1);
        radio.receiving_until = SimTime::ZERO;
        radio.on_from = None;
        if radio.tuned {
            radio.tuned = false;
            self.medium.deafen(self.now, ear(n), Deaf::Busy);
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
        self.medium.deafen(now, ear(n), Deaf::Sleeping);
        if let Some((strobe, token)) = pending {
            let at = strobe.saturating_sub(wake).max(now);
            self.queue.push(
                at,
                Rank::Turn,
                What::Wake {
                    node: n as u32,
                    token,
                },
            );
        }
    }

    /// Starts what it takes to receive; says when the receiver is on.
    pub(crate) fn begin_tuning(&mut self, n: usize) -> SimTime {
        let now = self.now;
        let radio = &mut self.radios[n];
        let awake = *radio
            .awake_from
            .get_or_insert(now + radio.board.timing.wake);
        let calibrate = awake.max(now);
        let on = calibrate + radio.board.timing.to_receive;
        radio.tuning = radio.tuning.wrapping_add(1);
        radio.on_from = Some(on);
        let receive = Some((on, RadioState::Receive));
        if calibrate > now {
            let then = [Some((calibrate, RadioState::Calibrate)), receive];
            radio.meter.radio(now, RadioState::Idle, then);
        } else {
            radio
                .meter
                .radio(now, RadioState::Calibrate, [receive, None]);
        }
        let what = What::Tune {
            node: n as u32,
            tuning: radio.tuning,
        };
        self.queue.push(on, Rank::Turn, what);
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
        let Some(tx) = self.medium.listen(self.now, ear(n), channel) else {
            return;
        };
        let airs = &self.airs;
        let is_it = |air: &&u32| airs.get(**air).is_some_and(|frame| frame.tx == tx);
        if let Some(air) = self.on_air.iter().find(is_it) {
            self.synchronised(n, *air);
        }
    }

    /// The receiver has just synchronised on a frame.
    fn synchronised(&mut self, n: usize, air: u32) {
        let (Some(frame), radio) = (self.airs.get(air), &mut self.radios[n]) else {
            return;
        };
        radio.receiving_until = frame.end;
        radio.receiving_sfd = frame.sfd;
        radio.overflown = false;
        let head = radio.head_bytes(frame.mpdu.len());
        if head > 0 {
            let phy = &radio.board.chip.phy;
            let symbols = phy.mpdu_symbol() + phy.symbols_per_byte * head as u32;
            let at = frame.start + phy.symbol * u64::from(symbols);
            let what = What::Head {
                node: n as u32,
                air,
                tuning: radio.tuning,
            };
            self.queue.push(at, Rank::Head, what);
        }
    }

    pub(crate) fn wake(&mut self, n: usize, token: u32) {
        let radio = &mut self.radios[n];
        if radio.pending(token).is_some() && radio.awake_from.is_none() {
            radio.awake_from = Some(self.now + radio.board.timing.wake);
            radio.meter.radio(self.now, RadioState::Idle, [None; 2]);
        }
    }

    pub(crate) fn strobe(&mut self, n: usize, token: u32) {
        let now = self.now;
        let Some(pending) = self.radios[n].pending(token) else {
            return;
        };
        let (id, channel, start) = (pending.id, pending.channel, pending.start);
        let (look, filling, bytes) = (pending.cca, pending.filling, pending.frame.len());
        if look == Cca::Require && self.is_busy(n, channel) {
            self.radios[n].pending = None;
            if let Some(id) = id {
                self.refuse(n, id, Refusal::ChannelBusy);
            }
            if self.radios[n].mode == Mode::Sleep {
                self.settle(n);
            }
            // The buffer is free for whoever waits to write it.
            return self.begin_work(self.node_of(n));
        }
        self.stop_receiving(n);
        let radio = &mut self.radios[n];
        radio.excursion = Excursion::Strobed;
        let transmit = Some((start, RadioState::Transmit));
        radio
            .meter
            .radio(now, RadioState::Calibrate, [transmit, None]);
        if filling == Filling::Streamed {
            radio.bus_until = radio.bus_until.max(now + radio.copy_time(bytes));
            let copied = now + radio.copy_time(bytes);
            let until = start + radio.board.chip.phy.air_time(bytes);
            let node = self.node_of(n);
            self.radios[node].meter.mcu(now, until);
            self.span(n, now, copied, Activity::Load, None, None);
        }
        self.span(n, now, start, Activity::Calibrate, Some(channel), None);
        self.queue.push(
            start,
            Rank::AirStart,
            What::AirStart {
                node: n as u32,
                token,
            },
        );
    }

    /// What clear channel assessment finds: energy above the chip's threshold, or a frame that is
    /// being received (CC2420's CCA mode 3).
    fn is_busy(&mut self, n: usize, channel: Channel) -> bool {
        let radio = &self.radios[n];
        let same = matches!(radio.mode, Mode::Listen { channel: c, .. } if c == channel);
        if same && radio.receiving_until > self.now {
            return true;
        }
        let threshold = radio.board.chip.cca_threshold.milliwatts();
        self.medium.sensed_power(self.now, ear(n), channel) > threshold
    }

    pub(crate) fn air_start(&mut self, n: usize, token: u32) {
        let now = self.now;
        let radio = &mut self.radios[n];
        if radio.excursion != Excursion::Strobed || radio.pending(token).is_none() {
            return;
        }
        let Some(Pending {
            id,
            channel,
            frame: mpdu,
            ..
        }) = radio.pending.take()
        else {
            return;
        };
        let phy = &radio.board.chip.phy;
        let end = now + phy.air_time(mpdu.len());
        radio.excursion = Excursion::OnAir { until: end };
        self.stats.air_frames += 1;

        let (power, latency) = (radio.board.tx_power, radio.board.timing.event_latency);
        let sfd = now + phy.sfd_offset();
        let told_sfd = radio.read(sfd);
        let mut locked = std::mem::take(&mut self.locked);
        locked.clear();
        let tx = self
            .medium
            .transmit(now, ear(n), channel, power, &mpdu, &mut locked);
        self.span(n, now, end, Activity::Transmit, Some(channel), Some(&mpdu));
        let air = Air {
            tx,
            from: n,
            start: now,
            sfd,
            end,
            channel,
            mpdu,
            users: 1,
        };
        let air = self.airs.insert(air);
        self.on_air.push(air);
        for ear in &locked {
            self.synchronised(ear.0 as usize, air);
        }
        self.locked = locked;
        if self.watch.is_some() {
            self.watch_beginning(air);
        }
        self.queue.push(end, Rank::AirEnd, What::AirEnd { air });
        if let Some(id) = id {
            self.tell(n, end + latency, Telling::Sent(id, told_sfd));
        }
    }

    pub(crate) fn head(&mut self, n: usize, air: u32, tuning: u32) {
        let now = self.now;
        let (Some(frame), radio) = (self.airs.get_mut(air), &self.radios[n]) else {
            return;
        };
        if radio.tuning != tuning {
            return;
        }
        let bytes = radio.head_bytes(frame.mpdu.len());
        let Some(sfd) = self.medium.head(now, ear(n), frame.tx, bytes) else {
            return;
        };
        frame.users += 1;
        let sfd = radio.read(sfd.min(now));
        let at = now + radio.board.timing.event_latency;
        self.tell(
            n,
            at,
            Telling::Head {
                air,
                bytes: bytes as u8,
                sfd,
                tuning,
            },
        );
    }

    pub(crate) fn air_end(&mut self, air: u32) {
        let now = self.now;
        let Some(frame) = self.airs.get(air) else {
            return;
        };
        let (tx, from, sent_sfd) = (frame.tx, frame.from, frame.sfd);
        let (channel, start, mpdu) = (frame.channel, frame.start, frame.mpdu);
        self.on_air.retain(|other| *other != air);
        let mut received = std::mem::take(&mut self.received);
        received.clear();
        if self.watch.is_some() {
            self.watch_end(air);
        }
        self.medium.end(now, tx, &mut received);
        if self.watch.is_some() {
            self.tell_end(air, &received);
        }

        self.radios[from].excursion = Excursion::No;
        self.sent(from, channel);
        self.record(
            air,
            sent_sfd,
            now,
            Side::Sent {
                node: self.node_of(from),
            },
        );
        for r in &received {
            let n = r.ear.0 as usize;
            let good = matches!(r.outcome, Outcome::Good);
            let radio = &mut self.radios[n];
            radio.receiving_until = SimTime::ZERO;
            // The power-weighted end of several senders' frames may lie beyond the first's.
            let end = r.end.max(now);
            let at = end + radio.board.timing.event_latency;
            let (sfd, last) = (radio.read(r.sfd), radio.read(r.end));
            if good {
                radio.last_rx_end = Some(r.end);
            }
            let serial = radio.board.timing.software.is_serial();
            self.trace_reception(air, r);
            let activity = match r.outcome {
                Outcome::Good => Activity::Receive,
                Outcome::Corrupt(_) => Activity::Corrupt,
            };
            self.span(n, start, end, activity, Some(channel), Some(&mpdu));
            if good {
                self.acknowledge_in_hardware(n, &mpdu, end);
                self.stats.receptions += 1;
                if let Some(frame) = self.airs.get_mut(air) {
                    frame.users += 1;
                }
                let (rssi, lqi) = (r.rssi, r.lqi);
                let telling = Telling::Frame {
                    air,
                    bytes: self.radios[n].readout.min(mpdu.len() as u8),
                    sfd,
                    end: last,
                    rssi,
                    lqi,
                };
                let met = self.met(n, &mpdu);
                if serial {
                    self.take_in(n, telling, mpdu.len(), met);
                } else {
                    self.tell(n, at, telling);
                    self.set_off(n, met);
                }
                let node = self.node_of(n);
                self.record(air, r.sfd, now, Side::Received { node, rssi, lqi });
            } else {
                self.stats.corrupt += 1;
                if serial {
                    self.take_in(n, Telling::Corrupt { sfd }, mpdu.len(), None);
                } else {
                    self.tell(n, at, Telling::Corrupt { sfd });
                }
            }
        }
        self.received = received;
        self.release(air);
    }

    fn record(&mut self, air: u32, sfd: SimTime, end: SimTime, side: Side) {
        let (Some(capture), Some(frame)) = (&mut self.capture, self.airs.get(air)) else {
            return;
        };
        let on = match self.radios.get(frame.from).map(|r| r.board.chip.band) {
            Some(Band::Mhz900) => Channel900::at_place(frame.channel).map(Tuning::Mhz900),
            _ => None,
        };
        let captured = Captured {
            sfd,
            end,
            on: on.unwrap_or(Tuning::Ghz2_4(frame.channel)),
            mpdu: &frame.mpdu,
            side,
        };
        if let Err(error) = capture.frame(&captured) {
            self.capture = None;
            self.failed = Some(error);
        }
    }

    fn trace_reception(&mut self, air: u32, r: &Reception) {
        let (Some(trace), Some(frame)) = (&mut self.trace, self.airs.get(air)) else {
            return;
        };
        let nodes = self.mcus.len().max(1);
        trace(&ReceptionTrace {
            at: r.end,
            from: frame.from % nodes,
            to: r.ear.0 as usize % nodes,
            channel: frame.channel,
            start: frame.start,
            mpdu: &frame.mpdu,
            outcome: r.outcome,
            rssi: r.rssi,
            lqi: r.lqi,
            senders: r.senders,
        });
    }
}

pub(crate) fn ear(n: usize) -> EarId {
    EarId(n as u32)
}
