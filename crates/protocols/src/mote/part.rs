//! A node's part in the pipeline of a route: what P3 and PIP decide, and which of their adaptations runs.

use crate::glossy;
use crate::p3::{self, Selective};
use crate::pip::{self, Hopper};
use crate::pipeline::{Adaptation, Cadence, Fixed, Part, Policy, Session};
use crate::thalweg::{
    self, AlternateRelay, BackupRelay, ChainRole, DualChannelSink, Follows, PathProbe, Rendezvous,
};
use core::ops::{Deref, DerefMut};
use thalweg_engine::BoardTiming;
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::phy::{self, SFD_OFFSET};
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::{Control, Hopping, Place, Probe, Route, Scheme};

/// The part of `node` in `route`, which begins at `start` of its clock, on boards of `timing`; `None`
/// where it has none.
pub fn part(
    route: &Route,
    node: NodeId,
    start: Instant,
    timing: &BoardTiming,
) -> Option<Part<Adapted>> {
    let place = route.place_of(node)?;
    let channels = route.channels;
    let mut session = session(route, place, start);
    let cadence = Cadence::new(&session, timing);
    let beat = cadence.beat(&session);
    if route.scheme == Scheme::Thalweg {
        let deadline = session.policy.deadline;
        session.policy = Policy {
            deadline,
            ..thalweg::policy(&beat)
        };
        session.policy.inactivity += match place {
            Place::StandsBy { .. } => BackupRelay::patience(&beat),
            Place::Alternate { .. } => AlternateRelay::patience(&beat),
            _ => Duration::ZERO,
        };
    }
    let stage = session.stage();
    let follows = thalweg::follows(route, &session, &cadence);
    let lane = |stage, group| ChainRole::new(route, (stage, group), &beat, follows.early);
    let fixed = Fixed { channels, stage };
    let selective = Selective::new(route, place, fixed);
    let adaptation = match route.scheme {
        Scheme::P3 => Adapted::Selective(selective),
        Scheme::Pip(Hopping::EveryCyclePair) => Adapted::Hopping(Hopper::new(fixed, &beat)),
        Scheme::Pip(Hopping::Fixed) | Scheme::PipCit => Adapted::Fixed(fixed),
        Scheme::Thalweg => match place {
            Place::StandsBy { stage, group } => {
                let over = follows.late.map(|late| start + late);
                let lane = lane(stage, group);
                Adapted::Watches(BackupRelay::new((lane, route.probe), &beat, over))
            }
            Place::Source | Place::Destination if route.probe == Probe::First => {
                let alternates = [Group::Odd, Group::Even].map(|group| route.has_alternate(group));
                let looker = PathProbe::new(fixed, route.progress, alternates, &beat);
                Adapted::Looks(match place {
                    Place::Destination => {
                        let rendezvous = Rendezvous::new(&beat, follows.early);
                        looker.with(DualChannelSink::new(route, &beat), rendezvous)
                    }
                    _ => looker,
                })
            }
            Place::Alternate { stage, group } => {
                let lane = lane(stage, group);
                Adapted::Alternate(AlternateRelay::new(lane, route.progress, &beat))
            }
            Place::Relay { stage, group } => Adapted::ChainRole(lane(stage, group)),
            _ => Adapted::Fixed(fixed),
        },
    };
    Some(Part {
        session,
        cadence,
        adaptation,
    })
}

/// When something may have to follow a transfer over `route` on boards of `timing`, where its protocol says so.
pub(super) fn follows(route: &Route, timing: &BoardTiming) -> Option<Follows> {
    let session = session(route, Place::Destination, Instant::ZERO);
    let cadence = Cadence::new(&session, timing);
    let is_ours = route.scheme == Scheme::Thalweg;
    is_ours.then(|| thalweg::follows(route, &session, &cadence))
}

/// What whoever has `place` must know. How long Thalweg's nodes wait follows from the schedule, which follows from this.
fn session(route: &Route, place: Place, start: Instant) -> Session {
    let policy = match route.scheme {
        Scheme::P3 => match route.control() {
            Control::Published => p3::policy(),
            Control::Compact => p3::compact_policy(),
        },
        Scheme::Pip(Hopping::Fixed) => pip::policy(),
        Scheme::Pip(Hopping::EveryCyclePair) => pip::hopping_policy(),
        Scheme::PipCit => pip::conditional_policy(),
        Scheme::Thalweg => p3::compact_policy(),
    };
    Session {
        transfer: route.transfer,
        place,
        hops: route.channels.hops(),
        groups: route.groups(),
        payload: route.payload,
        range: route.range,
        format: route.format,
        said_bytes: match route.probe {
            Probe::First => thalweg::SAID_BYTES,
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
pub enum Adapted {
    /// PIP and Thalweg, on channels that stay.
    Fixed(Fixed),
    /// Thalweg's relays, on those of their group.
    ChainRole(ChainRole),
    /// PIP with channel hopping.
    Hopping(Hopper),
    /// P3.
    Selective(Selective),
    /// Thalweg, beside a relay.
    Watches(BackupRelay),
    /// Thalweg's source and destination.
    Looks(PathProbe),
    /// Thalweg, of a chain that may be called.
    Alternate(AlternateRelay),
}

impl Deref for Adapted {
    type Target = dyn Adaptation;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Fixed(fixed) => fixed,
            Self::ChainRole(lane) => lane,
            Self::Hopping(hopper) => hopper,
            Self::Selective(selective) => selective,
            Self::Watches(watcher) => watcher,
            Self::Looks(looker) => looker,
            Self::Alternate(alternate) => alternate,
        }
    }
}

impl DerefMut for Adapted {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Fixed(fixed) => fixed,
            Self::ChainRole(lane) => lane,
            Self::Hopping(hopper) => hopper,
            Self::Selective(selective) => selective,
            Self::Watches(watcher) => watcher,
            Self::Looks(looker) => looker,
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
