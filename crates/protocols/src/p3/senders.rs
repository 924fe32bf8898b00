//! Learning during a transfer which relays of any stage do better to be silent (P3, section VI).
//!
//! Relays that beat at the next stage, or drown another one, do less harm silent; none of them can tell. So
//! those of the group that loses more are silent in turn, one for each packet, and the destination sees
//! without whom more arrives. The best are tried beside each other until one is left; then again, as long
//! as it pays. Whose turn it is follows from a packet's number. What is known belongs to a setting of the
//! channels and its speakers. Invariant: nobody is kept silent while rounds lose much. Tests:
//! `senders/tests.rs`, and `pipeline/tests`.

use super::directions::Stretch;
use super::learning::Directive;
use super::silent::{Silence, Silent, Standing, MAX_SILENCES};
use super::yields::{Count, Yields};
use thalweg_units::NodeId;
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::{Groups, Learning, Recovery, Route};

/// How often each relay of a group is silent in a trial: enough to see without whom nothing goes.
const TURNS: u16 = 6;
/// Relays of a group that have a turn; a silence could name 64.
const MAX_TURNS: usize = 24;
/// Packets of all trials of a pass, in what they lose and their exchanges; twice, since at most half of a
/// loss is likely to go.
const COST: u32 = 2 * 100;
/// The most that are kept silent: the list has room for some more to be tried.
const MOST_KEPT: usize = 4;
/// They are tried for 2 to this power packets at a time.
const STRETCH: u8 = 9;
/// Packets of a candidate after which it is judged.
const JUDGED: u16 = 96;
/// Stretches after which it is judged in any case.
const MOST_STRETCHES: u8 = 3;

/// The relays of a route: each has a place in its group, in the order of the wake-up message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roster {
    counts: [u8; 2],
    own: Option<(Group, u8)>,
}

impl Roster {
    /// Those of `route`, with the place of `node`, where stages learn and rounds are of packets.
    pub fn of(route: &Route, node: NodeId) -> Option<Self> {
        let learns = matches!(route.learning, Learning::Stages { .. });
        if !learns || route.groups() == Groups::One || route.recovery != Recovery::Rounds {
            return None;
        }
        let mut roster = Self {
            counts: [0; 2],
            own: None,
        };
        for member in route.members() {
            let count = &mut roster.counts[member.group.index()];
            if member.node == node {
                roster.own = Some((member.group, *count));
            }
            *count = count.saturating_add(1);
        }
        (roster.counts != [0; 2]).then_some(roster)
    }
    /// Packets of a trial in which each of `group` is silent in turn.
    pub fn trial(&self, group: Group) -> u16 {
        2 * TURNS * u16::from(self.turns(group))
    }
    /// How many of `group` have a turn.
    fn turns(&self, group: Group) -> u8 {
        self.counts[group.index()].clamp(1, MAX_TURNS as u8)
    }
    /// Whose turn it is to be silent with packet `number` of `group`.
    fn turn(&self, group: Group, number: u16) -> u8 {
        (number / 2 % u16::from(self.turns(group))) as u8
    }
}

/// A relay that learns whether it is to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender {
    roster: Roster,
    own: (Group, u8),
    silent: Silent,
    /// Those of this group are silent in turn.
    in_turn: Option<Group>,
}

impl Sender {
    /// Where `roster` says that the node is one.
    pub fn new(roster: Roster) -> Option<Self> {
        Some(Self {
            roster,
            own: roster.own?,
            silent: Silent::NOBODY,
            in_turn: None,
        })
    }
    /// Whether to forward packet `number`, just received.
    pub fn sends(&self, number: u16) -> bool {
        let (group, own) = self.own;
        let turn = self.in_turn == Some(group) && self.roster.turn(group, number) == own;
        !turn && !self.silent.applies(group, own, number)
    }
    /// The request that ends a round was heard.
    pub fn round_ended(&mut self) {
        self.in_turn = None;
        // Else who does not hear the next NACK goes on with it.
        self.silent.drop_candidates();
    }
    /// A NACK told who is silent in what comes next.
    pub fn told(&mut self, next: Stretch, silent: Silent) {
        self.in_turn = match next {
            Stretch::Silences(group) => Some(group),
            _ => None,
        };
        self.silent = silent;
    }
}

/// What is under way, and in which group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trial {
    Nothing,
    /// Each is silent in turn.
    Turns(Group),
    /// Candidates beside each other, for so many stretches already.
    Candidates(Group, u8),
}

impl Trial {
    const fn group(self) -> Option<Group> {
        match self {
            Self::Nothing => None,
            Self::Turns(group) | Self::Candidates(group, _) => Some(group),
        }
    }
}

/// What came of packets that were sent for the first time, of one class.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    sent: u16,
    came: u16,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.sent = self.sent.saturating_add(other.sent);
        self.came = self.came.saturating_add(other.came);
    }
    const fn lost(self) -> u16 {
        self.sent.saturating_sub(self.came)
    }
    /// What would have been lost in its place at the rate of `all`, in quarters.
    fn expected(self, all: Self) -> u32 {
        4 * u32::from(all.lost()) * u32::from(self.sent) / u32::from(all.sent.max(1))
    }
}

/// What the destination knows of senders.
#[derive(Debug, Clone, Copy)]
pub struct Senders {
    roster: Roster,
    /// Under which setting of the channels, and with whom to speak to the destination.
    under: Option<(u8, Directive)>,
    trial: Trial,
    /// Passes that have found nobody under it.
    vain: u8,
    silent: Silent,
    /// While those kept silent were so.
    count: Count,
    /// What came in this round, of each class of the group that is tried and of each group.
    came: [u16; MAX_TURNS],
    came_of: [u16; 2],
    /// What each group lost in the last round without trials.
    usual: [Tally; 2],
    /// Of candidates, in all their stretches; class 0 is without them.
    tallies: [Tally; MAX_SILENCES + 1],
    /// The group of packets with even numbers, in this round.
    even: Option<Group>,
    /// How many packets, from the first on, had been sent before it.
    reach: u16,
}

/// What a round says of the setting of the channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Nothing,
    /// All, or those who were to speak, sent: so many packets were sent, so many came.
    Usual(u16, u16),
    /// The same, while others were kept silent.
    Without(u16, u16),
}

impl Senders {
    /// Nothing known yet.
    pub fn new(roster: Roster) -> Self {
        Self {
            roster,
            under: None,
            trial: Trial::Nothing,
            vain: 0,
            silent: Silent::NOBODY,
            count: Count::default(),
            came: [0; MAX_TURNS],
            came_of: [0; 2],
            usual: [Tally::default(); 2],
            tallies: [Tally::default(); MAX_SILENCES + 1],
            even: None,
            reach: 0,
        }
    }

    /// Packet `number` of `group` arrived.
    pub fn heard(&mut self, group: Group, number: u16) {
        if number < self.reach {
            return;
        }
        self.even = Some(if number % 2 == 0 {
            group
        } else {
            group.other()
        });
        self.came_of[group.index()] = self.came_of[group.index()].saturating_add(1);
        if self.trial.group() == Some(group) {
            let class = self.class(group, number);
            if let Some(came) = self.came.get_mut(class) {
                *came = came.saturating_add(1);
            }
        }
    }
    fn class(&self, group: Group, number: u16) -> usize {
        match self.trial {
            Trial::Nothing => 0,
            Trial::Turns(_) => usize::from(self.roster.turn(group, number)),
            Trial::Candidates(..) => self.silent.class(group, number),
        }
    }

    /// A round of `stretch` under `setting` is over, of whose `sent` packets `came` came; the first `reach`
    /// packets of the object have been sent.
    pub fn round_over(
        &mut self,
        (stretch, setting): (Stretch, u8),
        (sent, came): (u16, u16),
        reach: u16,
    ) -> Verdict {
        let first = core::mem::replace(&mut self.reach, reach);
        let in_place = self.under.is_some_and(|(under, _)| under == setting);
        let kept = self.silent.kept();
        let verdict = match (self.trial, stretch) {
            (Trial::Turns(group), Stretch::Silences(told)) if in_place && told == group => {
                self.choose(first, group);
                Verdict::Nothing
            }
            (Trial::Candidates(group, stretches), Stretch::Packets(_) | Stretch::All)
                if in_place =>
            {
                let (sent, came) = self.judge(first, group, stretches + 1);
                match kept {
                    0 => Verdict::Usual(sent, came),
                    // One more now: nothing is known of that yet.
                    _ if self.silent.kept() > kept => Verdict::Without(sent, came),
                    _ => self.usual(sent, came),
                }
            }
            (trial, _) => {
                if let Trial::Turns(_) = trial {
                    // The source did not hear of it.
                    self.trial = Trial::Nothing;
                }
                if let Stretch::Packets(_) | Stretch::All = stretch {
                    self.usual = [Group::Odd, Group::Even].map(|group| self.tally(first, group));
                }
                match (stretch, in_place) {
                    (Stretch::Silences(_), _) => Verdict::Nothing,
                    (_, true) => self.usual(sent, came),
                    (_, false) => Verdict::Usual(sent, came),
                }
            }
        };
        (self.came, self.came_of, self.even) = ([0; MAX_TURNS], [0; 2], None);
        let trial = matches!(stretch, Stretch::Silences(_) | Stretch::Speakers);
        let lost_much = u32::from(came) * 3 < u32::from(sent) * 2;
        // In a trial some losses are the candidates', but not as many: the channel may have gone bad.
        let lost_most = u32::from(came) * 2 < u32::from(sent);
        if in_place
            && !trial
            && (lost_much && kept > 0 || lost_most && self.trial != Trial::Nothing)
        {
            self.give_up();
        }
        verdict
    }
    fn usual(&mut self, sent: u16, came: u16) -> Verdict {
        if self.silent.kept() > 0 {
            self.count.add(sent, came);
            Verdict::Without(sent, came)
        } else {
            Verdict::Usual(sent, came)
        }
    }
    fn give_up(&mut self) {
        (self.silent, self.trial, self.vain) = (Silent::NOBODY, Trial::Nothing, u8::MAX);
    }

    /// Packets from `first` on, sent for the first time in this round, of `group` and class `class` of
    /// `classes`.
    fn sent(&self, first: u16, group: Group, (class, classes): (usize, usize)) -> u16 {
        let of_it = |number: &u16| {
            let even = number % 2 == 0;
            let same = self.even.is_some_and(|g| (g == group) == even);
            same && usize::from(number / 2) % classes == class
        };
        u16::try_from((first..self.reach).filter(of_it).count()).unwrap_or(u16::MAX)
    }
    /// The same with what came of them.
    fn tally_of(&self, first: u16, group: Group, (class, classes): (usize, usize)) -> Tally {
        let sent = self.sent(first, group, (class, classes));
        let came = self.came.get(class).copied().unwrap_or(0).min(sent);
        Tally { sent, came }
    }
    /// Of all of `group`.
    fn tally(&self, first: u16, group: Group) -> Tally {
        let sent = self.sent(first, group, (0, 1));
        Tally {
            sent,
            came: self.came_of[group.index()].min(sent),
        }
    }

    /// Each of `group` was silent in turn: those without whom least was lost become candidates.
    fn choose(&mut self, first: u16, group: Group) {
        let turns = usize::from(self.roster.turns(group));
        let all = self.usual[group.index()];
        self.silent.drop_candidates();
        for most in 0..TURNS {
            for (relay, place) in (0..turns).zip(0u8..) {
                let of_it = self.tally_of(first, group, (relay, turns));
                let promises = of_it.sent >= TURNS / 2
                    && of_it.lost() == most
                    && 8 * u32::from(most) <= of_it.expected(all)
                    && !self.silent.keeps(group, place);
                if promises {
                    self.silent.add(Silence {
                        group,
                        relay: place,
                        standing: Standing::Candidate,
                    });
                }
            }
        }
        self.tallies = [Tally::default(); MAX_SILENCES + 1];
        self.trial = match self.silent.candidates() {
            0 => Trial::Nothing,
            _ => Trial::Candidates(group, 0),
        };
        if self.trial == Trial::Nothing {
            self.vain = self.vain.saturating_add(1);
        }
    }

    /// After so many stretches of candidates of `group` beside each other, the last of packets from `first`
    /// on: goes on with those that are better silent, or keeps one. What was sent and came without them.
    fn judge(&mut self, first: u16, group: Group, stretches: u8) -> (u16, u16) {
        let classes = self.silent.classes(group);
        let without = self.tally_of(first, group, (0, classes));
        let other = self.tally(first, group.other());
        for class in 0..classes {
            let of_it = self.tally_of(first, group, (class, classes));
            if let Some(tally) = self.tallies.get_mut(class) {
                tally.add(of_it);
            }
        }
        let mut left = self.silent.without_candidates();
        let mut tallies = [Tally::default(); MAX_SILENCES + 1];
        tallies[0] = self.tallies[0];
        let mut best: Option<(u32, u8)> = None;
        let mut number = 0;
        for (relay, tally) in self
            .silent
            .of(group, Standing::Candidate)
            .zip(&self.tallies[1..])
        {
            let expected = tally.expected(tallies[0]);
            let lost = 4 * u32::from(tally.lost());
            if lost * 4 > expected * 3 || expected == 0 {
                continue;
            }
            left.add(Silence {
                group,
                relay,
                standing: Standing::Candidate,
            });
            number += 1;
            tallies[number] = *tally;
            let gains = expected - lost;
            let judged = tally.sent >= JUDGED || stretches >= MOST_STRETCHES;
            if judged && best.is_none_or(|(most, _)| gains > most) {
                best = Some((gains, relay));
            }
        }
        (self.silent, self.tallies) = (left, tallies);
        if let Some((_, relay)) = best {
            self.silent.drop_candidates();
            self.silent.add(Silence {
                group,
                relay,
                standing: Standing::Kept,
            });
            (self.trial, self.vain, self.count) = (Trial::Nothing, 0, Count::default());
        } else if number == 0 {
            (self.trial, self.vain) = (Trial::Nothing, self.vain.saturating_add(1));
        } else {
            self.trial = Trial::Candidates(group, stretches);
        }
        // Of the other group as many as of this one, for both to weigh the same.
        let share = u32::from(other.came) * u32::from(without.sent) / u32::from(other.sent.max(1));
        (2 * without.sent, without.came + share as u16)
    }

    /// Under which setting to go on all the same where another one is thought to bring `best`: trials go on
    /// where they began, and who is kept silent may be worth more than other channels.
    pub fn holds(&self, best: u32) -> Option<u8> {
        let keeps = self.silent.kept() > 0;
        let better = self.count.is_empty() || self.count.estimate() >= best;
        let (under, _) = self.under?;
        (self.trial != Trial::Nothing || keeps && better).then_some(under)
    }

    /// Who is to be silent under a setting of the channels when so and so speak, and what comes next where that is a trial of senders, when `all`
    /// is known of what comes of it if nobody is silent and `missing` packets are to come.
    pub fn advise(
        &mut self,
        under: (u8, Directive),
        all: Count,
        missing: u16,
        next: Stretch,
    ) -> (Silent, Stretch) {
        if matches!(next, Stretch::Order(_) | Stretch::Speakers) {
            return (self.silent.without_candidates(), next);
        }
        if self.under != Some(under) {
            if self.under.is_none_or(|(setting, _)| setting != under.0) {
                self.vain = 0;
            }
            (self.silent, self.trial) = (Silent::NOBODY, Trial::Nothing);
            (self.under, self.count) = (Some(under), Count::default());
        }
        let keeps = self.silent.kept() > 0;
        if keeps && !self.count.is_empty() && self.count.estimate() <= all.estimate() {
            self.give_up();
        }
        let plenty = missing > 2 << STRETCH;
        match self.trial {
            Trial::Candidates(..) if plenty => return (self.silent, Stretch::Packets(STRETCH)),
            Trial::Candidates(..) => {
                self.silent.drop_candidates();
                (self.trial, self.vain) = (Trial::Nothing, u8::MAX);
            }
            Trial::Nothing | Trial::Turns(_) => {}
        }
        if keeps && self.count.is_empty() && plenty {
            // Whether it holds is seen soon.
            return (self.silent, Stretch::Packets(STRETCH));
        }
        let now = if keeps { self.count } else { all };
        let [odd, even] = self.usual.map(|tally| u32::from(tally.lost()));
        let group = if even > odd { Group::Even } else { Group::Odd };
        let pays = self.vain < 1
            && self.silent.kept() < MOST_KEPT
            && now.is_known()
            && plenty
            && Yields::loses(now, missing) > COST;
        if pays {
            self.trial = Trial::Turns(group);
            return (self.silent, Stretch::Silences(group));
        }
        (self.silent, next)
    }
}

#[cfg(test)]
mod tests;
