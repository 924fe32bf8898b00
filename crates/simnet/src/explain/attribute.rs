//! From the record of a transfer to its loss map: each loss gets its cause. Tests: `tests.rs`.

use super::cause::{Cause, Causes};
use super::layout::{Layout, SubGroup};
use super::map::{HopLoss, LaterRoute, LossMap, MapNode, Receiver, RoundLoss, RouteMap, Sender};
use super::record::{Away, Fate, Journey, Log, RouteUse, Step};
use std::collections::BTreeMap;
use thalweg_host::registry::name_of;
use thalweg_medium::{Cause as OnAir, EarId};
use thalweg_units::{Channel, Dbm, NodeId};
use thalweg_wire::phy::FCS_BYTES;
use thalweg_wire::pipeline::Kind;
use thalweg_wire::route::Scheme;

/// Mean reception ratio from which on a link counts as usable.
const USABLE: f64 = 0.5;

/// What attribution needs beside the record.
pub(super) struct Terms<'a> {
    pub(super) protocol: Scheme,
    pub(super) ids: &'a [NodeId],
    pub(super) power: Dbm,
    pub(super) selective: Selective,
}

/// Which relays may withhold packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Selective {
    None,
    /// Relays of the last but one stage.
    LastButOne,
}

/// A hop in the making.
struct Hop<'a> {
    /// Of its route.
    layout: &'a Layout,
    from: usize,
    to: usize,
    senders: Vec<usize>,
    receivers: Vec<usize>,
    /// How many frames were sent on which channel.
    used: BTreeMap<Channel, u32>,
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
        let (log, terms) = (self.log, self.terms);
        let journeys = log.journeys.iter().filter(|j| !log.is_cut_off(j));
        let journeys: Vec<&Journey> = journeys.collect();
        let mut rounds: BTreeMap<(usize, u16), Vec<&Journey>> = BTreeMap::new();
        for journey in journeys.iter().filter(|j| j.kind == Kind::Data) {
            let round = rounds.entry((journey.attempt, journey.round));
            round.or_default().push(journey);
        }
        let rounds = (rounds.into_iter())
            .map(|((attempt, round), journeys)| RoundLoss {
                attempt: attempt as u32,
                round: u32::from(round) + 1,
                hops: self.hops(log.layout(attempt), Kind::Data, &journeys),
            })
            .collect();
        let (first, later) = log.routes();
        let mut on = |(attempts, layout): RouteUse<'a>| {
            let its = journeys.iter().filter(|j| attempts.contains(&j.attempt));
            let its: Vec<&Journey> = its.copied().collect();
            LaterRoute {
                attempt: attempts.start as u32,
                route: self.route(layout, &its),
            }
        };
        let end = |layout: &Layout, stage: usize| {
            let node = layout.members(stage, SubGroup::All).next();
            node.map_or(0, |node| terms.id(node))
        };
        LossMap {
            protocol: name_of(terms.protocol).to_owned(),
            source: end(first.1, 0),
            sink: end(first.1, first.1.hops()),
            rounds,
            route: on(first).route,
            ways: later.into_iter().map(on).collect(),
            labels: BTreeMap::new(),
        }
    }

    /// A route, and what became of the control frames among `journeys`.
    fn route(&mut self, layout: &'a Layout, journeys: &[&Journey]) -> RouteMap {
        let of = |kind: Kind| -> Vec<&Journey> {
            let of_kind = journeys.iter().filter(|j| j.kind == kind);
            of_kind.copied().collect()
        };
        let (requests, nacks) = (of(Kind::Request), of(Kind::Nack));
        let terms = self.terms;
        let nodes = layout.stages.iter().enumerate().flat_map(|(stage, nodes)| {
            nodes.iter().map(move |(node, group)| MapNode {
                node: terms.id(*node),
                stage,
                group: *group,
                part: layout.part(*node),
            })
        });
        RouteMap {
            hops: layout.hops(),
            channels: layout.channels.iter().map(|c| c.number()).collect(),
            last_even: layout.last_even.map(Channel::number),
            nodes: nodes.collect(),
            requests: self.hops(layout, Kind::Request, &requests),
            nacks: self.hops(layout, Kind::Nack, &nacks),
        }
    }

    /// What became of these journeys on every hop of a route: for each group, and for both where some went over both.
    fn hops(&mut self, layout: &'a Layout, kind: Kind, journeys: &[&Journey]) -> Vec<HopLoss> {
        let mut groups = layout.groups().to_vec();
        let mut carried = journeys.iter().map(|j| j.group);
        groups.extend(carried.find(|group| !layout.groups().contains(group)));
        let mut list = Vec::new();
        for at in 0..layout.hops() {
            let (from, to) = match kind {
                Kind::Data | Kind::Request => (at, at + 1),
                Kind::Nack => (layout.hops() - at, layout.hops() - at - 1),
            };
            for group in groups.iter().copied() {
                let mut hop = Hop::new(layout, self.terms, from, to, group);
                for journey in journeys.iter().filter(|j| j.group == group) {
                    self.pass(&mut hop, journey);
                }
                list.push(hop.finish());
            }
        }
        list
    }

    /// What one hop made of one journey.
    fn pass(&mut self, hop: &mut Hop<'_>, journey: &Journey) {
        let (Some(step), Some(had)) = (
            journey.steps.get(hop.from),
            had(hop.layout, journey, hop.from),
        ) else {
            return;
        };
        hop.loss.entered += 1;
        if let Some(channel) = step.channel {
            *hop.used.entry(channel).or_default() += 1;
        }
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

    /// Why `receiver` did not get what `step.senders` sent.
    fn cause(
        &mut self,
        hop: &Hop<'_>,
        journey: &Journey,
        step: &Step,
        had: &[usize],
        receiver: usize,
    ) -> Cause {
        let channel = step
            .channel
            .or(hop.layout.channel(hop.to, hop.loss.group))
            .unwrap_or(Channel::LAST);
        let bytes = journey.mpdu_bytes;
        let reach = |this: &mut Self, from: usize| this.is_usable(from, receiver, channel, bytes);
        let fate = step.fate(receiver);
        match fate {
            Some(Fate::Lost { cause, interferer }) => match cause {
                OnAir::Hidden | OnAir::Collision | OnAir::NoiseFloor => {
                    return Self::collision(hop, interferer)
                }
                OnAir::AdjacentChannel => return Cause::AdjacentChannel,
                OnAir::External => {
                    return match self.log.environment().interference.is_none() {
                        true => Cause::Link,
                        false => Cause::External,
                    }
                }
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

    fn collision(hop: &Hop<'_>, interferer: Option<usize>) -> Cause {
        let stage = interferer.and_then(|n| hop.layout.stage_of(n));
        match stage {
            Some(stage) if stage != hop.from => Cause::SelfInterference,
            _ => Cause::Collision,
        }
    }

    /// Why a sender did not send what it had.
    fn kept_back(&self, hop: &Hop<'_>, journey: &Journey) -> Cause {
        let last_but_one = hop.from + 1 == hop.layout.hops();
        let may = match self.terms.selective {
            Selective::None => false,
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

/// The nodes of a stage that had a journey's frame; none where no node did.
fn had(layout: &Layout, journey: &Journey, stage: usize) -> Option<Vec<usize>> {
    let members = layout.members(stage, journey.group);
    let before = match journey.kind {
        Kind::Data | Kind::Request => stage.checked_sub(1),
        Kind::Nack => Some(stage + 1).filter(|before| *before <= layout.hops()),
    };
    let Some(before) = before else {
        return Some(members.collect());
    };
    // Where the stage before did not have it, it came over the other group: a relay that missed the last request may still
    // follow the one before.
    had(layout, journey, before)?;
    let step = journey.steps.get(before)?;
    let had: Vec<usize> = members.filter(|n| step.got(*n)).collect();
    (!had.is_empty()).then_some(had)
}

impl<'a> Hop<'a> {
    fn new(layout: &'a Layout, terms: &Terms<'_>, from: usize, to: usize, group: SubGroup) -> Self {
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
            layout,
            from,
            to,
            senders,
            receivers,
            used: BTreeMap::new(),
            loss,
        }
    }

    /// Its losses. Groups move between channels, so the channel is the one of most frames; where there is none, as with
    /// hopping, the planned one.
    fn finish(mut self) -> HopLoss {
        let sent: u32 = self.used.values().sum();
        let most = self.used.iter().find(|(_, count)| 2 * **count > sent);
        if let Some((channel, _)) = most {
            self.loss.channel = channel.number();
        }
        self.loss
    }
}
