//! Networks whose frames contend for one channel: CSMA on [`thalweg_medium::ether`].
//!
//! A sibling of [`crate::Network`] for hundreds to thousands of nodes: the same engine contract, on
//! a medium whose cost per frame does not depend on the size of the network. One event queue, no
//! allocation in steady state, no dynamic dispatch. Clocks are ideal: nothing in CSMA compares
//! clocks. Answers come at once unless the radio takes time. Operations on another channel, heads of
//! frames and a second radio are refused or left out. Tests: `tests.rs`.

mod board;
mod meter;
mod operations;
#[cfg(test)]
mod tests;

pub use board::{Acknowledgement, Contender, Detector, Wakes};

use crate::capture::{Capture, CaptureError, Captured, Side};
use crate::network::SimError;
use crate::queue::{Queue, Rank, Slab};
use meter::Meter;
use std::collections::VecDeque;
use thalweg_engine::{drain, Assessment, Engine, Hear, OpId, RadioEvent, RadioId, Refusal};
use thalweg_medium::ether::{Ether, Heard, Loss, OnAir, Reach};
use thalweg_medium::random::{stream, Stream};
use thalweg_medium::EarId;
use thalweg_units::{Channel, Duration, Instant, NodeId, SimTime, Tuning};
use thalweg_wire::FrameBuf;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Everything but acknowledgements.
    Data,
    /// An acknowledgement.
    Acknowledgement,
}

/// A frame that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Aired<'a> {
    /// When its first symbol was sent.
    pub start: SimTime,
    /// Its sender.
    pub from: usize,
    /// Whom it was meant for, where that is one node.
    pub to: Option<usize>,
    /// What it is.
    pub kind: Kind,
    /// The frame, without FCS.
    pub mpdu: &'a [u8],
    /// Why it did not arrive where it was meant to, where it did not.
    pub loss: Option<Loss>,
}

/// Sees what happens. Both do nothing by default.
pub trait Observer<E> {
    /// An engine's event for the layer above.
    fn told(&mut self, _at: SimTime, _node: usize, _event: E) {}
    /// A frame has ended.
    fn aired(&mut self, _at: SimTime, _frame: &Aired<'_>) {}
}

/// What a radio is doing beside its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Nothing,
    /// Its receiver starts up.
    Starting,
    /// It assesses the channel, or turns round, for the pending transmission.
    Preparing,
    Sending,
    /// It turns back to its mode.
    Returning,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Sleep,
    Listen,
}

struct Pending {
    op: OpId,
    kind: Kind,
    frame: FrameBuf,
    busy_before: bool,
}

struct Node {
    mode: Mode,
    doing: Doing,
    pending: Option<Pending>,
    /// Tells a preparation from those before, to events that outlive it.
    token: u32,
    /// The operation that is answered when the receiver has started up.
    starts: Option<OpId>,
    looking: Option<Looking>,
    slot: Option<FrameBuf>,
    bus_until: u64,
    preamble: u16,
    hear: Hear,
    last_rx_end: Option<u64>,
    /// Whose frame that was.
    last_rx_from: Option<u32>,
    wanted: Option<SimTime>,
    armed: Option<SimTime>,
    /// A later one that is in the queue too, left behind by a sooner.
    overtaken: Option<SimTime>,
    sent: Duration,
    asleep: Duration,
    sleeps_since: Option<SimTime>,
    /// Of its readings of signal strength.
    fluctuation: Stream,
}

/// An assessment that goes on.
#[derive(Clone, Copy)]
struct Looking {
    op: OpId,
    assessment: Assessment,
    /// Looks to come.
    left: u8,
    /// When the next one is.
    due: SimTime,
}

struct Air {
    on_air: OnAir,
    from: u32,
    to: Option<u32>,
    op: OpId,
    kind: Kind,
    start: SimTime,
    sfd: SimTime,
    frame: FrameBuf,
}

#[derive(Clone, Copy)]
enum What {
    Assessed { node: u32, token: u32 },
    Start { node: u32, token: u32 },
    End { air: u32 },
    Started { node: u32, token: u32 },
    Returned { node: u32, token: u32 },
    Loaded { node: u32, op: OpId },
    Look { node: u32, op: OpId },
    Timer { node: u32 },
}

enum Telling {
    Done(OpId),
    Refused(OpId, Refusal),
    Sensed(OpId),
    Look(OpId),
}

/// Counts so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContentionStats {
    /// Frames sent, acknowledgements among them.
    pub air_frames: u64,
    /// Events taken from the queue.
    pub events: u64,
}

/// The network.
pub struct Contention<E: Engine> {
    engines: Vec<E>,
    inner: Inner,
    capture: Option<Box<dyn Capture>>,
    heard: Vec<Heard>,
}

struct Inner {
    board: Contender,
    /// Hardware's threshold in milliwatts.
    cca_mw: f64,
    meter: Meter,
    /// Node by address; what addresses name is only known here.
    by_address: Vec<Option<u32>>,
    channel: Channel,
    ether: Ether,
    now: SimTime,
    queue: Queue<What>,
    nodes: Vec<Node>,
    airs: Slab<Air>,
    tellings: VecDeque<(u32, Telling)>,
    stats: ContentionStats,
}

impl<E: Engine> Contention<E> {
    /// `engines` and their addresses at the ears of `reach`, all on `board` and on `channel`. An engine whose ear is
    /// missing stays deaf. Time begins at zero, all radios asleep.
    pub fn new(
        reach: Reach,
        board: Contender,
        channel: Channel,
        engines: Vec<(NodeId, E)>,
        seed: u64,
    ) -> Self {
        let highest = engines.iter().map(|(id, _)| id.get()).max().unwrap_or(0);
        let mut by_address = vec![None; usize::from(highest) + 1];
        for (n, (id, _)) in engines.iter().enumerate() {
            by_address[usize::from(id.get())] = Some(n as u32);
        }
        let engines: Vec<E> = engines.into_iter().map(|(_, engine)| engine).collect();
        let preamble = board.chip.phy.preamble_bytes as u16;
        let nodes = engines
            .iter()
            .enumerate()
            .map(|(n, _)| Node {
                mode: Mode::Sleep,
                doing: Doing::Nothing,
                pending: None,
                token: 0,
                starts: None,
                looking: None,
                slot: None,
                bus_until: 0,
                preamble,
                hear: Hear::Everything,
                last_rx_end: None,
                last_rx_from: None,
                wanted: None,
                armed: None,
                overtaken: None,
                sent: Duration::ZERO,
                asleep: Duration::ZERO,
                sleeps_since: Some(SimTime::ZERO),
                fluctuation: stream(seed, "rssi", &[n as u64]),
            })
            .collect();
        Self {
            engines,
            inner: Inner {
                cca_mw: board.cca_threshold.milliwatts().0,
                meter: Meter::new(&board),
                by_address,
                board,
                channel,
                ether: Ether::new(reach, seed),
                now: SimTime::ZERO,
                queue: Queue::new(),
                nodes,
                airs: Slab::new(),
                tellings: VecDeque::new(),
                stats: ContentionStats::default(),
            },
            capture: None,
            heard: Vec::new(),
        }
    }

    /// The present.
    pub fn now(&self) -> SimTime {
        self.inner.now
    }
    /// Counts so far.
    pub fn stats(&self) -> ContentionStats {
        self.inner.stats
    }
    /// The engine of node `n`.
    pub fn engine(&self, n: usize) -> &E {
        &self.engines[n]
    }
    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.engines.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.engines.is_empty()
    }
    /// How long node `n` has been sending.
    pub fn time_sending(&self, n: usize) -> Duration {
        self.inner.nodes[n].sent
    }
    /// How long node `n`'s radio has not been asleep.
    pub fn time_awake(&self, n: usize) -> Duration {
        let (node, now) = (&self.inner.nodes[n], self.inner.now);
        let asleep = node.asleep + node.sleeps_since.map_or(Duration::ZERO, |at| now.since(at));
        now.since(SimTime::ZERO).saturating_sub(asleep)
    }
    /// Energy that node `n`'s radio has used, in joules: sending, and listening whenever it neither
    /// sends nor sleeps.
    pub fn radio_joules(&self, n: usize) -> f64 {
        let (node, board) = (&self.inner.nodes[n], &self.inner.board);
        let listening = self.time_awake(n).saturating_sub(node.sent);
        let charge = board.transmit_ma * node.sent.as_secs_f64()
            + board.receive_ma * listening.as_secs_f64();
        board.supply_v * charge * 1e-3
    }
    /// Writes what is sent from now on to `to`.
    pub fn capture(&mut self, to: Option<Box<dyn Capture>>) {
        self.capture = to;
    }

    /// Gives an order to node `n`, now. What follows of it happens in the next run.
    ///
    /// # Errors
    /// [`SimError::Livelock`].
    pub fn command<O: Observer<E::Event>>(
        &mut self,
        n: usize,
        command: E::Command,
        observer: &mut O,
    ) -> Result<(), SimError> {
        let now = Instant::from_nanos(self.inner.now.as_nanos());
        self.engines[n].handle_command(now, command);
        self.settle(n, observer)?;
        self.answer(observer)
    }

    /// Runs until `deadline`, which is then the present.
    ///
    /// # Errors
    /// [`SimError`].
    pub fn run_until<O: Observer<E::Event>>(
        &mut self,
        deadline: SimTime,
        observer: &mut O,
    ) -> Result<(), SimError> {
        self.answer(observer)?;
        let mut standing = 0u64;
        loop {
            match self.inner.queue.peek() {
                Some((at, _)) if at <= deadline => {
                    standing = if at == self.inner.now {
                        standing + 1
                    } else {
                        0
                    };
                    if standing > 65_536 + 1_024 * self.engines.len() as u64 {
                        return Err(SimError::StandingStill { at });
                    }
                    self.inner.now = at;
                }
                _ => break,
            }
            let Some((at, what)) = self.inner.queue.pop() else {
                break;
            };
            self.inner.stats.events += 1;
            match what {
                What::Timer { node } => self.timeout(at, node as usize, observer)?,
                What::End { air } => self.end(at, air, observer)?,
                What::Assessed { node, token } => self.inner.assessed(node as usize, token),
                What::Start { node, token } => self.inner.start(node as usize, token),
                What::Started { node, token } => self.inner.started(node as usize, token),
                What::Returned { node, token } => self.inner.returned(node as usize, token),
                What::Loaded { node, op } => {
                    self.inner.tellings.push_back((node, Telling::Done(op)));
                }
                What::Look { node, op } => {
                    self.inner.tellings.push_back((node, Telling::Look(op)));
                }
            }
            self.answer(observer)?;
        }
        self.inner.now = self.inner.now.max(deadline);
        Ok(())
    }

    /// Tells engines what was answered at once, until there is nothing left to tell.
    fn answer<O: Observer<E::Event>>(&mut self, observer: &mut O) -> Result<(), SimError> {
        let mut left = 1_024 + 64 * self.engines.len();
        while let Some((node, telling)) = self.inner.tellings.pop_front() {
            let n = node as usize;
            left = left.checked_sub(1).ok_or(SimError::Livelock {
                node: n,
                how: thalweg_engine::Livelock::Drain,
            })?;
            let event = match telling {
                Telling::Done(op) => RadioEvent::Done { op },
                Telling::Refused(op, why) => RadioEvent::Refused { op, why },
                Telling::Sensed(op) => self.inner.sensed(n, op),
                Telling::Look(op) => match self.inner.look(n, op) {
                    Some(event) => event,
                    None => continue,
                },
            };
            self.tell(n, event, observer)?;
        }
        Ok(())
    }

    fn tell<O: Observer<E::Event>>(
        &mut self,
        n: usize,
        event: RadioEvent<'_>,
        observer: &mut O,
    ) -> Result<(), SimError> {
        let now = Instant::from_nanos(self.inner.now.as_nanos());
        self.engines[n].handle_radio(now, RadioId(0), event);
        self.settle(n, observer)
    }

    /// Drains the engine of node `n`.
    fn settle<O: Observer<E::Event>>(
        &mut self,
        n: usize,
        observer: &mut O,
    ) -> Result<(), SimError> {
        let Self { engines, inner, .. } = self;
        let now = inner.now;
        let submit = |request: thalweg_engine::Request<'_>| inner.submit(n, request);
        let tell = |event| observer.told(now, n, event);
        let timeout =
            drain(&mut engines[n], &mut (submit, tell)).map_err(|_| SimError::Livelock {
                node: n,
                how: thalweg_engine::Livelock::Drain,
            })?;
        inner.set_timeout(n, timeout);
        Ok(())
    }

    fn timeout<O: Observer<E::Event>>(
        &mut self,
        at: SimTime,
        n: usize,
        observer: &mut O,
    ) -> Result<(), SimError> {
        let node = &mut self.inner.nodes[n];
        node.overtaken = node.overtaken.filter(|later| *later != at);
        if node.armed != Some(at) {
            return Ok(()); // overtaken by a sooner one
        }
        node.armed = None;
        if node.wanted != Some(at) {
            self.inner.arm(n);
            return Ok(());
        }
        node.wanted = None;
        let now = Instant::from_nanos(at.as_nanos());
        self.engines[n].handle_timeout(now);
        self.settle(n, observer)?;
        if self.inner.nodes[n].wanted.is_some_and(|next| next <= at) {
            return Err(SimError::Livelock {
                node: n,
                how: thalweg_engine::Livelock::TimeOut,
            });
        }
        Ok(())
    }

    fn end<O: Observer<E::Event>>(
        &mut self,
        at: SimTime,
        air: u32,
        observer: &mut O,
    ) -> Result<(), SimError> {
        let Some(air) = self.inner.airs.remove(air) else {
            return Ok(());
        };
        let mut heard = std::mem::take(&mut self.heard);
        heard.clear();
        let loss = self.inner.ether.end(at, air.on_air, &mut heard);
        let from = air.from as usize;
        observer.aired(
            at,
            &Aired {
                start: air.start,
                from,
                to: air.to.map(|to| to as usize),
                kind: air.kind,
                mpdu: &air.frame,
                loss,
            },
        );
        if let Some(capture) = &mut self.capture {
            let (sfd, channel) = (air.sfd, self.inner.channel);
            let side = Side::Sent { node: from };
            let frame = Captured {
                sfd,
                end: at,
                on: Tuning::Ghz2_4(channel),
                mpdu: &air.frame,
                side,
            };
            capture.frame(&frame).map_err(SimError::from)?;
        }
        self.inner.sent(from);
        let sfd = Instant::from_nanos(air.sfd.as_nanos());
        self.tell(from, RadioEvent::Sent { op: air.op, sfd }, observer)?;
        let end = Instant::from_nanos(at.as_nanos());
        for reception in &heard {
            let n = reception.ear.0 as usize;
            if n >= self.engines.len() {
                continue;
            }
            let node = &mut self.inner.nodes[n];
            let is_meant = match air.kind {
                Kind::Data => air.to.is_none(),
                Kind::Acknowledgement => false,
            };
            let unheard = node.hear == Hear::Addressed && !is_meant && air.to != Some(n as u32);
            let event = if reception.good {
                node.last_rx_end = Some(at.as_nanos());
                node.last_rx_from = Some(air.from);
                if unheard {
                    continue;
                }
                RadioEvent::Frame {
                    mpdu: &air.frame,
                    sfd,
                    end,
                    rssi: self.inner.meter.register(reception.power),
                    lqi: 0,
                }
            } else if unheard {
                continue;
            } else {
                RadioEvent::Corrupt { sfd }
            };
            self.tell(n, event, observer)?;
        }
        self.heard = heard;
        Ok(())
    }

    /// Flushes the capture, if there is one.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn finish_capture(&mut self) -> Result<(), CaptureError> {
        self.capture.take().map_or(Ok(()), |mut to| to.flush())
    }
}

impl Inner {
    fn set_timeout(&mut self, n: usize, wanted: Option<Instant>) {
        let node = &mut self.nodes[n];
        let wanted = wanted.map(|at| SimTime::from_nanos(at.as_nanos()).max(self.now));
        if node.wanted != wanted {
            node.wanted = wanted;
            self.arm(n);
        }
    }
    /// Puts the wanted time-out into the queue, unless a sooner event is there, which will do it, or one
    /// of the same instant.
    fn arm(&mut self, n: usize) {
        let node = &mut self.nodes[n];
        let Some(wanted) = node.wanted else { return };
        if node.armed.is_none_or(|armed| armed > wanted) {
            if node.overtaken == Some(wanted) {
                std::mem::swap(&mut node.armed, &mut node.overtaken);
                return;
            }
            node.overtaken = node.armed.or(node.overtaken);
            node.armed = Some(wanted);
            let what = What::Timer { node: n as u32 };
            self.queue.push(wanted, Rank::Timeout, what);
        }
    }
    fn ear(n: usize) -> EarId {
        EarId(n as u32)
    }
}
