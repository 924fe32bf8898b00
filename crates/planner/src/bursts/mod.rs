//! What a survey tells of bursts: how much of the time a receiver is in one, what it loses then, and who is in it with it.
//!
//! Model: a receiver is in a burst or not. Outside it a strong link loses nothing, inside it each frame is lost with the same
//! probability. Two frames at one time at a receiver, and at two of them, then tell all numbers by their moments: of all frames
//! `m1 = share hit` are lost, of pairs of a receiver `m2 = share hit^2`, of pairs at two `m11 = share along hit^2` where one hears the
//! other, as relays of a chain do, and `share across hit^2` where both hear one sender, as relays of two chains do. The
//! numbers are of all links of a survey: one link alone has too few beacons. Which beacons were at one time depends on how
//! they were sent: in turns (`turns`), or in sweeps (`sweeps`). How many of them a burst outlasts is counted with.
//! Which receivers of a plan are in it: `together`. What it does to a transfer: `looks`. Tests: `tests`.

mod counts;
mod sweeps;
mod turns;

use crate::links::{LinkQualities, LinkQuality};
use crate::rules;
use counts::{heard, Heard, Told};
use sweeps::Sweeps;
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

    /// What links of `surveys` that are `strong` lost; none where too few beacons were sent over these. Where some of the
    /// surveys were sent in turns, these tell it.
    pub(crate) fn learned<'a>(
        surveys: impl IntoIterator<Item = &'a LinkQualities>,
        strong: impl Fn(&LinkQuality) -> bool,
    ) -> Option<Self> {
        let (mut turns, mut sweeps) = <(Turns, Sweeps)>::default();
        for links in surveys {
            let heard: Vec<Vec<Heard>> = (0..links.nodes())
                .map(|from| heard(links, from, &strong))
                .collect();
            let is_swept = |heard: &Heard| !heard.in_turns;
            let apart = links.beacons_apart();
            match heard.iter().flatten().any(is_swept) {
                true => sweeps.add(&heard, apart.unwrap_or(rules::SWEPT_APART)),
                false => turns.add(&heard, apart.unwrap_or(rules::BEACONS_APART)),
            }
        }
        let swept = || {
            let bursts = Self::of(sweeps.told()?);
            let hit = (bursts.hit * rules::EXPOSED).min(1.0);
            Some(Self { hit, ..bursts })
        };
        turns.told().map(Self::of).or_else(swept)
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

#[cfg(test)]
mod tests;
