//! The record of a transfer: each frame of the pipeline from where it came from, hop by hop.
//!
//! A journey is one frame of the source (data, request) or of the sink (NACK) and what all stages
//! made of it: relays change its hop only, so its other bytes name it. Sent again in a later
//! round it is another journey. Its tag names the attempt, and so the route: one that broke off may
//! still be on the air when the next is ordered. Invariant: frames of other nodes enter only as
//! interferers. Tests: `record_tests.rs`.

use super::layout::{Layout, SubGroup};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use thalweg_medium::{Cause, Deaf, EarId, EarStatus, Environment};
use thalweg_sim::{AirTrace, Ending, Moment};
use thalweg_units::{Channel, Duration, SimTime};
use thalweg_wire::pipeline::{set_count, set_hop, Header, Kind, Purpose, Request, Tag};
use thalweg_wire::{FrameBuf, Reader};

/// What became of a frame at a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Good,
    Lost {
        cause: Cause,
        interferer: Option<usize>,
    },
    /// The receiver was not there for it.
    Off(Away),
}

/// How a receiver was away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Away {
    /// Sending, turning around, or it broke off.
    Busy,
    /// Asleep or on another channel.
    Absent,
}

/// A frame at a receiver, so far.
#[derive(Debug, Clone, Copy)]
struct Reception {
    fate: Fate,
    /// It synchronised on the frame, and no copy has ended yet.
    locked: bool,
    settled: bool,
}

/// What a hop made of a journey.
#[derive(Debug, Clone, Default)]
pub(super) struct Step {
    pub(super) senders: Vec<usize>,
    pub(super) channel: Option<Channel>,
    receptions: BTreeMap<usize, Reception>,
}

impl Step {
    pub(super) fn fate(&self, receiver: usize) -> Option<Fate> {
        self.receptions.get(&receiver).map(|one| one.fate)
    }
    pub(super) fn got(&self, receiver: usize) -> bool {
        self.fate(receiver) == Some(Fate::Good)
    }
}

/// One frame of source or sink on its way.
#[derive(Debug, Clone)]
pub(super) struct Journey {
    pub(super) kind: Kind,
    pub(super) group: SubGroup,
    /// Attempts of the transfer before this one.
    pub(super) attempt: usize,
    /// Data: the round, from 0.
    pub(super) round: u16,
    pub(super) mpdu_bytes: usize,
    /// When anything of it was last on the air.
    last: SimTime,
    /// By the stage that sends.
    pub(super) steps: Vec<Step>,
}

/// A frame on the air: its sender, its channel, when it began.
type OnAir = (usize, Channel, SimTime);

/// An attempt at the transfer.
struct Attempt {
    /// Of its frames.
    tag: Tag,
    layout: Layout,
    /// The round under way, from 0.
    round: u16,
    /// The purpose of the source's last request.
    purpose: Purpose,
}

/// Attempts one after the other, and the route that they took.
pub(super) type RouteUse<'a> = (Range<usize>, &'a Layout);

/// The frames and attempts of a transfer.
pub(super) struct Log {
    /// The route of a transfer that has not been ordered.
    planned: Layout,
    /// As they were ordered.
    attempts: Vec<Attempt>,
    environment: Arc<Environment>,
    pub(super) journeys: Vec<Journey>,
    /// The present journey of the frames with these bytes, hop zero.
    under_way: BTreeMap<Vec<u8>, usize>,
    /// What is on the air.
    on_air: Vec<OnAir>,
    /// The frame on which each node synchronised last.
    engaged: BTreeMap<usize, OnAir>,
    /// When anything was last on the air.
    last: SimTime,
}

/// Frames this shortly before the end of the record may still be on their way: it ends with the sink's part, maybe before
/// the last copy of the release arrives.
const UNFINISHED: Duration = Duration::from_millis(10);

impl Log {
    /// Of a transfer that is to go as `planned`.
    pub(super) fn new(planned: Layout, environment: Arc<Environment>) -> Self {
        Self {
            planned,
            attempts: Vec::new(),
            environment,
            journeys: Vec::new(),
            under_way: BTreeMap::new(),
            on_air: Vec::new(),
            engaged: BTreeMap::new(),
            last: SimTime::ZERO,
        }
    }

    /// An attempt is ordered, as transfer number `transfer` over `layout`.
    pub(super) fn ordered(&mut self, transfer: u16, layout: Layout) {
        self.attempts.push(Attempt {
            tag: Tag::of(transfer),
            layout,
            round: 0,
            purpose: Purpose::Report,
        });
    }

    /// Whether the record ends while a control frame is still on its way.
    pub(super) fn is_cut_off(&self, journey: &Journey) -> bool {
        let end = match journey.kind {
            Kind::Data => return false,
            Kind::Request => self.layout(journey.attempt).hops() - 1,
            Kind::Nack => 1,
        };
        let arrived = !journey.steps[end].senders.is_empty();
        !arrived && self.last.since(journey.last) < UNFINISHED
    }

    /// The route of attempt `attempt`, from 0.
    pub(super) fn layout(&self, attempt: usize) -> &Layout {
        let ordered = self.attempts.get(attempt);
        ordered.map_or(&self.planned, |attempt| &attempt.layout)
    }
    /// The first route, and later ones that differ from the one before.
    pub(super) fn routes(&self) -> (RouteUse<'_>, Vec<RouteUse<'_>>) {
        let (mut first, mut later) = ((0..1, self.layout(0)), Vec::new());
        for (at, attempt) in self.attempts.iter().enumerate().skip(1) {
            let (attempts, layout) = later.last_mut().unwrap_or(&mut first);
            match **layout == attempt.layout {
                true => attempts.end = at + 1,
                false => later.push((at..at + 1, &attempt.layout)),
            }
        }
        (first, later)
    }
    /// All nodes of any attempt so far.
    pub(super) fn nodes(&self) -> Vec<usize> {
        let all = self.attempts.iter().flat_map(|a| a.layout.nodes());
        let all: BTreeSet<usize> = all.collect();
        all.into_iter().collect()
    }
    pub(super) fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(super) fn note(&mut self, air: &AirTrace<'_>) {
        let this = (air.from, air.channel, air.start);
        self.last = air.at;
        match air.moment {
            Moment::Begins(_) => self.on_air.push(this),
            Moment::Ends(_) => self.on_air.retain(|other| *other != this),
        }
        let placed = self.journey(air);
        if let Moment::Begins(seen) = air.moment {
            let locked = seen.iter().filter(|(_, s)| *s == EarStatus::Locked);
            self.engaged.extend(locked.map(|(n, _)| (*n, this)));
        }
        let Some((journey, stage, next)) = placed else {
            return;
        };
        self.journeys[journey].last = air.at;
        let Journey { group, attempt, .. } = self.journeys[journey];
        let receivers: Vec<usize> = self.layout(attempt).members(next, group).collect();
        match air.moment {
            Moment::Begins(seen) => {
                let step = &mut self.journeys[journey].steps[stage];
                step.senders.push(air.from);
                step.channel = Some(air.channel);
                for (n, state) in seen.iter().filter(|(n, _)| receivers.contains(n)) {
                    let (state, interferer) = self.explained(*n, *state, air);
                    self.journeys[journey].steps[stage].begins(*n, state, interferer);
                }
            }
            Moment::Ends(seen) => {
                for (n, ending) in seen.iter().filter(|(n, _)| receivers.contains(n)) {
                    let stolen = self.stolen(*n, air.start);
                    self.journeys[journey].steps[stage].ends(*n, *ending, stolen);
                }
            }
        }
    }

    /// How node `n` stood to the frame that begins, and the sender that interferes.
    fn explained(
        &self,
        n: usize,
        state: EarStatus,
        air: &AirTrace<'_>,
    ) -> (EarStatus, Option<usize>) {
        match state {
            EarStatus::Unlocked(cause) if cause.is_co_channel() => (state, self.loudest(n, air)),
            // It has just broken off a frame that was not for it.
            EarStatus::Off(Deaf::Busy) => match self.broken_off(n) {
                Some(by) => (EarStatus::Taken(EarId(by as u32)), None),
                None => (state, None),
            },
            other => (other, None),
        }
    }

    /// The journey that a frame belongs to, the stage that sends it and the stage that it is for.
    fn journey(&mut self, air: &AirTrace<'_>) -> Option<(usize, usize, usize)> {
        let mut body = Reader::new(air.mpdu);
        let header = Header::parse(&mut body).ok()?;
        let (head, stage) = (header.head, usize::from(header.head.hop));
        // Tags are few and come again: it is of the last that has this one.
        let attempt = self.attempts.iter().rposition(|a| a.tag == head.tag)?;
        let layout = self.layout(attempt);
        let hops = layout.hops();
        if layout.stage_of(air.from) != Some(stage) {
            return None;
        }
        let (origin, next) = match head.kind {
            Kind::Data | Kind::Request => (0, stage + 1),
            Kind::Nack => (hops, stage.checked_sub(1)?),
        };
        if next > hops {
            return None;
        }
        let mut frame = FrameBuf::from_slice(air.mpdu).ok()?;
        set_hop(&mut frame, 0).ok()?;
        let request = (head.kind == Kind::Request).then(|| Request::parse(&mut body.clone()).ok());
        let purpose = request.flatten().map(|request| request.purpose);
        if purpose == Some(Purpose::Count) {
            // Stages write into it.
            for stage in 0..hops as u8 {
                set_count(&mut frame, stage, 0).ok()?;
            }
        }
        let begins = matches!(air.moment, Moment::Begins(_));
        if stage != origin || !begins {
            let journey = *self.under_way.get(&frame[..])?;
            let is_its = self.journeys[journey].attempt == attempt;
            return is_its.then_some((journey, stage, next));
        }
        let group = layout.group(head.group);
        let under_way = self.attempts.get_mut(attempt)?;
        if let Some(purpose) = purpose.filter(|purpose| *purpose != Purpose::Release) {
            under_way.round = header.number.wrapping_add(1);
            under_way.purpose = purpose;
        }
        let round = under_way.round;
        let group = match head.kind {
            // Relays of both groups pass on such a request, and its answer.
            Kind::Request if purpose == Some(Purpose::Across) => SubGroup::All,
            Kind::Nack if under_way.purpose == Purpose::Across => SubGroup::All,
            Kind::Data | Kind::Request | Kind::Nack => group,
        };
        let journey = self.journeys.len();
        self.journeys.push(Journey {
            kind: head.kind,
            group,
            attempt,
            round,
            mpdu_bytes: air.mpdu.len(),
            last: air.at,
            steps: vec![Step::default(); hops + 1],
        });
        self.under_way.insert(frame.to_vec(), journey);
        Some((journey, stage, next))
    }

    /// The sender of the frame that `node` synchronised on and left, if that is still on the air and the node does not send
    /// itself.
    fn broken_off(&self, node: usize) -> Option<usize> {
        let frame = self.engaged.get(&node)?;
        let sends = self.on_air.iter().any(|(from, _, _)| *from == node);
        (!sends && self.on_air.contains(frame)).then_some(frame.0)
    }

    /// The sender of the frame that `node` synchronised on last, if that began after `start`.
    fn stolen(&self, node: usize, start: SimTime) -> Option<usize> {
        let frame = self.engaged.get(&node)?;
        (frame.2 > start).then_some(frame.0)
    }

    /// The other sender on the channel of `air` that is strongest at `to` on average.
    fn loudest(&self, to: usize, air: &AirTrace<'_>) -> Option<usize> {
        let power = |from: usize| {
            let (from, to) = (EarId(from as u32), EarId(to as u32));
            let rssi = self.environment.mean_rssi(from, to, air.channel);
            rssi.map_or(f64::NEG_INFINITY, |rssi| rssi.0)
        };
        // Synchronous copies begin within a microsecond of each other.
        let is_copy = |start: SimTime| air.start.as_nanos().abs_diff(start.as_nanos()) < 2_000;
        self.on_air
            .iter()
            .filter(|(from, channel, start)| {
                *channel == air.channel && *from != air.from && !is_copy(*start)
            })
            .map(|(from, _, _)| *from)
            .max_by(|a, b| power(*a).total_cmp(&power(*b)).then(b.cmp(a)))
    }
}

impl Step {
    fn begins(&mut self, n: usize, state: EarStatus, interferer: Option<usize>) {
        let collision = |interferer| Fate::Lost {
            cause: Cause::Collision,
            interferer,
        };
        let (fate, locked) = match state {
            EarStatus::WithCopy => return,
            EarStatus::Locked => (Fate::Off(Away::Busy), true),
            EarStatus::Off(Deaf::Busy) => (Fate::Off(Away::Busy), false),
            EarStatus::Off(Deaf::Sleeping) | EarStatus::Elsewhere(_) => {
                (Fate::Off(Away::Absent), false)
            }
            EarStatus::Taken(by) => (collision(Some(by.0 as usize)), false),
            EarStatus::Unlocked(cause) if cause.is_co_channel() => (collision(interferer), false),
            EarStatus::Unlocked(cause) => {
                let interferer = None;
                (Fate::Lost { cause, interferer }, false)
            }
        };
        let locked = locked || self.receptions.get(&n).is_some_and(|one| one.locked);
        let reception = Reception {
            fate,
            locked,
            settled: false,
        };
        self.receptions.insert(n, reception);
    }

    /// `stolen`: the sender of a later frame that `n` synchronised on instead.
    fn ends(&mut self, n: usize, ending: Ending, stolen: Option<usize>) {
        let stolen = stolen.filter(|by| !self.senders.contains(by));
        let Some(reception) = self.receptions.get_mut(&n) else {
            return;
        };
        match ending {
            Ending::Good => (reception.fate, reception.settled) = (Fate::Good, true),
            Ending::Lost { cause, interferer } if !reception.settled => {
                (reception.fate, reception.settled) = (Fate::Lost { cause, interferer }, true);
            }
            // It synchronised and then left the frame, for another unless it is away.
            Ending::Other(state) if reception.locked && !reception.settled => {
                let interferer = match state {
                    EarStatus::Taken(by) => Some(by.0 as usize),
                    _ => stolen,
                };
                if interferer.is_some() {
                    let cause = Cause::Collision;
                    reception.fate = Fate::Lost { cause, interferer };
                }
            }
            Ending::Lost { .. } | Ending::Other(_) => {}
        }
    }
}
