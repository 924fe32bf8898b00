//! The timetable of one sweep at one node.

use super::{BEACON_BYTES, SLOT};
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::phy;
use thalweg_wire::report::Health;
use thalweg_wire::sweep::{Beacon, Parameters, Reports};

/// What a node does in a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Listen on this channel.
    Tune(Channel),
    /// Send a beacon on this channel so that its SFD ends at `sfd`.
    Beacon {
        /// In which stretch.
        stretch: u8,
        /// This node's slot.
        slot: u16,
        /// On which channel.
        channel: Channel,
        /// The end of its SFD.
        sfd: Instant,
    },
    /// Back to the control channel: the beacons are over.
    Return,
    /// Begin the flood of one's report at this instant.
    Report(Instant),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Change to the channel of this stretch, of 240 at most.
    Tune(u8),
    /// Send in this stretch.
    Send(u8),
    Report,
    Nothing,
}

/// Whether a node's report is built already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Built {
    Not,
    /// With how the node was then.
    With(Health),
}

/// One node's role in a sweep. It stays when all is done, and keeps the parameters.
#[derive(Debug, Clone)]
pub struct Sweeping {
    parameters: Parameters,
    begin: Instant,
    slot: Option<u16>,
    /// After how many slots of a hop its report begins, where reports go inwards; `None` where that is not known.
    turn: Option<u8>,
    lead: Duration,
    next: Next,
    /// Its report, which who takes the steps keeps.
    pub(crate) built: Built,
}

impl Sweeping {
    /// A sweep on `parameters` whose first stretch begins at `begin`. This node has `slot`, or none that it knows of,
    /// and asks for transmissions `lead` before their time.
    pub fn new(parameters: Parameters, begin: Instant, slot: Option<u16>, lead: Duration) -> Self {
        Self {
            parameters,
            begin,
            slot,
            turn: None,
            lead,
            next: Next::Tune(0),
            built: Built::Not,
        }
    }
    /// The same for a node that hears `beacon` at `sfd`, and nothing before: it knows its own slot where no address
    /// is left out.
    pub fn joined(beacon: &Beacon, sfd: Instant, own: Option<u16>, lead: Duration) -> Self {
        let begin = sfd.saturating_sub(offset(
            &beacon.parameters,
            beacon.stretch.into(),
            beacon.slot,
        ));
        Self {
            // What is past of this stretch is skipped by who takes the steps.
            next: Next::Tune(beacon.stretch),
            ..Self::new(beacon.parameters, begin, own, lead)
        }
    }
    /// What all nodes of this sweep know.
    pub const fn parameters(&self) -> &Parameters {
        &self.parameters
    }
    /// Learns this node's slot, if it is not known.
    pub(crate) fn set_slot(&mut self, slot: Option<u16>) {
        self.slot = self.slot.or(slot);
    }
    /// After how many slots of a hop its report begins; `None` if it is unknown.
    pub(crate) const fn turn(&self) -> Option<u8> {
        self.turn
    }
    /// Learns that it begins after so many; of several the fewest. The most hops away is meant: the fewest are a matter
    /// of luck, and the way back has but one sender.
    pub(crate) fn set_turn(&mut self, turn: u8) {
        self.turn = Some(self.turn.map_or(turn, |before| before.min(turn)));
    }
    /// When in its slot its report begins; `None` where that is not known.
    pub(crate) fn delay(&self) -> Option<Duration> {
        match self.parameters.reports {
            Reports::Flooded => Some(Duration::ZERO),
            Reports::Inwards => Some(self.parameters.hop() * u64::from(self.turn?)),
        }
    }
    /// Whether nothing is left to be done.
    pub const fn is_done(&self) -> bool {
        matches!(self.next, Next::Nothing)
    }
    /// When the first stretch begins.
    pub(crate) const fn begin(&self) -> Instant {
        self.begin
    }
    /// The end of the last beacon.
    pub(crate) fn end(&self) -> Instant {
        self.begin + self.parameters.measuring()
    }
    /// When slot `slot` of the reports begins; that of the number of slots is the end of the last.
    pub(crate) fn report_at(&self, slot: u16) -> Instant {
        // A slot of a beacon is enough for all nodes to be back on the control channel.
        self.end() + self.parameters.slot * 2 + self.parameters.report * u64::from(slot)
    }
    /// Whether the end of `beacon`'s SFD is due at `sfd`, give or take half of the shortest slot.
    pub(crate) fn is_due(&self, beacon: &Beacon, sfd: Instant) -> bool {
        let of = offset(&self.parameters, beacon.stretch.into(), beacon.slot);
        let due = self.begin + of;
        sfd.since(due).max(due.since(sfd)) <= SLOT / 2
    }
    /// The next step and when it is due; `None` when all is done.
    pub fn peek(&self) -> Option<(Instant, Step)> {
        match self.next {
            Next::Nothing => None,
            Next::Report => {
                let at = self.report_at(self.slot?) + self.delay()?;
                Some((at.saturating_sub(self.lead), Step::Report(at)))
            }
            Next::Send(stretch) => match (self.slot, self.parameters.channel(stretch.into())) {
                (Some(slot), Some(channel)) => {
                    let sfd = self.begin + offset(&self.parameters, stretch.into(), slot);
                    let step = Step::Beacon {
                        stretch,
                        slot,
                        channel,
                        sfd,
                    };
                    Some((sfd.saturating_sub(self.lead), step))
                }
                _ => Some(self.tune(u16::from(stretch) + 1)),
            },
            Next::Tune(stretch) => Some(self.tune(stretch.into())),
        }
    }
    fn tune(&self, stretch: u16) -> (Instant, Step) {
        let channel = self.parameters.channel(stretch);
        match channel.filter(|_| stretch < self.parameters.stretches()) {
            Some(channel) => (
                self.begin + self.parameters.begin(stretch),
                Step::Tune(channel),
            ),
            None => (self.end(), Step::Return),
        }
    }
    /// Takes the next step if it is due at `now`.
    pub fn step(&mut self, now: Instant) -> Option<Step> {
        let (due, step) = self.peek()?;
        if due > now {
            return None;
        }
        self.next = match (self.next, step) {
            (Next::Tune(n), Step::Tune(_)) => Next::Send(n),
            // Without a slot, the next stretch follows at once.
            (Next::Send(n), Step::Tune(_)) => Next::Send(n + 1),
            (Next::Send(n), Step::Beacon { .. }) => Next::Tune(n + 1),
            (_, Step::Return) if self.slot.is_some() && self.delay().is_some() => Next::Report,
            _ => Next::Nothing,
        };
        Some(step)
    }
}

/// From the first stretch's beginning to the end of the SFD of the beacon in `slot` of `stretch`: as far from both
/// ends of the slot as can be, and one slot after all nodes have changed the channel.
fn offset(parameters: &Parameters, stretch: u16, slot: u16) -> Duration {
    let air = phy::air_time(usize::from(BEACON_BYTES));
    let spare = parameters.slot.saturating_sub(air) / 2;
    parameters.begin(stretch) + parameters.slot * (u64::from(slot) + 1) + spare + phy::SFD_OFFSET
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
