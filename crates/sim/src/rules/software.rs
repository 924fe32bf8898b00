//! The microcontroller of a node: what its software does, one thing at a time.
//!
//! Owns the queues of work and what each piece leads to when it is done. Interrupt work comes
//! before tasks and stops them midway (where the board's tasks run with interrupts off for a while, at
//! the end of that), and both before background work (`background.rs`), which takes a context switch
//! to leave; within a level, first come, first served. A task that writes
//! the transmit buffer waits until the radio has sent what is in it, and with it all tasks behind.
//! Bus transfers are byte by byte, so that an interrupt handler may come in between. Boards whose
//! software overlaps ([`crate::Software::Overlapped`]) use it for conditional transmissions alone.
//! Not modelled: a watchdog, nested interrupts. Tests: `tests/serial.rs`.

use crate::hooks::Activity;
use crate::mcu::{Job, Level, Running, Work};
use crate::queue::Rank;
use crate::radio::{frame, Deferred, Excursion, Loading, Mode};
use crate::world::{Event, Notice, World};
use thalweg_engine::{OpId, PreCopy, RadioOp, TxSlot};
use thalweg_medium::{Air, EarId};
use thalweg_units::{Channel, Duration, SimTime};
use thalweg_wire::{addressed, FrameBuf};

/// Those that others wait for.
const URGENT: [Level; 2] = [Level::Interrupt, Level::Task];

impl<A: Air> World<A> {
    /// Takes an operation of node `n` whose software does one thing at a time.
    pub(crate) fn defer(&mut self, n: usize, id: OpId, op: RadioOp<'_>) {
        let radio = &self.radios[n];
        let costs = radio.board.timing.software.costs();
        // A driver that keeps frames to itself copies when it sends.
        let (ahead, late) = match costs.precopy {
            PreCopy::Yes => (1, 0),
            PreCopy::No => (0, 1),
        };
        let copy = |mpdu: &[u8]| radio.copy_time(mpdu.len());
        let (job, cost, activity) = match op {
            RadioOp::Load { mpdu, .. } => {
                let job = Job::Loaded(Loading::Op(id), frame(mpdu));
                (job, copy(mpdu) * ahead, Activity::Load)
            }
            RadioOp::Stream {
                mpdu,
                channel,
                when,
                cca,
            } => {
                let copy = copy(mpdu);
                let load = Job::Loaded(Loading::Send, frame(mpdu));
                self.work(n, Level::Task, load, copy * ahead, Activity::Load);
                self.retune(n, channel);
                let slot = TxSlot(0);
                let send = RadioOp::Transmit {
                    slot,
                    channel,
                    when,
                    cca,
                };
                let cost = costs.strobe + copy * late;
                (Job::Do(id, Deferred::of(send)), cost, Activity::Strobe)
            }
            RadioOp::Transmit { channel, .. } => {
                let slot = radio.slot.as_deref();
                let copy = slot.map_or(Duration::ZERO, copy);
                self.retune(n, channel);
                let cost = costs.strobe + copy * late;
                (Job::Do(id, Deferred::of(op)), cost, Activity::Strobe)
            }
            RadioOp::Listen { channel, .. } => {
                self.retune(n, channel);
                self.radios[n].aimed_at = Some(channel);
                (Job::Do(id, Deferred::of(op)), Duration::ZERO, Activity::Os)
            }
            _ => (Job::Do(id, Deferred::of(op)), Duration::ZERO, Activity::Os),
        };
        self.work(n, Level::Task, job, cost, activity);
    }

    /// The software of node `n` sets another channel than the one last aimed at.
    fn retune(&mut self, n: usize, channel: Channel) {
        let cost = self.radios[n].board.timing.software.costs().retune;
        if self.radios[n].aimed_at.is_some_and(|c| c != channel) {
            self.work(n, Level::Task, Job::Pass, cost, Activity::Retune);
        }
    }

    /// The node's time-out is passed to its engine, whose operations wait for it.
    pub(crate) fn pass_timeout(&mut self, n: usize) {
        let os = self.radios[n].board.timing.software.costs().os;
        if !os.is_zero() {
            self.work(n, Level::Task, Job::Pass, os, Activity::Os);
        }
    }

    /// A reception of node `n` ended, of `bytes` MPDU bytes, with `notice`. `met`: the
    /// conditional transmission that it sets off.
    pub(crate) fn take_in(&mut self, n: usize, notice: Notice, bytes: usize, met: Option<u32>) {
        // The driver keeps an acknowledgement for the operation that waits for it.
        let is_ack = match &notice {
            Notice::Frame { frame, .. } => (self.frames.get(*frame))
                .is_some_and(|kept| addressed::Ack::parse(&kept.mpdu).is_ok()),
            _ => false,
        };
        let radio = &self.radios[n];
        let costs = radio.board.timing.software.costs();
        let sizes = &radio.board.chip.phy;
        let in_buffer = sizes.phr_bytes + bytes as u32 + sizes.fcs_bytes;
        let judging = match self.radios[n].waiting {
            Some(_) => costs.condition,
            None => Duration::ZERO,
        };
        let entry = radio.board.timing.event_latency + judging;
        self.work(
            n,
            Level::Interrupt,
            Job::Judged { met },
            entry,
            Activity::Interrupt,
        );

        let unread = self.unread(n);
        let overflow = unread > 0 && unread + u64::from(in_buffer) > u64::from(costs.rx_fifo_bytes);
        let overflown = std::mem::take(&mut self.radios[n].overflown) || overflow;
        let notice = match (overflown, notice) {
            (true, Notice::Frame { frame, sfd, .. }) => {
                self.stats.overflows += 1;
                self.release(frame);
                Notice::Corrupt { sfd }
            }
            (_, notice) => notice,
        };
        let read = match (&notice, overflown) {
            (_, true) => Duration::ZERO,
            (Notice::Frame { bytes: 0, .. }, _) => Duration::ZERO,
            (Notice::Frame { bytes: read, .. }, _) => costs.read(usize::from(*read), bytes),
            _ => costs.read_base + costs.read_byte * bytes as u64,
        };
        let pass_up = match notice {
            Notice::Frame { .. } if is_ack => Duration::ZERO,
            Notice::Frame { .. } => costs.os,
            _ => Duration::ZERO,
        };
        let notice = self.notices.insert(notice);
        if overflown {
            let job = Job::Notify { notice };
            return self.work(n, Level::Task, job, Duration::ZERO, Activity::Os);
        }
        self.radios[n].received.push_back(in_buffer);
        let job = Job::Read { notice, pass_up };
        self.work(n, Level::Task, job, read, Activity::Read);
    }

    /// A transmission of node `n` has ended: its buffer is free, and its mode may be elsewhere.
    pub(crate) fn sent(&mut self, n: usize, channel: Channel) {
        let radio = &self.radios[n];
        let elsewhere = matches!(radio.mode, Mode::Listen { channel: c, .. } if c != channel);
        let costs = radio.board.timing.software.costs();
        if radio.board.timing.software.is_serial() && elsewhere && !costs.retune.is_zero() {
            let job = Job::TurnBack;
            self.work(n, Level::Interrupt, job, costs.retune, Activity::Retune);
        } else {
            self.settle(n);
        }
        self.rewrite(n);
        self.begin_work(self.node_of(n));
    }

    /// `cost` of work for node `n`, which leads to `job`.
    pub(crate) fn work(
        &mut self,
        n: usize,
        level: Level,
        job: Job,
        cost: Duration,
        activity: Activity,
    ) {
        let node = self.node_of(n);
        self.mcus[node].queues[level as usize].push_back(Work {
            radio: n,
            job,
            activity,
            total: cost,
            left: cost,
        });
        self.begin_work(node);
    }

    /// Bytes in the receive buffer of radio `r`.
    fn unread(&self, r: usize) -> u64 {
        self.mcus[self.node_of(r)].unread(r, &self.radios[r].received, self.now)
    }

    /// Begins the most urgent work, where the microcontroller is free for it.
    pub(crate) fn begin_work(&mut self, n: usize) {
        if self.radios[n].dead {
            return;
        }
        let mcu = &self.mcus[n];
        let urgent = URGENT
            .into_iter()
            .find(|l| !mcu.queues[*l as usize].is_empty());
        if let Some(level) = urgent {
            let running = mcu.running.as_ref();
            if running.is_some_and(|r| r.level <= level) || self.is_interruptible_later(n) {
                return;
            }
            let may = self.may_begin(n, level);
            let left = self.mcus[n].running.as_ref().map(|r| r.level);
            // Work that must wait leaves the background alone.
            if may || left != Some(Level::Background) {
                let switch = self.stop_work(n);
                if may {
                    return self.run_next(n, level, switch);
                }
            }
        }
        if self.mcus[n].running.is_none() && self.mcus[n].has_background() {
            self.run_next(n, Level::Background, Duration::ZERO);
        }
    }

    /// Whether what comes first at `level` has what it needs.
    fn may_begin(&mut self, n: usize, level: Level) -> bool {
        let front = self.mcus[n].queues[level as usize].front();
        let Some((radio, job, activity)) = front.map(|w| (w.radio, w.job, w.activity)) else {
            return false;
        };
        // Until the buffer is free: what is in it has been sent, or will not be.
        if let Job::Loaded(loading, _) = job {
            if self.radios[radio].needs_buffer(loading) {
                return false;
            }
        }
        // Until the other radio's frame is over.
        !(activity.takes_bus() && self.is_bus_held(radio))
    }

    /// Whether a task runs with interrupts off just now: an interrupt handler looks again when they
    /// are on.
    fn is_interruptible_later(&mut self, n: usize) -> bool {
        let atomic = self.radios[n].board.timing.software.costs().atomic;
        let running = self.mcus[n].running.as_ref();
        let Some(running) = running.filter(|r| r.level == Level::Task && !atomic.is_zero()) else {
            return false;
        };
        let since = self.now.since(running.since).as_nanos() % atomic.as_nanos();
        if since == 0 && self.now > running.since {
            return false;
        }
        let at = self.now + Duration::from_nanos(atomic.as_nanos() - since);
        let node = n as u32;
        self.queue.push(at, Rank::Software, Event::Resume { node });
        true
    }

    /// Begins what comes first at `level`, after a context switch.
    fn run_next(&mut self, n: usize, level: Level, switch: Duration) {
        let now = self.now;
        let mcu = &mut self.mcus[n];
        let Some(mut work) = mcu.queues[level as usize].pop_front() else {
            return;
        };
        work.left += switch;
        let is_read = matches!(work.job, Job::Read { .. });
        let overwrites = matches!(work.job, Job::Loaded(Loading::Op(_) | Loading::Send, _));
        mcu.begun = mcu.begun.wrapping_add(1);
        let (node, begun) = (n as u32, mcu.begun);
        let since = now;
        mcu.running = Some(Running { work, level, since });
        if is_read {
            self.check_overflow(work.radio);
        }
        if overwrites {
            // What a timer would have sent is gone with it; acknowledgements were not in the buffer.
            let pending = self.radios[work.radio].pending.as_ref();
            let gone = pending.is_some_and(|p| p.id.is_some());
            if gone {
                self.take_back(work.radio);
            }
            self.overwritten(work.radio);
        }
        self.queue
            .push(now + work.left, Rank::Software, Event::Work { node, begun });
    }

    /// Puts what is running back to the front of its queue; what it takes to leave it.
    pub(crate) fn stop_work(&mut self, n: usize) -> Duration {
        let Some(Running {
            mut work,
            level,
            since,
        }) = self.mcus[n].running.take()
        else {
            return Duration::ZERO;
        };
        self.record_work(n, &work, since);
        work.left = work.left.saturating_sub(self.now.since(since));
        self.mcus[n].queues[level as usize].push_front(work);
        if level != Level::Background || self.now == since {
            return Duration::ZERO;
        }
        self.mcus[n].background.stopped += u32::from(matches!(work.job, Job::Background));
        self.radios[n].board.timing.software.costs().switch
    }

    /// Whether what has come in of the frame that is being received fits beside what was not read.
    fn check_overflow(&mut self, n: usize) {
        let Some(receiving) = self.air.receiving(EarId(n as u32)) else {
            return;
        };
        if receiving.until <= self.now {
            return;
        }
        let radio = &self.radios[n];
        let sizes = &radio.board.chip.phy;
        let byte = sizes.symbol * u64::from(sizes.symbols_per_byte);
        let so_far = self.now.since(receiving.sfd).as_nanos() / byte.as_nanos().max(1);
        let room = u64::from(radio.board.timing.software.costs().rx_fifo_bytes);
        if self.unread(n) + so_far > room {
            self.radios[n].overflown = true;
        }
    }

    fn record_work(&mut self, n: usize, work: &Work, since: SimTime) {
        let now = self.now;
        self.radios[n].meter.mcu(since, now);
        if self.spans.is_none() || since == now {
            return;
        }
        let mpdu = match work.job {
            Job::Loaded(_, frame) => Some(frame),
            Job::Read { notice, .. } | Job::Notify { notice } => match self.notices.get(notice) {
                Some(Notice::Frame { frame, .. }) => self.frames.get(*frame).map(|f| f.mpdu),
                _ => None,
            },
            _ => None,
        };
        let r = work.radio;
        self.span(r, since, now, work.activity, None, mpdu.as_deref());
    }

    /// The time of a piece of work has passed.
    pub(crate) fn end_work(&mut self, n: usize, begun: u32) {
        let mcu = &mut self.mcus[n];
        if mcu.begun != begun {
            return;
        }
        let Some(running) = mcu.running.take() else {
            return;
        };
        self.record_work(n, &running.work, running.since);
        if self.radios[n].dead {
            // Goes on when the node does.
            let work = Work {
                left: Duration::ZERO,
                ..running.work
            };
            return self.mcus[n].queues[running.level as usize].push_front(work);
        }
        let node = n;
        let n = running.work.radio;
        match running.work.job {
            Job::Pass => {}
            Job::Background => self.mcus[node].background.done += 1,
            Job::Acknowledge(ack) => self.acknowledge(n, ack),
            Job::Judged { met } => {
                if let Some(number) = met {
                    self.prepare_to_fire(n, number);
                }
            }
            Job::Fire(number) => self.fire(n, number),
            Job::TurnBack => {
                if self.radios[n].excursion == Excursion::No {
                    self.settle(n);
                }
            }
            Job::Loaded(loading, frame) => self.loaded(n, loading, frame),
            Job::Read { notice, pass_up } => {
                self.radios[n].received.pop_front();
                let os = Work {
                    radio: n,
                    job: Job::Notify { notice },
                    activity: Activity::Os,
                    total: pass_up,
                    left: pass_up,
                };
                // The process that read it passes it up before anything else.
                self.mcus[node].queues[Level::Task as usize].push_front(os);
                self.acknowledge_read(n, notice);
            }
            Job::Notify { notice } => {
                let (now, node) = (self.now, n as u32);
                self.queue
                    .push(now, Rank::Notify, Event::Notify { node, notice });
            }
            Job::Do(id, deferred) => self.carry_out(n, id, deferred.op()),
        }
        self.begin_work(node);
    }

    fn loaded(&mut self, n: usize, loading: Loading, frame: FrameBuf) {
        match loading {
            Loading::Op(id) => {
                self.radios[n].slot = Some(frame);
                self.done(n, self.now, id);
            }
            Loading::Send => self.radios[n].slot = Some(frame),
            Loading::Conditional(number) => self.rewritten(n, number, frame),
        }
    }
}
