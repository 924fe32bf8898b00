//! From the record of a transfer to its loss map: each loss gets its cause. Tests: `tests.rs`.

use super::cause::{Cause, Causes};
use super::layout::{Layout, SubGroup};
use super::map::{HopLoss, LossMap, MapNode, Receiver, RoundLoss, Sender};
use super::record::{Away, Fate, Journey, Log, Step};
use std::collections::BTreeMap;
use thalweg_gateway::registry::name_of;
use thalweg_medium::{Cause as OnAir, EarId};
use thalweg_units::{Channel, Dbm, NodeId};
use thalweg_wire::phy::FCS_BYTES;
use thalweg_wire::pipeline::Kind;
use thalweg_wire::route::Scheme;

/// Mean reception ratio from which on a link counts as usable.
const USABLE: f64 = 0.5;

/// What is known of a transfer besides its record.
pub(super) struct Terms<'a> {
    pub(super) protocol: Scheme,
    pub(super) ids: &'a [NodeId],
    pub(super) power: Dbm,
    pub(super) selective: Selective,
}

/// Who may keep packets back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Selective {
    Nobody,
    /// Relays of the last but one stage.
    LastButOne,
}

/// A hop in the making.
struct Hop {
    from: usize,
    to: usize,
    senders: Vec<usize>,
    receivers: Vec<usize>,
    loss: HopLoss,
}

/// Reads a record.
pub(super) struct Attribution<'a> {
    log: &'a Log,
    terms: &'a Terms<'a>,
    usable: BTreeMap<(usize, usize, Channel, usize), bool>,
}

impl<'a> Attribution<'a> {
    pub(super) fn new(log: &'a Log, terms: &'a Terms<'a>) -> Self {
        let usable = BTreeMap::new();
        Self { log, terms, usable }
    }

    pub(super) fn map(mut self) -> LossMap {
        let log = self.log;
        let layout = log.layout();
        let mut rounds: BTreeMap<(u32, u16), Vec<&Journey>> = BTreeMap::new();
        let (mut requests, mut nacks) = (Vec::new(), Vec::new());
        for journey in log.journeys.iter().filter(|j| !log.is_cut_off(j)) {
            match journey.kind {
                Kind::Data => rounds
                    .entry((journey.attempt, journey.round))
                    .or_default()
                    .push(journey),
                Kind::Request => requests.push(journey),
                Kind::Nack => nacks.push(journey),
            }
        }
        let rounds = rounds
            .into_iter()
            .map(|((attempt, round), journeys)| RoundLoss {
                attempt,
                round: u32::from(round) + 1,
                hops: self.hops(Kind::Data, &journeys),
            })
            .collect();
        let end = |stage: usize| layout.members(stage, SubGroup::All).next().unwrap_or(0);
        let nodes = layout.stages.iter().enumerate().flat_map(|(stage, nodes)| {
            let terms = self.terms;
            nodes.iter().map(move |(node, group)| MapNode {
                node: terms.id(*node),
                stage,
                group: *group,
            })
        });
        LossMap {
            protocol: name_of(self.terms.protocol).to_owned(),
            source: self.terms.id(end(0)),
            sink: self.terms.id(end(layout.hops())),
            hops: layout.hops(),
            channels: layout.channels.iter().map(|c| c.number()).collect(),
            last_even: layout.last_even.map(Channel::number),
            nodes: nodes.collect(),
            rounds,
            requests: self.hops(Kind::Request, &requests),
            nacks: self.hops(Kind::Nack, &nacks),
        }
    }

    /// What all hops made of these journeys.
    fn hops(&mut self, kind: Kind, journeys: &[&Journey]) -> Vec<HopLoss> {
        let layout = self.log.layout();
        let mut list = Vec::new();
        for at in 0..layout.hops() {
            let (from, to) = match kind {
                Kind::Data | Kind::Request => (at, at + 1),
                Kind::Nack => (layout.hops() - at, layout.hops() - at - 1),
            };
            for group in layout.groups() {
                let mut hop = Hop::new(layout, self.terms, from, to, *group);
                for journey in journeys.iter().filter(|j| j.group == *group) {
                    self.pass(&mut hop, journey);
                }
                list.push(hop.loss);
            }
        }
        list
    }

    /// What one hop made of one journey.
    fn pass(&mut self, hop: &mut Hop, journey: &Journey) {
        let (Some(step), Some(had)) = (journey.steps.get(hop.from), self.had(hop, journey)) else {
            return;
        };
        hop.loss.entered += 1;
        for (sender, loss) in hop.senders.iter().zip(&mut hop.loss.senders) {
            loss.had += u32::from(had.contains(sender));
            loss.sent += u32::from(step.senders.contains(sender));
        }
        if step.senders.is_empty() {
            hop.loss.lost.count(self.kept_back(hop, journey));
            return;
        }
        let mut nearest: Option<Cause> = None;
        let mut arrived = false;
        for at in 0..hop.receivers.len() {
            let receiver = hop.receivers[at];
            if step.got(receiver) {
                hop.loss.receivers[at].got += 1;
                arrived = true;
                continue;
            }
            let cause = self.cause(hop, journey, step, &had, receiver);
            hop.loss.receivers[at].lost.count(cause);
            nearest = Some(nearest.map_or(cause, |c| c.min(cause)));
        }
        match nearest {
            _ if arrived => hop.loss.arrived += 1,
            Some(cause) => hop.loss.lost.count(cause),
            // A stage without relays of this group.
            None => hop.loss.lost.count(Cause::Weak),
        }
    }

    /// Who of the hop's senders had the frame; `None` where nobody did.
    fn had(&self, hop: &Hop, journey: &Journey) -> Option<Vec<usize>> {
        let before = match journey.kind {
            Kind::Data | Kind::Request => hop.from.checked_sub(1),
            Kind::Nack => Some(hop.from + 1).filter(|stage| *stage <= self.log.layout().hops()),
        };
        let Some(before) = before else {
            return Some(hop.senders.clone());
        };
        let step = journey.steps.get(before)?;
        let had: Vec<usize> = (hop.senders.iter().copied())
            .filter(|n| step.got(*n))
            .collect();
        (!had.is_empty()).then_some(had)
    }

    /// Why `receiver` did not get what `step.senders` sent.
    fn cause(
        &mut self,
        hop: &Hop,
        journey: &Journey,
        step: &Step,
        had: &[usize],
        receiver: usize,
    ) -> Cause {
        let channel = step
            .channel
            .or(self.log.layout().channel(hop.to, hop.loss.group))
            .unwrap_or(Channel::LAST);
        let bytes = journey.mpdu_bytes;
        let reach = |this: &mut Self, from: usize| this.is_usable(from, receiver, channel, bytes);
        let fate = step.fate(receiver);
        match fate {
            Some(Fate::Lost { cause, interferer }) => match cause {
                OnAir::Hidden | OnAir::Collision | OnAir::NoiseFloor => {
                    return self.collision(hop, interferer)
                }
                OnAir::AdjacentChannel => return Cause::AdjacentChannel,
                OnAir::External => return Cause::External,
                OnAir::BeatNull => return Cause::BeatNull,
                OnAir::Weak | OnAir::Deaf => {}
            },
            Some(Fate::Off(away)) if step.senders.iter().any(|s| reach(self, *s)) => {
                return match away {
                    Away::Busy => Cause::Busy,
                    Away::Absent => Cause::NotListening,
                };
            }
            Some(Fate::Off(_) | Fate::Good) | None => {}
        }
        let silent = |n: &&usize| !step.senders.contains(n);
        let able: Vec<usize> = (hop.senders.iter())
            .filter(silent)
            .copied()
            .filter(|s| reach(self, *s))
            .collect();
        if able.iter().any(|s| had.contains(s)) {
            self.kept_back(hop, journey)
        } else if able.is_empty() {
            Cause::Weak
        } else {
            Cause::SenderMissing
        }
    }

    fn collision(&self, hop: &Hop, interferer: Option<usize>) -> Cause {
        let stage = interferer.and_then(|n| self.log.layout().stage_of(n));
        match stage {
            Some(stage) if stage != hop.from => Cause::SelfInterference,
            _ => Cause::Collision,
        }
    }

    /// Why a sender did not send what it had.
    fn kept_back(&self, hop: &Hop, journey: &Journey) -> Cause {
        let last_but_one = hop.from + 1 == self.log.layout().hops();
        let may = match self.terms.selective {
            Selective::Nobody => false,
            Selective::LastButOne => last_but_one && hop.from > 0,
        };
        if may && journey.kind == Kind::Data {
            Cause::Withheld
        } else {
            Cause::NotSent
        }
    }

    fn is_usable(&mut self, from: usize, to: usize, channel: Channel, mpdu_bytes: usize) -> bool {
        let (log, power) = (self.log, self.terms.power);
        let key = (from, to, channel, mpdu_bytes);
        *self.usable.entry(key).or_insert_with(|| {
            let (from, to) = (EarId(from as u32), EarId(to as u32));
            let bytes = mpdu_bytes + FCS_BYTES;
            log.environment().prr(from, to, channel, bytes, power) > USABLE
        })
    }
}

impl Terms<'_> {
    fn id(&self, node: usize) -> u16 {
        self.ids.get(node).map_or(0, |id| id.get())
    }
}

impl Hop {
    fn new(layout: &Layout, terms: &Terms<'_>, from: usize, to: usize, group: SubGroup) -> Self {
        let senders: Vec<usize> = layout.members(from, group).collect();
        let receivers: Vec<usize> = layout.members(to, group).collect();
        let sender = |node: &usize| Sender {
            node: terms.id(*node),
            had: 0,
            sent: 0,
        };
        let receiver = |node: &usize| Receiver {
            node: terms.id(*node),
            got: 0,
            lost: Causes::default(),
        };
        let loss = HopLoss {
            stage: to,
            group,
            channel: layout.channel(to, group).map_or(0, Channel::number),
            entered: 0,
            arrived: 0,
            lost: Causes::default(),
            senders: senders.iter().map(sender).collect(),
            receivers: receivers.iter().map(receiver).collect(),
        };
        Self {
            from,
            to,
            senders,
            receivers,
            loss,
        }
    }
}
