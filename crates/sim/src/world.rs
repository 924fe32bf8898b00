//! The world below the engines: radios, their event queue and the medium.
//!
//! Answers operations with the semantics of [`thalweg_engine::RadioOp`]; not generic over engines.
//! Time base: [`SimTime`]; calls into the medium come in time order. A strobe leaves the mode one
//! turnaround before the first symbol; the receiver is on one turnaround after the last. CCA looks
//! at the strobe, free of charge whatever the mode. Deviations of note: a buffer's frame is taken
//! when `Transmit` is asked for; the receive buffer never overflows. Tests: `tests/contract.rs`, `tests/random_operations.rs`.

use crate::capture::{Capture, CaptureError, Captured, Side};
use crate::energy::RadioState;
use crate::fault::Fault;
use crate::queue::{Queue, Rank, Slab};
use crate::radio::{Excursion, Filling, Mode, Pending, Radio};
use crate::trace::{ReceptionTrace, Stats, TraceHook};
use thalweg_engine::{Cca, OpId, RadioEvent, RadioId, RadioOp, Refusal, Request, TxSlot, When};
use thalweg_medium::{Deaf, EarId, Medium, Outcome, Reception, TxId};
use thalweg_units::{Channel, Dbm, Instant, SimTime};
use thalweg_wire::FrameBuf;

/// A frame that was sent, kept while somebody may still be told of it.
struct Air {
    tx: TxId,
    from: usize,
    start: SimTime,
    sfd: SimTime,
    end: SimTime,
    channel: Channel,
    mpdu: FrameBuf,
    users: u32,
}

/// What an engine will be told.
enum Telling {
    Done(OpId),
    Sent(OpId, Instant),
    Refused(OpId, Refusal),
    Head {
        air: u32,
        bytes: u8,
        sfd: Instant,
        tuning: u32,
    },
    Frame {
        air: u32,
        sfd: Instant,
        end: Instant,
        rssi: Dbm,
        lqi: u8,
    },
    Corrupt {
        sfd: Instant,
    },
}

enum What {
    /// A sleeping radio's oscillator starts, for a transmission.
    Wake {
        node: u32,
        token: u32,
    },
    Strobe {
        node: u32,
        token: u32,
    },
    Tune {
        node: u32,
        tuning: u32,
    },
    AirStart {
        node: u32,
        token: u32,
    },
    AirEnd {
        air: u32,
    },
    Head {
        node: u32,
        air: u32,
        tuning: u32,
    },
    Tell {
        node: u32,
        telling: u32,
    },
    Timer {
        node: u32,
    },
    Undeafen {
        node: u32,
    },
}

/// When a node wants its time-out, and the one event in the queue that stands for it.
#[derive(Clone, Copy, Default)]
struct Timer {
    local: Option<Instant>,
    wanted: Option<SimTime>,
    armed: Option<SimTime>,
}

/// What comes next for the engines.
pub(crate) enum Next {
    /// Node `n` is told something: see [`World::told`].
    Tell { node: usize, telling: u32 },
    /// Node `n`'s time-out.
    Timeout { node: usize },
    /// Nothing until the deadline.
    Beyond,
    /// Nothing, ever.
    Idle,
}

/// An engine asks for things at one instant without end.
pub(crate) struct Stuck {
    pub(crate) at: SimTime,
}

pub(crate) struct World {
    pub(crate) now: SimTime,
    pub(crate) stats: Stats,
    pub(crate) capture: Option<Box<dyn Capture>>,
    pub(crate) trace: Option<TraceHook>,
    pub(crate) failed: Option<CaptureError>,
    medium: Medium,
    queue: Queue<What>,
    radios: Vec<Radio>,
    timers: Vec<Timer>,
    airs: Slab<Air>,
    /// Of these, what has not ended.
    on_air: Vec<u32>,
    tellings: Slab<Telling>,
    /// What dead nodes are owed.
    held: Vec<(u32, u32)>,
    locked: Vec<EarId>,
    received: Vec<Reception>,
    /// Events since time last moved.
    standing: u64,
}

impl World {
    pub(crate) fn new(medium: Medium, radios: Vec<Radio>) -> Self {
        let timers = vec![Timer::default(); radios.len()];
        Self {
            now: SimTime::ZERO,
            stats: Stats::default(),
            capture: None,
            trace: None,
            failed: None,
            medium,
            queue: Queue::new(),
            radios,
            timers,
            airs: Slab::new(),
            on_air: Vec::new(),
            tellings: Slab::new(),
            held: Vec::new(),
            locked: Vec::new(),
            received: Vec::new(),
            standing: 0,
        }
    }

    #[cfg(test)]
    pub(crate) fn is_clean(&self) -> bool {
        self.airs.len() == 0 && self.tellings.len() == 0 && self.held.is_empty()
    }
    pub(crate) fn radio(&self, n: usize) -> &Radio {
        &self.radios[n]
    }
    pub(crate) fn local(&self, n: usize) -> Instant {
        self.radios[n].read(self.now)
    }
    /// The microcontroller of node `n` handles something now.
    pub(crate) fn handled(&mut self, n: usize) {
        let radio = &mut self.radios[n];
        let until = self.now + radio.board.handler;
        radio.meter.mcu(self.now, until);
    }

    // ---- time -----------------------------------------------------------------------------

    /// Lets things happen until one of them is for an engine, or until `deadline`.
    pub(crate) fn next(&mut self, deadline: SimTime) -> Result<Next, Stuck> {
        loop {
            let Some((at, what)) = self.queue.peek() else {
                return Ok(Next::Idle);
            };
            if let What::Timer { node } = *what {
                let n = node as usize;
                if self.timers[n].armed != Some(at) || self.timers[n].wanted != Some(at) {
                    self.queue.pop();
                    self.rearm(n, at);
                    continue;
                }
            }
            if at > deadline {
                return Ok(Next::Beyond);
            }
            self.stats.events += 1;
            self.standing = if at == self.now { self.standing + 1 } else { 0 };
            if self.standing > 65_536 + 1_024 * self.radios.len() as u64 {
                return Err(Stuck { at });
            }
            self.now = at;
            let Some((_, what)) = self.queue.pop() else {
                continue;
            };
            match what {
                What::Wake { node, token } => self.wake(node as usize, token),
                What::Strobe { node, token } => self.strobe(node as usize, token),
                What::Tune { node, tuning } => self.tune(node as usize, tuning),
                What::AirStart { node, token } => self.air_start(node as usize, token),
                What::AirEnd { air } => self.air_end(air),
                What::Head { node, air, tuning } => self.head(node as usize, air, tuning),
                What::Undeafen { node } => self.undeafen(node as usize),
                What::Tell { node, telling } => {
                    if self.radios[node as usize].dead {
                        self.held.push((node, telling));
                    } else if !self.is_stale(node as usize, telling) {
                        return Ok(Next::Tell {
                            node: node as usize,
                            telling,
                        });
                    }
                }
                What::Timer { node } => {
                    let n = node as usize;
                    self.timers[n].armed = None;
                    if !self.radios[n].dead {
                        self.timers[n].wanted = None;
                        self.timers[n].local = None;
                        return Ok(Next::Timeout { node: n });
                    }
                }
            }
            if self.failed.is_some() {
                return Ok(Next::Beyond);
            }
        }
    }

    /// Node `n` wants its next time-out at `local`.
    pub(crate) fn set_timeout(&mut self, n: usize, local: Option<Instant>) {
        let timer = &mut self.timers[n];
        if timer.local == local {
            return;
        }
        timer.local = local;
        timer.wanted = local.map(|l| self.radios[n].clock.when(l).max(self.now));
        // An event that comes too soon is moved on when it comes, so that an engine that puts off
        // its time-out with every frame does not fill the queue.
        if let Some(wanted) = timer.wanted {
            if timer.armed.is_none_or(|armed| armed > wanted) {
                timer.armed = Some(wanted);
                self.queue
                    .push(wanted, Rank::Timeout, What::Timer { node: n as u32 });
            }
        }
    }

    /// The timer event of `at` is gone from the queue and was not due.
    fn rearm(&mut self, n: usize, at: SimTime) {
        let timer = &mut self.timers[n];
        if timer.armed != Some(at) {
            return; // one that was overtaken by a sooner one
        }
        timer.armed = timer.wanted;
        if let Some(wanted) = timer.wanted {
            self.queue
                .push(wanted, Rank::Timeout, What::Timer { node: n as u32 });
        }
    }

    // ---- telling engines --------------------------------------------------------------------

    fn tell(&mut self, n: usize, at: SimTime, telling: Telling) {
        let telling = self.tellings.insert(telling);
        self.queue.push(
            at,
            Rank::Tell,
            What::Tell {
                node: n as u32,
                telling,
            },
        );
    }
    fn refuse(&mut self, n: usize, id: OpId, why: Refusal) {
        self.tell(n, self.now, Telling::Refused(id, why));
    }
    fn done(&mut self, n: usize, at: SimTime, id: OpId) {
        self.tell(n, at, Telling::Done(id));
    }
    /// A head of a frame that was aborted meanwhile is not told.
    fn is_stale(&mut self, n: usize, telling: u32) -> bool {
        let stale = match self.tellings.get(telling) {
            Some(Telling::Head { tuning, .. }) => *tuning != self.radios[n].tuning,
            Some(_) => false,
            None => true,
        };
        if stale {
            self.told(telling, |_| ());
        }
        stale
    }
    /// Gives the event named `telling` to `handle`, and forgets it.
    pub(crate) fn told(&mut self, telling: u32, handle: impl FnOnce(RadioEvent<'_>)) {
        let Some(telling) = self.tellings.remove(telling) else {
            return;
        };
        let air = match telling {
            Telling::Done(op) => return handle(RadioEvent::Done { op }),
            Telling::Sent(op, sfd) => return handle(RadioEvent::Sent { op, sfd }),
            Telling::Refused(op, why) => return handle(RadioEvent::Refused { op, why }),
            Telling::Corrupt { sfd } => return handle(RadioEvent::Corrupt { sfd }),
            Telling::Head {
                air, bytes, sfd, ..
            } => {
                if let Some(frame) = self.airs.get(air) {
                    let bytes = &frame.mpdu[..usize::from(bytes)];
                    handle(RadioEvent::Head { bytes, sfd });
                }
                air
            }
            Telling::Frame {
                air,
                sfd,
                end,
                rssi,
                lqi,
            } => {
                if let Some(frame) = self.airs.get(air) {
                    handle(RadioEvent::Frame {
                        mpdu: &frame.mpdu,
                        sfd,
                        end,
                        rssi,
                        lqi,
                    });
                }
                air
            }
        };
        self.release(air);
    }
    fn release(&mut self, air: u32) {
        let Some(frame) = self.airs.get_mut(air) else {
            return;
        };
        frame.users -= 1;
        if frame.users == 0 {
            self.airs.remove(air);
        }
    }

    // ---- operations -------------------------------------------------------------------------

    /// Takes an operation of node `n`, now.
    pub(crate) fn submit(&mut self, n: usize, request: Request<'_>) {
        let (now, id) = (self.now, request.id);
        if request.radio != RadioId(0) {
            return self.refuse(n, id, Refusal::NoSuch);
        }
        match request.op {
            RadioOp::Load { slot, .. } | RadioOp::Transmit { slot, .. } if slot != TxSlot(0) => {
                self.refuse(n, id, Refusal::NoSuch);
            }
            RadioOp::Load { mpdu, .. } => {
                let Some(frame) = frame(mpdu) else {
                    return self.refuse(n, id, Refusal::BadLength);
                };
                let radio = &mut self.radios[n];
                let from = now.max(radio.bus_until);
                let until = from + radio.copy_time(mpdu.len());
                radio.slot = Some(frame);
                radio.bus_until = until;
                radio.meter.mcu(from, until);
                self.done(n, until, id);
            }
            RadioOp::Transmit {
                channel, when, cca, ..
            } => match self.radios[n].slot.clone() {
                Some(frame) => self.send(n, id, frame, Filling::Loaded, channel, when, cca),
                None => self.refuse(n, id, Refusal::Empty),
            },
            RadioOp::Stream {
                mpdu,
                channel,
                when,
                cca,
            } => match frame(mpdu) {
                Some(frame) => self.send(n, id, frame, Filling::Streamed, channel, when, cca),
                None => self.refuse(n, id, Refusal::BadLength),
            },
            RadioOp::Listen {
                channel,
                head_bytes,
            } => {
                self.radios[n].mode = Mode::Listen {
                    channel,
                    head_bytes,
                };
                self.stop_receiving(n);
                let on = match self.radios[n].excursion {
                    Excursion::No => self.begin_tuning(n),
                    Excursion::Strobed | Excursion::OnAir { .. } => now,
                };
                self.done(n, on, id);
            }
            RadioOp::Sleep => {
                self.radios[n].mode = Mode::Sleep;
                self.stop_receiving(n);
                self.drop_pending(n);
                self.settle(n);
                self.done(n, now, id);
            }
            RadioOp::Cancel => {
                if self.drop_pending(n) == Dropped::MustSettle {
                    self.settle(n);
                }
                self.done(n, now, id);
            }
        }
    }

    #[allow(clippy::too_many_arguments)] // one operation's fields
    fn send(
        &mut self,
        n: usize,
        id: OpId,
        frame: FrameBuf,
        filling: Filling,
        channel: Channel,
        when: When,
        cca: Cca,
    ) {
        let now = self.now;
        let radio = &mut self.radios[n];
        let turnaround = radio.board.timing.turnaround;
        let soonest = radio.soonest_strobe(now);
        let ready = soonest + turnaround;
        let nominal = match when {
            When::Now => ready,
            When::At(sfd) => radio
                .clock
                .when(sfd)
                .saturating_sub(radio.board.chip.phy.sfd_offset()),
            When::AfterRx(gap) => match radio.last_rx_end {
                Some(end) => radio.clock.after(end, gap),
                None => return self.refuse(n, id, Refusal::Empty),
            },
        };
        if nominal < ready {
            return self.refuse(
                n,
                id,
                Refusal::Late {
                    by: ready.since(nominal),
                },
            );
        }
        let start = match when {
            // Software is late, never early.
            When::Now => {
                let shifted = radio.with_software_jitter(nominal);
                nominal + nominal.since(shifted).max(shifted.since(nominal))
            }
            When::At(_) => radio.with_software_jitter(nominal).max(ready),
            // Armed in hardware, which may be early by its own rounding.
            When::AfterRx(_) => radio.with_sync_jitter(nominal),
        };
        let strobe = start.saturating_sub(turnaround).max(soonest);
        radio.tokens = radio.tokens.wrapping_add(1);
        let token = radio.tokens;
        if filling == Filling::Streamed {
            radio.slot = Some(frame.clone());
        }
        let dropped = self.drop_pending(n);
        self.radios[n].pending = Some(Pending {
            id,
            token,
            strobe,
            start,
            channel,
            cca,
            filling,
            frame,
        });
        let node = n as u32;
        if dropped == Dropped::MustSettle || self.radios[n].mode == Mode::Sleep {
            self.settle(n);
        }
        self.queue
            .push(strobe, Rank::Turn, What::Strobe { node, token });
    }

    /// Answers the pending transmission, if there is one, that it will not be.
    fn drop_pending(&mut self, n: usize) -> Dropped {
        let Some(pending) = self.radios[n].pending.take() else {
            return Dropped::Nothing;
        };
        self.refuse(n, pending.id, Refusal::Superseded);
        let radio = &mut self.radios[n];
        let strobed = radio.excursion == Excursion::Strobed;
        if strobed {
            radio.excursion = Excursion::No;
        }
        if strobed || radio.mode == Mode::Sleep {
            Dropped::MustSettle
        } else {
            Dropped::Nothing
        }
    }

    // ---- the radio's states -------------------------------------------------------------------

    /// The receiver hears nothing any more; a reception in progress is lost.
    fn stop_receiving(&mut self, n: usize) {
        let radio = &mut self.radios[n];
        radio.tuning = radio.tuning.wrapping_add(1);
        radio.receiving_until = SimTime::ZERO;
        if radio.tuned {
            radio.tuned = false;
            self.medium.deafen(self.now, ear(n), Deaf::Busy);
        }
    }

    /// The radio turns to what its mode says, unless it is away.
    fn settle(&mut self, n: usize) {
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
    fn begin_tuning(&mut self, n: usize) -> SimTime {
        let now = self.now;
        let radio = &mut self.radios[n];
        let awake = *radio
            .awake_from
            .get_or_insert(now + radio.board.timing.wake);
        let calibrate = awake.max(now);
        let on = calibrate + radio.board.timing.turnaround;
        radio.tuning = radio.tuning.wrapping_add(1);
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
        on
    }

    fn tune(&mut self, n: usize, tuning: u32) {
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
    fn hear(&mut self, n: usize, channel: Channel) {
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

    fn wake(&mut self, n: usize, token: u32) {
        let radio = &mut self.radios[n];
        if radio.pending(token).is_some() && radio.awake_from.is_none() {
            radio.awake_from = Some(self.now + radio.board.timing.wake);
            radio.meter.radio(self.now, RadioState::Idle, [None; 2]);
        }
    }

    fn strobe(&mut self, n: usize, token: u32) {
        let now = self.now;
        let Some(pending) = self.radios[n].pending(token) else {
            return;
        };
        let (id, channel, start) = (pending.id, pending.channel, pending.start);
        let (look, filling, bytes) = (pending.cca, pending.filling, pending.frame.len());
        if look == Cca::Require && self.is_busy(n, channel) {
            self.radios[n].pending = None;
            self.refuse(n, id, Refusal::ChannelBusy);
            if self.radios[n].mode == Mode::Sleep {
                self.settle(n);
            }
            return;
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
            radio
                .meter
                .mcu(now, start + radio.board.chip.phy.air_time(bytes));
        }
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

    // ---- frames on the air --------------------------------------------------------------------

    fn air_start(&mut self, n: usize, token: u32) {
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
        self.queue.push(end, Rank::AirEnd, What::AirEnd { air });
        self.tell(n, end + latency, Telling::Sent(id, told_sfd));
    }

    fn head(&mut self, n: usize, air: u32, tuning: u32) {
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

    fn air_end(&mut self, air: u32) {
        let now = self.now;
        let Some(frame) = self.airs.get(air) else {
            return;
        };
        let (tx, from, sent_sfd) = (frame.tx, frame.from, frame.sfd);
        self.on_air.retain(|other| *other != air);
        let mut received = std::mem::take(&mut self.received);
        received.clear();
        self.medium.end(now, tx, &mut received);

        self.radios[from].excursion = Excursion::No;
        self.settle(from);
        self.record(air, sent_sfd, now, Side::Sent { node: from });
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
            self.trace_reception(air, r);
            if good {
                self.stats.receptions += 1;
                if let Some(frame) = self.airs.get_mut(air) {
                    frame.users += 1;
                }
                let (rssi, lqi) = (r.rssi, r.lqi);
                self.tell(
                    n,
                    at,
                    Telling::Frame {
                        air,
                        sfd,
                        end: last,
                        rssi,
                        lqi,
                    },
                );
                self.record(air, r.sfd, now, Side::Received { node: n, rssi, lqi });
            } else {
                self.stats.corrupt += 1;
                self.tell(n, at, Telling::Corrupt { sfd });
            }
        }
        self.received = received;
        self.release(air);
    }

    fn record(&mut self, air: u32, sfd: SimTime, end: SimTime, side: Side) {
        let (Some(capture), Some(frame)) = (&mut self.capture, self.airs.get(air)) else {
            return;
        };
        let captured = Captured {
            sfd,
            end,
            channel: frame.channel,
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
        trace(&ReceptionTrace {
            at: r.end,
            from: frame.from,
            to: r.ear.0 as usize,
            channel: frame.channel,
            start: frame.start,
            mpdu: &frame.mpdu,
            outcome: r.outcome,
            rssi: r.rssi,
            lqi: r.lqi,
            senders: r.senders,
        });
    }

    // ---- faults -------------------------------------------------------------------------------

    pub(crate) fn fault(&mut self, n: usize, fault: Fault) {
        match fault {
            Fault::Dead => {
                self.radios[n].dead = true;
                self.stop_receiving(n);
                self.drop_pending(n);
                self.settle(n);
            }
            Fault::Deaf { until } => {
                self.radios[n].deaf_until = Some(until);
                if self.radios[n].tuned {
                    self.radios[n].tuned = false;
                    self.radios[n].receiving_until = SimTime::ZERO;
                    self.medium.deafen(self.now, ear(n), Deaf::Busy);
                }
                let what = What::Undeafen { node: n as u32 };
                self.queue.push(until.max(self.now), Rank::Turn, what);
            }
            Fault::Healthy => {
                let was_dead = std::mem::take(&mut self.radios[n].dead);
                self.radios[n].deaf_until = None;
                if was_dead {
                    self.revive(n);
                } else {
                    self.undeafen(n);
                }
            }
        }
    }

    fn revive(&mut self, n: usize) {
        self.settle(n);
        let now = self.now;
        for (node, telling) in std::mem::take(&mut self.held) {
            if node as usize == n {
                self.queue
                    .push(now, Rank::Tell, What::Tell { node, telling });
            } else {
                self.held.push((node, telling));
            }
        }
        let local = self.timers[n].local.take();
        self.set_timeout(n, local);
    }

    fn undeafen(&mut self, n: usize) {
        let now = self.now;
        let radio = &mut self.radios[n];
        if radio.is_deaf(now) || radio.tuned || radio.excursion != Excursion::No {
            return;
        }
        if let (Mode::Listen { channel, .. }, true) = (radio.mode, radio.meter.receives(now)) {
            self.hear(n, channel);
        }
    }
}

/// What dropping a pending transmission left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dropped {
    Nothing,
    /// The radio was away or awake for it.
    MustSettle,
}

fn ear(n: usize) -> EarId {
    EarId(n as u32)
}

fn frame(mpdu: &[u8]) -> Option<FrameBuf> {
    FrameBuf::from_slice(mpdu)
        .ok()
        .filter(|frame| !frame.is_empty())
}
