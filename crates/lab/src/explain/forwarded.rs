//! Loss maps of packets that are forwarded hop by hop (CIT): what became of each at each hop, and what
//! nodes do in the time of one.
//!
//! A pass is one round's packets towards the sink, or one try of a report towards the source. What a
//! relay received and did not send counts as not sent: its receive buffer had no room, or its queue.
//! Invariant: in each pass, what arrived at a stage enters the next hop. Tests: `tests.rs`.

use super::cause::{Cause, Causes};
use super::layout::SubGroup;
use super::map::{HopLoss, LossMap, MapNode, NodeTime, Receiver, RoundLoss, Sender};
use crate::transfer::{Observer, Onlooker, Outcome, Protocol, Session, SessionError, Terms, Way};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_medium::{Deaf, LossCause, Standing};
use thalweg_planner::Plan;
use thalweg_sim::{Activity, AirTrace, Ending, Moment, Span};
use thalweg_units::Duration;
use thalweg_wire::forward::Repr;

/// A hop of a pass: which packets were sent, and what kept each from the receiver, if anything did.
#[derive(Default)]
struct Hop {
    sent: BTreeSet<u16>,
    fate: BTreeMap<u16, Option<Cause>>,
}

struct Pass {
    way: Way,
    round: u32,
    /// In the direction of the packets.
    hops: Vec<Hop>,
}

/// What a node did, in nanoseconds.
#[derive(Default, Clone, Copy)]
struct Did {
    receive: u64,
    transmit: u64,
    calibrate: u64,
    bus: u64,
    mcu: u64,
}

struct Record {
    /// From source to sink.
    path: Vec<usize>,
    passes: Vec<Pass>,
    did: Vec<Did>,
    interval: Duration,
}

impl Record {
    fn hops(&self) -> usize {
        self.path.len().saturating_sub(1)
    }
    fn place(&self, node: usize) -> Option<usize> {
        self.path.iter().position(|n| *n == node)
    }

    fn turn(&mut self, way: Way, round: u32, interval: Duration) {
        let hops = (0..self.hops()).map(|_| Hop::default()).collect();
        self.passes.push(Pass { way, round, hops });
        self.interval = interval;
    }

    fn note(&mut self, air: &AirTrace<'_>) {
        let (Ok(packet), Some(place)) = (Repr::parse(air.mpdu), self.place(air.from)) else {
            return;
        };
        let hops = self.hops();
        let Some(way) = self.passes.last().map(|p| p.way) else {
            return;
        };
        let (to, hop) = match way {
            Way::Down => (place + 1, place),
            Way::Back => (place.wrapping_sub(1), hops - place),
        };
        let Some(receiver) = self.path.get(to).copied() else {
            return;
        };
        let on_path = |node: Option<usize>| {
            let place = node.and_then(|n| self.place(n));
            place.is_some_and(|p| p != place_of_sender(hop, way, hops))
        };
        let number = packet.number;
        let fate = match air.moment {
            Moment::Begins(seen) => {
                let standing = seen.iter().find(|(n, _)| *n == receiver).map(|s| s.1);
                Some(Some(standing.map_or(Cause::Weak, |s| away(s, &on_path))))
            }
            Moment::Ends(seen) => match seen.iter().find(|(n, _)| *n == receiver).map(|s| s.1) {
                Some(Ending::Good) => Some(None),
                Some(Ending::Lost { cause, interferer }) => {
                    Some(Some(of(cause, on_path(interferer))))
                }
                // As it was when the frame began.
                Some(Ending::Other(_)) | None => None,
            },
        };
        let Some(hop) = self.passes.last_mut().and_then(|p| p.hops.get_mut(hop)) else {
            return;
        };
        hop.sent.insert(number);
        // What arrived once has arrived.
        if let Some(fate) = fate.filter(|_| hop.fate.get(&number) != Some(&None)) {
            hop.fate.insert(number, fate);
        }
    }

    fn span(&mut self, span: &Span<'_>) {
        let down = self.passes.last().is_some_and(|p| p.way == Way::Down);
        let Some(did) = self.place(span.node).filter(|_| down) else {
            return;
        };
        let Some(did) = self.did.get_mut(did) else {
            return;
        };
        let time = span.until.since(span.from).as_nanos();
        match span.activity {
            Activity::Receive | Activity::Corrupt => did.receive += time,
            Activity::Transmit => did.transmit += time,
            Activity::Calibrate => did.calibrate += time,
            _ => did.mcu += time,
        }
        if span.activity.takes_bus() {
            did.bus += time;
        }
    }

    /// What the hops of a pass come to; `names` gives nodes and channels by stage.
    fn losses(&self, pass: &Pass, names: &Names) -> Vec<HopLoss> {
        let hops = self.hops();
        let mut had: BTreeSet<u16> = pass
            .hops
            .first()
            .map_or_else(BTreeSet::new, |h| h.sent.clone());
        let mut list = Vec::new();
        for (at, hop) in pass.hops.iter().enumerate() {
            let (from, to) = match pass.way {
                Way::Down => (at, at + 1),
                Way::Back => (hops - at, hops - at - 1),
            };
            let mut lost = Causes::default();
            let mut missed = Causes::default();
            let mut arrived = BTreeSet::new();
            for number in &had {
                match hop
                    .fate
                    .get(number)
                    .copied()
                    .filter(|_| hop.sent.contains(number))
                {
                    Some(None) => {
                        arrived.insert(*number);
                    }
                    Some(Some(cause)) => {
                        lost.count(cause);
                        missed.count(cause);
                    }
                    None => lost.count(Cause::NotSent),
                }
            }
            list.push(HopLoss {
                stage: to,
                group: SubGroup::All,
                channel: names.channel(from, to),
                entered: had.len() as u32,
                arrived: arrived.len() as u32,
                lost,
                senders: vec![Sender {
                    node: names.node(from),
                    had: had.len() as u32,
                    sent: had.intersection(&hop.sent).count() as u32,
                }],
                receivers: vec![Receiver {
                    node: names.node(to),
                    got: arrived.len() as u32,
                    lost: missed,
                }],
            });
            had = arrived;
        }
        list
    }

    fn map(&self, names: &Names) -> LossMap {
        let mut nacks: Vec<HopLoss> = Vec::new();
        let mut rounds = Vec::new();
        for pass in &self.passes {
            let hops = self.losses(pass, names);
            match pass.way {
                Way::Down => rounds.push(RoundLoss {
                    attempt: 0,
                    round: pass.round,
                    hops,
                }),
                Way::Back if nacks.is_empty() => nacks = hops,
                Way::Back => nacks
                    .iter_mut()
                    .zip(&hops)
                    .for_each(|(sum, hop)| sum.add(hop)),
            }
        }
        let down = self.passes.iter().filter(|p| p.way == Way::Down);
        let sent = down
            .filter_map(|p| p.hops.first())
            .map(|h| h.sent.len() as u64);
        let packets = sent.sum::<u64>().max(1);
        let each = |ns: u64| (ns / packets + 500) / 1000;
        let stages = 0..self.path.len();
        LossMap {
            protocol: Protocol::Cit.name().to_owned(),
            source: names.node(0),
            sink: names.node(self.hops()),
            hops: self.hops(),
            channels: names.channels.clone(),
            nodes: stages
                .map(|stage| MapNode {
                    node: names.node(stage),
                    stage,
                    group: SubGroup::All,
                })
                .collect(),
            rounds,
            requests: Vec::new(),
            nacks,
            times: (self.did.iter().enumerate())
                .map(|(stage, did)| NodeTime {
                    node: names.node(stage),
                    period_us: each(self.interval.as_nanos() * packets),
                    receive_us: each(did.receive),
                    transmit_us: each(did.transmit),
                    calibrate_us: each(did.calibrate),
                    bus_us: each(did.bus),
                    mcu_us: each(did.mcu),
                })
                .collect(),
        }
    }
}

/// The stage that sends over hop `hop`.
const fn place_of_sender(hop: usize, way: Way, hops: usize) -> usize {
    match way {
        Way::Down => hop,
        Way::Back => hops - hop,
    }
}

/// Nodes by stage, and the reception channels of stages 0 to H.
struct Names {
    nodes: Vec<u16>,
    channels: Vec<u8>,
}

impl Names {
    fn node(&self, stage: usize) -> u16 {
        self.nodes.get(stage).copied().unwrap_or(0)
    }
    /// Reports go over the channels of the packets.
    fn channel(&self, from: usize, to: usize) -> u8 {
        self.channels.get(from.max(to)).copied().unwrap_or(0)
    }
}

/// What an interference was, by whether it came from another stage of the path.
const fn of(cause: LossCause, own: bool) -> Cause {
    match cause {
        LossCause::Collision if own => Cause::SelfInterference,
        LossCause::Collision => Cause::Collision,
        LossCause::AdjacentChannel => Cause::AdjacentChannel,
        LossCause::ExternalInterference => Cause::External,
        LossCause::BeatNull => Cause::BeatNull,
        LossCause::Weak => Cause::Weak,
    }
}

/// Why a receiver that stands so to a frame does not get it.
fn away(standing: Standing, on_path: &impl Fn(Option<usize>) -> bool) -> Cause {
    match standing {
        Standing::Off(Deaf::Busy) | Standing::Locked | Standing::WithCopy => Cause::Busy,
        Standing::Off(Deaf::Sleeping) | Standing::Elsewhere(_) => Cause::NotListening,
        Standing::Taken(by) => of(LossCause::Collision, on_path(Some(by.0 as usize))),
        Standing::Unlocked(cause) => of(cause, false),
    }
}

/// [`Session::fetch`] with CIT, and where packets were lost and time went.
pub(super) fn fetch(
    session: &mut Session,
    plan: &Plan,
    terms: &Terms,
    observer: Observer<'_>,
) -> Result<(Outcome, Option<Vec<u8>>, LossMap), SessionError> {
    let path = plan.pip.path.clone();
    let record = Arc::new(Mutex::new(Record {
        passes: Vec::new(),
        did: vec![Did::default(); path.len()],
        interval: Duration::ZERO,
        path,
    }));
    let locked = |record: &Arc<Mutex<Record>>, f: &mut dyn FnMut(&mut Record)| {
        f(&mut record.lock().unwrap_or_else(PoisonError::into_inner));
    };
    let (air, spans, turns) = (record.clone(), record.clone(), record.clone());
    let onlooker = Onlooker {
        air: Box::new(move |seen| locked(&air, &mut |r| r.note(seen))),
        spans: Box::new(move |span| locked(&spans, &mut |r| r.span(span))),
        turns: Box::new(move |way, round, interval| {
            locked(&turns, &mut |r| r.turn(way, round, interval));
        }),
    };
    let (outcome, object) = session.forward(plan, terms, observer, Some(onlooker))?;
    let record = record.lock().unwrap_or_else(PoisonError::into_inner);
    let ids = session.ids();
    let skipped = plan.channels.len().saturating_sub(record.hops());
    let mut channels: Vec<u8> = plan.channels[skipped..]
        .iter()
        .map(|c| c.number())
        .collect();
    // Nothing is sent to the source but reports, on the first hop's channel.
    channels.insert(0, channels.first().copied().unwrap_or(0));
    let names = Names {
        nodes: (record.path.iter())
            .map(|n| ids.get(*n).map_or(0, |id| id.get()))
            .collect(),
        channels,
    };
    let map = record.map(&names);
    Ok((outcome, object, map))
}
