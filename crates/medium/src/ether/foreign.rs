//! Foreign traffic: bursts raise the power at every ear of their floor when they begin, and lower it when they end.
//!
//! The same processes as [`crate::Medium`]'s, with the same draws. What is due is carried out before anything else
//! happens on the air, in the order of time. Tests: `../tests/same_air.rs`.

use super::reach::Reach;
use super::tally::{grains, Grains};
use super::Ether;
use crate::interference::{Burst, Bursts, Interference};
use crate::random::derive;
use std::collections::VecDeque;

/// Bursts are looked for this much time ahead, nanoseconds.
const AHEAD: u64 = 50_000_000;

/// A source of bursts and the ears that it reaches.
#[derive(Debug)]
struct Source {
    /// In [`Bursts`].
    place: usize,
    /// The places of ears, and what they get of it.
    ears: Vec<(u32, Grains)>,
    /// Its next bursts, the first perhaps on.
    bursts: VecDeque<Burst>,
    is_on: bool,
    /// Bursts that begin before this are in the list, or over.
    known_to: u64,
}

impl Source {
    /// When something is to be done next.
    fn next(&self) -> u64 {
        match self.bursts.front() {
            Some((_, end)) if self.is_on => *end,
            Some((begin, _)) => *begin,
            None => self.known_to,
        }
    }
}

/// All foreign traffic on the air's channel.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    interference: Interference,
    bursts: Bursts,
    sources: Vec<Source>,
    /// By the ear's place: its source, and what it gets of it.
    of_ear: Vec<Option<(u32, Grains)>>,
    /// When something is to be done next.
    next: u64,
}

impl Foreign {
    pub(super) fn new(reach: &Reach, seed: u64) -> Self {
        let interference = reach.interference.clone();
        let mut foreign = Self {
            bursts: Bursts::new(&interference, derive(seed, "interference", &[])),
            next: u64::MAX,
            ..Self::default()
        };
        for e in 0..reach.len() as u32 {
            let ear = reach.order.ear(e).0 as usize;
            let at = interference.at(ear, reach.channel);
            let at = at.filter(|(_, power)| *power > 0.0);
            foreign.of_ear.push(at.map(|(place, power)| {
                let known = foreign.sources.iter().position(|s| s.place == place);
                let number = known.unwrap_or_else(|| {
                    foreign.sources.push(Source {
                        place,
                        ears: Vec::new(),
                        bursts: VecDeque::new(),
                        is_on: false,
                        known_to: 0,
                    });
                    foreign.sources.len() - 1
                });
                foreign.sources[number].ears.push((e, grains(power)));
                foreign.next = 0;
                (number as u32, grains(power))
            }));
        }
        Self {
            interference,
            ..foreign
        }
    }

    /// What ear `e` gets of foreign traffic at present.
    pub(super) fn power(&self, e: usize) -> Grains {
        let Some((number, power)) = self.of_ear.get(e).copied().flatten() else {
            return 0;
        };
        let source = self.sources.get(number as usize);
        source.map_or(0, |source| if source.is_on { power } else { 0 })
    }
}

impl Ether {
    /// Carries out what foreign traffic did up to `now`.
    #[inline]
    pub(super) fn catch_up(&mut self, now: u64) {
        if self.foreign.next <= now {
            self.carry_out(now);
        }
    }

    fn carry_out(&mut self, now: u64) {
        while self.foreign.next <= now {
            let at = self.foreign.next;
            let due = (self.foreign.sources.iter()).position(|source| source.next() == at);
            let Some(number) = due else { break };
            let (mut ears, by) = self.edge(number);
            if let Some(by) = by {
                for &(e, power) in &ears {
                    self.shift(at, e as usize, power * by);
                }
            }
            if let Some(source) = self.foreign.sources.get_mut(number) {
                core::mem::swap(&mut source.ears, &mut ears);
                // Up to here it was as before: losses have the cause that was on the air.
                source.is_on = by == Some(1);
            }
            let next = self.foreign.sources.iter().map(Source::next).min();
            self.foreign.next = next.unwrap_or(u64::MAX);
        }
    }

    /// The next step of a source: its ears, to be given back, and whether their power rises or falls.
    fn edge(&mut self, number: usize) -> (Vec<(u32, Grains)>, Option<Grains>) {
        let Foreign {
            interference,
            bursts,
            sources,
            ..
        } = &mut self.foreign;
        let Some(source) = sources.get_mut(number) else {
            return (Vec::new(), None);
        };
        let by = match (source.is_on, source.bursts.is_empty()) {
            (true, _) => {
                source.bursts.pop_front();
                Some(-1)
            }
            (false, false) => Some(1),
            (false, true) => {
                let (from, to) = (source.known_to, source.known_to + AHEAD);
                let list = &mut source.bursts;
                bursts.overlapping(interference, source.place, from, to, |burst| {
                    if burst.0 >= from {
                        list.push_back(burst);
                    }
                });
                source.known_to = to;
                None
            }
        };
        (core::mem::take(&mut source.ears), by)
    }
}
