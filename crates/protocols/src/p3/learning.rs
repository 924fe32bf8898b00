//! Learning during a transfer who is to speak to the destination, which has no receiver diversity (P3,
//! section VI: an adaptive method is left to the future).
//!
//! The first few packets are a trial: each relay of the last but one stage forwards only when it is
//! its turn, so the destination hears each alone, with its power. Its first NACK says for each group
//! whether all are to speak or one: one, where the powers would beat and the strongest is strong
//! enough. Ranks are places in the wake-up message. A relay that misses the NACK speaks, as without
//! learning; so do all from the fourth round on, lest a dead relay hold the last packets back.
//! Tests: at the end of this file, and in `pipeline/tests`.

use thalweg_units::{Db, Dbm, NodeId};
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::{Groups, Learning, Place, Route};

/// How often each relay is heard alone.
const TURNS: u16 = 6;
/// How many of them must have been heard of a relay that is to speak alone.
const LEAST_HEARD: u8 = 5;
/// Received power from which a sender is strong enough alone: 6 dB above the level at which nine of
/// ten of the longest frames arrive at a CC2420 (-95.5 dBm).
const ENOUGH: Dbm = Dbm(-89.5);
/// A strongest sender so far above all others together captures: all may speak.
const CAPTURES_DB: f64 = 6.0;
/// Ranks that get a turn; a directive could name fifteen.
const MAX_RANKS: usize = 7;
const ALL: u8 = 0x0f;
/// Rounds in which directives are followed.
const FOLLOWED: u16 = 3;

/// When relays are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// With the first packets.
    FirstPackets,
    /// When a NACK says so, where so much is to come that it pays.
    WhenTold,
}

/// The relays of the last but one stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranks {
    occasion: Occasion,
    counts: [u8; 2],
    own: Option<u8>,
}

impl Ranks {
    /// Those of `route`, with that of `node`, where the route learns and there is anything to learn.
    pub fn of(route: &Route, node: NodeId) -> Option<Self> {
        let occasion = match route.learning {
            Learning::LastSpeakers => Occasion::FirstPackets,
            Learning::Stages { .. } => Occasion::WhenTold,
            Learning::Off | Learning::Channels { .. } => return None,
        };
        if route.groups() == Groups::One {
            return None;
        }
        let stage = route.channels.hops() - 1;
        let place = route.place_of(node)?;
        let (mut counts, mut own) = ([0u8; 2], None);
        for member in route.members().iter().filter(|m| m.stage == stage) {
            let count = &mut counts[member.group.index()];
            if member.node == node && matches!(place, Place::Relay { .. }) {
                own = Some(*count);
            }
            *count = count.saturating_add(1);
        }
        counts.iter().any(|count| *count > 1).then_some(Self {
            occasion,
            counts,
            own,
        })
    }
    /// When they are tried.
    pub const fn occasion(&self) -> Occasion {
        self.occasion
    }
    /// Packets of the trial: its round ends after so many.
    pub fn trial(&self) -> u16 {
        let most = self.counts[0].max(self.counts[1]).min(MAX_RANKS as u8);
        2 * TURNS * u16::from(most)
    }
    /// Whose turn it is with packet `number` of the trial, in `group`.
    fn turn(&self, group: Group, number: u16) -> u8 {
        let count = self.counts[group.index()].clamp(1, MAX_RANKS as u8);
        (number / 2 % u16::from(count)) as u8
    }
}

/// Who of a group's last relays is to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Directive {
    /// Of the odd group, then of the even: a rank, or none for all.
    only: [Option<u8>; 2],
}

impl Directive {
    /// Everybody.
    pub const ALL: Self = Self { only: [None; 2] };

    /// As a byte of a NACK.
    pub fn byte(self) -> u8 {
        let [odd, even] = self.only.map(|rank| rank.unwrap_or(ALL) & ALL);
        odd | even << 4
    }
    /// From a byte of a NACK.
    pub fn from_byte(byte: u8) -> Self {
        let only = |rank: u8| (rank != ALL).then_some(rank);
        Self {
            only: [only(byte & ALL), only(byte >> 4)],
        }
    }
}

/// A relay of the last but one stage, while the transfer learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Speaker {
    ranks: Ranks,
    own: u8,
    group: Group,
    /// Packets of this group that the trial has still to come, at most.
    trial: u16,
    only: Option<u8>,
}

impl Speaker {
    /// Where `ranks` says that the node is one of them.
    pub fn new(ranks: Ranks, group: Group) -> Option<Self> {
        Some(Self {
            ranks,
            own: ranks.own?,
            group,
            trial: match ranks.occasion {
                Occasion::FirstPackets => ranks.trial(),
                Occasion::WhenTold => 0,
            },
            only: None,
        })
    }
    /// Whether to forward packet `number`, just received.
    pub fn speaks(&mut self, number: u16) -> bool {
        let tried = match self.ranks.occasion {
            Occasion::FirstPackets => number < self.ranks.trial(),
            Occasion::WhenTold => true,
        };
        if self.trial > 0 && tried {
            self.trial -= 1;
            return self.ranks.turn(self.group, number) == self.own;
        }
        self.only.is_none_or(|only| only == self.own)
    }
    /// The next packets are a trial.
    pub fn trial_begins(&mut self) {
        (self.trial, self.only) = (self.ranks.trial() / 2, None);
    }
    /// The request that ends `round` was heard.
    pub fn round_ended(&mut self, round: u16) {
        self.trial = 0;
        if self.ranks.occasion == Occasion::FirstPackets && round >= FOLLOWED {
            self.only = None;
        }
    }
    /// A NACK brought a directive.
    pub fn told(&mut self, round: u16, directive: Directive) {
        self.trial = 0;
        // Where it is told again and again, whoever tells it knows how that does.
        let followed = self.ranks.occasion == Occasion::WhenTold || round < FOLLOWED;
        self.only = directive.only[self.group.index()].filter(|_| followed);
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Heard {
    count: u8,
    /// Of received powers, in whole decibels over a milliwatt.
    sum: i16,
}

/// What the destination hears in the trial.
#[derive(Debug, Clone, Copy)]
pub struct Listener {
    ranks: Ranks,
    heard: [[Heard; MAX_RANKS]; 2],
}

impl Listener {
    /// Nothing heard yet.
    pub fn new(ranks: Ranks) -> Self {
        Self {
            ranks,
            heard: [[Heard::default(); MAX_RANKS]; 2],
        }
    }
    /// When relays are tried.
    pub const fn occasion(&self) -> Occasion {
        self.ranks.occasion
    }
    /// What was heard was no trial, or of another channel.
    pub fn forget(&mut self) {
        *self = Self::new(self.ranks);
    }
    /// Packet `number` of `group` arrived with `rssi` in the round of the trial.
    pub fn heard(&mut self, group: Group, number: u16, rssi: Dbm) {
        if self.ranks.occasion == Occasion::FirstPackets && number >= self.ranks.trial() {
            return;
        }
        let rank = usize::from(self.ranks.turn(group, number));
        if let Some(heard) = self.heard[group.index()].get_mut(rank) {
            heard.count = heard.count.saturating_add(1);
            // Registers tell whole decibels.
            heard.sum = heard.sum.saturating_add(rssi.0 as i16);
        }
    }
    /// Who is to speak.
    pub fn directive(&self) -> Directive {
        Directive {
            only: [self.best(0), self.best(1)],
        }
    }
    fn best(&self, group: usize) -> Option<u8> {
        let mut best: Option<(u8, f64)> = None;
        let mut all = 0.0;
        for (rank, heard) in (0u8..).zip(&self.heard[group]).filter(|(_, h)| h.count > 0) {
            let level = f64::from(heard.sum) / f64::from(heard.count);
            all += Dbm(level).milliwatts().0;
            let enough = heard.count >= LEAST_HEARD && level >= ENOUGH.0;
            if enough && best.is_none_or(|(_, most)| level > most) {
                best = Some((rank, level));
            }
        }
        let (rank, level) = best?;
        let strongest = Dbm(level).milliwatts().0;
        let captures = strongest >= (all - strongest) * Db(CAPTURES_DB).factor();
        (!captures).then_some(rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANKS: Ranks = Ranks {
        occasion: Occasion::FirstPackets,
        counts: [3, 2],
        own: Some(1),
    };

    fn heard(levels: [f64; 3], lost_of_last: u16) -> Directive {
        let mut listener = Listener::new(RANKS);
        for number in (0..RANKS.trial()).step_by(2) {
            let rank = usize::from(RANKS.turn(Group::Odd, number));
            if rank < 2 || number / 6 >= lost_of_last {
                listener.heard(Group::Odd, number, Dbm(levels[rank]));
            }
        }
        listener.directive()
    }

    #[test]
    fn one_is_chosen_where_powers_would_beat() {
        assert_eq!(heard([-80.0, -81.0, -79.0], 0).only, [Some(2), None]);
        assert_eq!(heard([-80.0, -81.0, -79.0], 3).only, [Some(0), None]);
        // The strongest captures all others.
        assert_eq!(heard([-60.0, -81.0, -79.0], 0), Directive::ALL);
        // Nobody is strong enough alone.
        assert_eq!(heard([-91.0, -92.0, -93.0], 0), Directive::ALL);
    }

    #[test]
    fn everybody_has_the_same_number_of_turns() {
        assert_eq!(RANKS.trial(), 36);
        let mut speaker = Speaker::new(RANKS, Group::Odd).unwrap();
        let turns = (0..RANKS.trial()).step_by(2).filter(|n| speaker.speaks(*n));
        assert_eq!(turns.count(), 6);
        assert!(speaker.speaks(36), "the trial is over");
    }

    #[test]
    fn directives_are_followed_for_some_rounds() {
        let mut speaker = Speaker::new(RANKS, Group::Odd).unwrap();
        speaker.round_ended(0);
        assert!(speaker.speaks(0), "no NACK heard: speaks");
        let other = Directive {
            only: [Some(2), None],
        };
        speaker.told(0, Directive::from_byte(other.byte()));
        assert!(!speaker.speaks(0));
        speaker.told(
            0,
            Directive {
                only: [Some(1), Some(9)],
            },
        );
        assert!(speaker.speaks(0));
        speaker.told(2, other);
        speaker.round_ended(3);
        assert!(speaker.speaks(0));
        assert_eq!(Directive::from_byte(0xff), Directive::ALL);
        assert_eq!(Directive::from_byte(other.byte()), other);
    }
}
