//! A node's setup for the pipeline of a route: session, schedule, and the adaptation of the route's protocol.

use crate::glossy;
use crate::p3::{self, Selective};
use crate::pip::{self, Hopper};
use crate::pipeline::{Adaptation, Beat, Cadence, Fixed, HopSetup, Policy, Session, Setup};
use crate::thalweg::{
    self, AlternateRelay, BackupRelay, ChainRole, DualChannelSink, FollowUps, PathProbe, Rendezvous,
};
use core::ops::{Deref, DerefMut};
use thalweg_engine::{BoardTiming, Passing};
use thalweg_units::{Channel, Duration, Instant, NodeId};
use thalweg_wire::hop::{self, HopRoute};
use thalweg_wire::phy::{self, SFD_OFFSET};
use thalweg_wire::pipeline::{Group, Tag};
use thalweg_wire::route::{Control, Hopping, Probe, Role, Route, Scheme};
use thalweg_wire::seal::frame::Sealing;

/// The setup of `node` for `route`, which begins at `start` of its clock, on boards of `timing`; `None` if it is not
/// part of the route.
pub fn setup(
    route: &Route,
    node: NodeId,
    start: Instant,
    timing: &BoardTiming,
) -> Option<Setup<AnyAdaptation>> {
    setup_with((route, node), start, (timing, 0))
}

/// The same where a MIC takes `mic_symbols`.
pub(super) fn setup_with(
    (route, node): (&Route, NodeId),
    start: Instant,
    (timing, mic_symbols): (&BoardTiming, u8),
) -> Option<Setup<AnyAdaptation>> {
    let role = route.role_of(node)?;
    let channels = route.channels;
    let mut session = session(route, role, start);
    let cadence = cadence((route, &session), timing, mic_symbols);
    let beat = cadence.beat(&session);
    if route.scheme == Scheme::Thalweg {
        let deadline = session.policy.deadline;
        session.policy = Policy {
            deadline,
            ..thalweg::policy(&beat)
        };
        session.policy.inactivity += match role {
            Role::Backup { .. } => BackupRelay::patience(&beat),
            Role::Alternate { .. } => AlternateRelay::patience(&beat),
            _ => Duration::ZERO,
        };
    }
    let stage = session.stage();
    let follow_ups = thalweg::follow_ups(route, &session, &cadence);
    let fixed = Fixed { channels, stage };
    let selective = Selective::new(route, role, fixed);
    let adaptation = match route.scheme {
        Scheme::P3 => AnyAdaptation::Selective(selective),
        Scheme::Pip(Hopping::EveryCyclePair) => AnyAdaptation::Hopping(Hopper::new(fixed, &beat)),
        Scheme::Pip(Hopping::Fixed) | Scheme::PipCit | Scheme::HopByHop => {
            AnyAdaptation::Fixed(fixed)
        }
        Scheme::Thalweg => thalweg_adaptation(route, role, (start, fixed), (&beat, follow_ups)),
    };
    Some(Setup {
        session,
        cadence,
        adaptation,
    })
}

/// What `role` adds in a transfer of Thalweg's that begins at `start`.
fn thalweg_adaptation(
    route: &Route,
    role: Role,
    (start, fixed): (Instant, Fixed),
    (beat, follow_ups): (&Beat, FollowUps),
) -> AnyAdaptation {
    let chain = |stage, group| ChainRole::new(route, (stage, group), beat, follow_ups.early);
    match role {
        Role::Backup { stage, group } => {
            let over = follow_ups.late.map(|late| start + late);
            let chain = chain(stage, group);
            AnyAdaptation::Backup(BackupRelay::new((chain, route.probe), beat, over))
        }
        Role::Source | Role::Destination if route.probe == Probe::First => {
            let alternates = [Group::Odd, Group::Even].map(|group| route.has_alternate(group));
            let probe = PathProbe::new(fixed, route.progress, alternates, beat);
            AnyAdaptation::Probe(match role {
                Role::Destination => {
                    let rendezvous = Rendezvous::new(beat, follow_ups.early);
                    probe.with(DualChannelSink::new(route, beat), rendezvous)
                }
                _ => probe,
            })
        }
        Role::Alternate { stage, group } => {
            let chain = chain(stage, group);
            AnyAdaptation::Alternate(AlternateRelay::new(chain, route.progress, beat))
        }
        Role::Relay { stage, group } => AnyAdaptation::Chain(chain(stage, group)),
        _ => AnyAdaptation::Fixed(fixed),
    }
}

/// What the node at `position` of `route` needs, which listens on `control` when idle, with boards of `timing`.
pub(super) fn hop_setup(
    (route, position): (HopRoute, u8),
    control: Channel,
    timing: &BoardTiming,
) -> HopSetup {
    let pauses = timing.relaying(phy::MAX_MPDU, Passing::Copied);
    let node = route.nodes().get(usize::from(position));
    let answer_bytes = hop::CONTROL_BYTES + usize::from(route.sealing().mic_bytes());
    HopSetup {
        route,
        position,
        control,
        answer: phy::air_time(answer_bytes) + pauses.forth * 2 + SLACK,
        seed: u64::from(route.transfer) << 16 | u64::from(node.map_or(0, |node| node.get())),
    }
}

/// What an answer may take beyond its closed form.
const SLACK: Duration = Duration::from_millis(1);

/// When something may have to follow a transfer over `route` on boards of `timing`, if its protocol says so.
pub(super) fn follow_ups(
    route: &Route,
    (timing, mic_symbols): (&BoardTiming, u8),
) -> Option<FollowUps> {
    let session = session(route, Role::Destination, Instant::ZERO);
    let cadence = cadence((route, &session), timing, mic_symbols);
    let is_ours = route.scheme == Scheme::Thalweg;
    is_ours.then(|| thalweg::follow_ups(route, &session, &cadence))
}

/// The slots of `session`, which is over `route`; those of one without seals have no MICs.
fn cadence((route, session): (&Route, &Session), timing: &BoardTiming, mic_symbols: u8) -> Cadence {
    Cadence::new(session, timing).with_mics(match route.sealing {
        Sealing::Open => 0,
        Sealing::Sealed => mic_symbols,
    })
}

/// The session of the node in `role`. How long Thalweg's nodes wait follows from the schedule, which follows from this.
fn session(route: &Route, role: Role, start: Instant) -> Session {
    let policy = match route.scheme {
        Scheme::P3 => match route.control() {
            Control::Published => p3::policy(),
            Control::Compact => p3::compact_policy(),
        },
        Scheme::Pip(Hopping::Fixed) => pip::policy(),
        Scheme::Pip(Hopping::EveryCyclePair) => pip::hopping_policy(),
        Scheme::PipCit | Scheme::HopByHop => pip::conditional_policy(),
        Scheme::Thalweg => p3::compact_policy(),
    };
    Session {
        tag: Tag::of(route.transfer),
        source: route.source,
        role,
        hops: route.channels.hops(),
        groups: route.groups(),
        payload: route.payload,
        range: route.range,
        format: route.format,
        mic_bytes: route.sealing.mic_bytes(),
        note_bytes: match route.probe {
            Probe::First => thalweg::NOTE_BYTES,
            Probe::None => 0,
        },
        // Relays of one stage that send in step would write different counts.
        count_bytes: match route.probe {
            Probe::First if route.is_lean() => route.channels.hops(),
            Probe::First | Probe::None => 0,
        },
        progress: route.progress,
        stretch: thalweg::stretch(route),
        start,
        policy: Policy {
            deadline: Duration::from_secs(u64::from(route.deadline_s)),
            ..policy
        },
    }
}

/// The adaptations of the protocols that a route can name.
#[derive(Debug, Clone, Copy)]
pub enum AnyAdaptation {
    /// PIP and Thalweg, on channels that stay.
    Fixed(Fixed),
    /// Thalweg's relays, on those of their group.
    Chain(ChainRole),
    /// PIP with channel hopping.
    Hopping(Hopper),
    /// P3.
    Selective(Selective),
    /// Thalweg, beside a relay.
    Backup(BackupRelay),
    /// Thalweg's source and destination.
    Probe(PathProbe),
    /// Thalweg, of a chain that may be called.
    Alternate(AlternateRelay),
}

impl Deref for AnyAdaptation {
    type Target = dyn Adaptation;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Fixed(fixed) => fixed,
            Self::Chain(chain) => chain,
            Self::Hopping(hopper) => hopper,
            Self::Selective(selective) => selective,
            Self::Backup(backup) => backup,
            Self::Probe(probe) => probe,
            Self::Alternate(alternate) => alternate,
        }
    }
}

impl DerefMut for AnyAdaptation {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Fixed(fixed) => fixed,
            Self::Chain(chain) => chain,
            Self::Hopping(hopper) => hopper,
            Self::Selective(selective) => selective,
            Self::Backup(backup) => backup,
            Self::Probe(probe) => probe,
            Self::Alternate(alternate) => alternate,
        }
    }
}

/// From the end of the last wake-up flood to the source's first packet: handing the radio over.
const HANDOVER: Duration = Duration::from_millis(2);
/// The same on boards of `timing`: where frames are copied before they are strobed, a stage's first
/// packet is ordered so much earlier.
pub(super) fn handover(timing: &BoardTiming) -> Duration {
    match timing.software.is_serial() {
        true => HANDOVER + glossy::relay_gap(phy::MAX_MPDU, timing) + SFD_OFFSET,
        false => HANDOVER,
    }
}
/// From an order of a flood to the end of the SFD of its first frame.
pub(super) fn first_frame(timing: &BoardTiming) -> Duration {
    timing.turnaround + SFD_OFFSET
}

#[cfg(test)]
#[path = "setup_tests.rs"]
mod tests;
