//! A node that no flood reaches looks for others on all channels: its links may be on some that floods do not use.
//!
//! Time base: the node's clock. Invariants: a node that a sink's flood has reached on the control channel, or that has had
//! an order, stays there for good; one that looks is there every other second. Where a beacon or a call comes, it stays in
//! the seconds between: sweeps are joined by beacons, and calls of routes that need it go on all channels. Not for nodes
//! that rest. Tests: `tests/company.rs`.

use super::{Duty, Mote};
use crate::floodnet::{self, Idle};
use crate::object::ObjectStore;
use crate::rng::Rng;
use crate::seals::Guard;
use thalweg_engine::{Engine, RadioEvent};
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::flood::{Kind, Repr};
use thalweg_wire::{mac, Reader};

/// A node that was switched on so long ago, and that nothing has reached, begins to look. Where something came, it stays for
/// so long: longer than the pauses between surveys that look for such nodes.
pub(super) const ALONE: Duration = Duration::from_secs(150);
/// It listens on a channel for so long, and by chance up to half as long again, so that it is in step with no survey:
/// calls go round all channels in half of it.
pub(super) const LOOK: Duration = Duration::from_secs(1);
/// Every other look is on the control channel.
const LOOKS: u8 = (ALONE.as_nanos() / LOOK.as_nanos() / 2) as u8;

/// What a node hears of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Company {
    /// A sink, over floods.
    Found,
    /// None yet.
    Sought {
        /// Which look this is, and until when.
        turn: u16,
        until: Instant,
        /// Where something came, and for how many looks it stays there.
        kept: Option<(Channel, u8)>,
    },
}

impl Company {
    /// That of a node that has just been switched on.
    pub(super) const NONE: Self = Self::Sought {
        turn: 0,
        until: Instant::from_nanos(ALONE.as_nanos()),
        kept: None,
    };
}

impl<S: ObjectStore, const NEIGHBOURS: usize, const NODES: usize, G: Guard>
    Mote<S, NEIGHBOURS, NODES, G>
{
    /// A frame may have come in.
    pub(super) fn note_company(&mut self, event: &RadioEvent<'_>) {
        let (RadioEvent::Frame { mpdu, .. }, Company::Sought { kept, .. }) =
            (event, &mut self.company)
        else {
            return;
        };
        let on = match self.duty {
            Duty::Floods | Duty::Window(_) => self.floods.channel(),
            _ => return,
        };
        if on == self.config.glossy.channel {
            if is_from_sink(mpdu) {
                self.settle();
            }
        } else if mac::dispatch(mpdu).is_ok() && !self.floods.is_probing() {
            *kept = Some((on, LOOKS));
        }
    }

    /// It stays on the control channel from now on.
    const fn settle(&mut self) {
        self.company = Company::Found;
        self.floods.move_to(self.config.glossy.channel);
    }
    /// The same for a node that has an order, wherever it is.
    pub(super) fn settle_for_order(&mut self, now: Instant) {
        let is_away = self.floods.channel() != self.config.glossy.channel;
        self.settle();
        if is_away && self.duty == Duty::Floods {
            self.floods.handle_command(now, floodnet::Command::Listen);
        }
    }

    /// When it goes to another channel.
    pub(super) fn look_due(&self) -> Option<Instant> {
        let may_look = self.config.idle == Idle::Listens && self.is_idle();
        match self.company {
            Company::Sought { until, .. } if may_look => Some(until),
            _ => None,
        }
    }

    /// Looks on, if that is due.
    pub(super) fn look(&mut self, now: Instant) {
        let is_busy = !self.is_idle();
        let is_due = self.look_due().is_some_and(|due| due <= now);
        let Company::Sought { turn, until, kept } = &mut self.company else {
            return;
        };
        if let (true, Some((_, left @ 1..))) = (is_busy, &mut *kept) {
            *left = LOOKS;
        }
        if !is_due {
            return;
        }
        // It has just been switched on again, or had its first work until now.
        if *turn == 0 && now > *until + LOOK {
            *until = now + ALONE;
            return;
        }
        *turn = turn.wrapping_add(1).max(1);
        let mut rng = Rng::new(u64::from(*turn) << 16 | u64::from(self.id.get()));
        let more = Duration::from_micros(rng.below(LOOK.as_micros() as u32 / 2).into());
        *until = now + LOOK + more;
        let channel = match (*turn % 2, &mut *kept) {
            (0, _) => self.config.glossy.channel,
            (_, Some((channel, left))) if *left > 0 => {
                *left -= 1;
                *channel
            }
            _ => Channel::from_index(rng.below(Channel::COUNT as u32) as usize),
        };
        self.floods.move_to(channel);
        self.floods.handle_command(now, floodnet::Command::Listen);
    }
}

/// Whether `mpdu` is of a flood that only sinks begin: reports may come from nodes that no sink's flood has reached.
fn is_from_sink(mpdu: &[u8]) -> bool {
    let kind = Repr::parse(mpdu).and_then(|flood| Kind::parse_tag(&mut Reader::new(flood.content)));
    matches!(kind, Ok((kind, _)) if !matches!(kind, Kind::Report | Kind::Levels))
}
