//! What a survey tells of bursts: how much of the time a receiver is in one, what it loses then, and who is in it with it.
//!
//! Model: a receiver is in a burst or not. Outside it a strong link loses nothing, inside it each frame is lost with the same
//! probability. Two frames at one time at a receiver, and at two of them, then tell all numbers by their moments: of all frames
//! `m1 = share hit` are lost, of pairs of a receiver `m2 = share hit^2`, of pairs at two `m11 = share along hit^2` where one hears the
//! other, as relays of a chain do, and `share across hit^2` where both hear one sender, as relays of two chains do. The
//! numbers are of all links of a survey: one link alone has too few beacons. Which beacons were at one time depends on how
//! they were sent: in turns (`turns`), or in sweeps (`sweeps`). How many of them a burst outlasts is counted with. A survey meets
//! few bursts, so what is expected of them is found by parts of it, too ([`LearnedBursts`]).
//! Which receivers of a plan are in it: `together`. What it does to a transfer: `looks`. Tests: `tests`.

mod counts;
mod sweeps;
mod turns;

use crate::links::{LinkQualities, LinkQuality};
use crate::rules;
use counts::{heard, Heard, Told};
use sweeps::Sweeps;
use thalweg_units::Duration;
use turns::Turns;

/// Bursts of foreign traffic, as receivers meet them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bursts {
    /// Share of time in which a receiver is in one, 0..=1.
    pub share: f64,
    /// Share of frames that it loses then, 0..=1.
    pub hit: f64,
    /// Probability that who hears one that is in a burst is in it, too, 0..=1. A pair counts once for each channel on which
    /// it hears the other: chains have so many hops to choose from there.
    pub along: f64,
    /// The same of who hears the same sender, 0..=1.
    pub across: f64,
}

impl Bursts {
    /// There are none.
    pub const NONE: Self = Self {
        share: 0.0,
        hit: 0.0,
        along: 1.0,
        across: 1.0,
    };

    /// Share of all frames that are lost to them.
    pub fn outage(&self) -> f64 {
        self.share * self.hit
    }

    /// By moments of what was lost.
    fn of(Told { m1, m2, two }: Told) -> Self {
        if m1 <= 0.0 {
            return Self::NONE;
        }
        // Bursts cannot be on for more than all of the time. Where never two are lost together it is as good as that.
        let hit = (m2 / m1).clamp(m1.min(1.0), 1.0);
        let share = (m1 / hit).min(1.0);
        let [along, across] = two.map(|both| both.clamp(share, 1.0));
        Self {
            share,
            hit,
            along,
            across,
        }
    }

    /// Probability that a receiver is disturbed by what disturbs one that it hears, and one that hears the same: where it is not, both
    /// are in bursts by chance.
    pub(crate) fn kin(&self) -> [f64; 2] {
        [self.along, self.across].map(|both| match self.share < 1.0 {
            true => ((both - self.share) / (1.0 - self.share)).clamp(0.0, 1.0),
            false => 1.0,
        })
    }
}

/// What surveys tell of bursts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnedBursts {
    /// By all senders.
    pub all: Bursts,
    /// By all but one part: of eight, by the rest that a sender's index leaves.
    without: [Bursts; PARTS],
}

/// Parts of the senders. Four tell nearly as much, and 139 no more (a Monte Carlo of surveys in turns and in sweeps).
const PARTS: usize = 8;

impl From<Bursts> for LearnedBursts {
    /// These are known.
    fn from(known: Bursts) -> Self {
        Self::known(known)
    }
}

impl LearnedBursts {
    /// There are none.
    pub const NONE: Self = Self::known(Bursts::NONE);

    const fn known(bursts: Bursts) -> Self {
        Self {
            all: bursts,
            without: [bursts; PARTS],
        }
    }

    /// What links of `surveys` that are `strong` lost; none where too few beacons were sent over these.
    pub(crate) fn of<'a>(
        surveys: impl IntoIterator<Item = &'a LinkQualities>,
        strong: impl Fn(&LinkQuality) -> bool,
    ) -> Option<Self> {
        let counted = |links| Survey::counted(links, &strong);
        let surveys: Vec<Survey> = surveys.into_iter().map(counted).collect();
        let all = told(&surveys, |_| true)?;
        let without = std::array::from_fn(|part| told(&surveys, |node| node % PARTS != part));
        Some(Self {
            all,
            without: without.map(|told| told.unwrap_or(all)),
        })
    }

    /// What to expect where bursts come to `of`. What is rare is seldom in a straight line with what a survey counts, and a survey meets
    /// few bursts: by all of them alone it would be expected too seldom, on average over surveys. What a part adds tells by how
    /// much (the jackknife; Quenouille 1956).
    pub(crate) fn expect(&self, of: impl Fn(&Bursts) -> f64) -> f64 {
        let parts = PARTS as f64;
        let without: f64 = self.without.iter().map(&of).sum();
        parts * of(&self.all) - (parts - 1.0) / parts * without
    }
}

/// Beacons of a survey over strong links, by sender.
struct Survey {
    senders: Vec<Vec<Heard>>,
    apart: Option<Duration>,
}

impl Survey {
    fn counted(links: &LinkQualities, strong: impl Fn(&LinkQuality) -> bool) -> Self {
        let senders = (0..links.nodes()).map(|from| heard(links, from, &strong));
        Self {
            senders: senders.collect(),
            apart: links.beacons_apart(),
        }
    }
}

/// What beacons of senders that `counts` tell; none where they are too few. Where some of the surveys were sent in turns, these
/// tell it.
fn told(surveys: &[Survey], counts: impl Fn(usize) -> bool) -> Option<Bursts> {
    let (mut turns, mut sweeps) = <(Turns, Sweeps)>::default();
    for Survey { senders, apart } in surveys {
        match senders.iter().flatten().any(|heard| !heard.in_turns) {
            true => sweeps.add(senders, &counts, apart.unwrap_or(rules::SWEPT_APART)),
            false => turns.add(senders, &counts, apart.unwrap_or(rules::BEACONS_APART)),
        }
    }
    let swept = || {
        let bursts = Bursts::of(sweeps.told()?);
        let hit = rules::of_long_frames(bursts.hit);
        Some(Bursts { hit, ..bursts })
    };
    turns.told().map(Bursts::of).or_else(swept)
}

#[cfg(test)]
mod tests;
