//! Packets of two groups that a burst takes, one packet a cycle after the other.
//!
//! In a cycle every stage receives, each another packet. So a foreign frame takes a packet of each stage that it disturbs,
//! and those follow each other: half of them are of each group. Losses come together, and both groups have them at once, but
//! where stages are disturbed by different frames ([`Foreign::Apart`]): each loses then for itself. Tests: `looks`.

use crate::together::{Foreign, Inside};

/// A burst that takes a share `hit` of the frames at the last stages of each of so many `groups`.
pub(crate) struct Burst {
    pub(crate) hit: f64,
    pub(crate) inside: Inside,
    pub(crate) groups: usize,
}

impl Burst {
    /// Before the first packet. Packets lost are told apart up to `most` of a group.
    pub(crate) fn begin(&self, most: usize) -> Losses<'_> {
        let stages = match self.inside.foreign {
            Foreign::Common => self.inside.stages[0].max(self.inside.stages[1]),
            Foreign::Apart => 0,
        };
        let mut by = vec![Lost::never(most); stages + 1];
        by[stages] = Lost::nothing(most);
        let mut losses = Losses {
            burst: self,
            by,
            packet: 0,
        };
        (1..stages).for_each(|_| losses.cycle());
        losses
    }
}

/// What has become of the packets up to one.
pub(crate) struct Losses<'a> {
    burst: &'a Burst,
    /// By cycles since the last foreign frame; in the last place it is too long ago for any packet. Where each packet is lost for
    /// itself there is nothing else.
    by: Vec<Lost>,
    packet: usize,
}

impl Losses<'_> {
    fn cycle(&mut self) {
        let hit = self.burst.hit;
        // Too long ago for any packet is the last, and stays it.
        let Some(last) = self.by.len().checked_sub(1).filter(|last| *last > 0) else {
            return;
        };
        let now = Lost::sum(&self.by, hit);
        let Some(mut long_ago) = self.by.pop() else {
            return;
        };
        long_ago.add(&self.by[last - 1], 1.0);
        self.by[last - 1] = long_ago;
        self.by.iter_mut().for_each(|since| since.scale(1.0 - hit));
        self.by.insert(0, now);
    }
    /// So many more packets, of both groups by turns.
    pub(crate) fn send(&mut self, packets: u32) {
        for _ in 0..packets {
            self.cycle();
            let group = self.packet % 2;
            self.packet += 1;
            if group >= self.burst.groups {
                continue;
            }
            let stages = self.burst.inside.stages[group];
            if self.burst.inside.foreign == Foreign::Common {
                self.by[..stages]
                    .iter_mut()
                    .for_each(|since| since.lose(group));
                continue;
            }
            let arrives = libm::pow(1.0 - self.burst.hit, stages as f64);
            for of in &mut self.by {
                let mut lost = of.clone();
                lost.lose(group);
                of.scale(arrives);
                of.add(&lost, 1.0 - arrives);
            }
        }
    }
    /// Leaves only what is where either group has lost so many.
    pub(crate) fn keep_from(&mut self, lost: usize) {
        self.by.iter_mut().for_each(|since| since.keep_from(lost));
    }
    pub(crate) fn lost(&self) -> Lost {
        Lost::sum(&self.by, 1.0)
    }
}

/// Probabilities that so many packets of each of two groups are lost, the last being so many or more.
#[derive(Clone)]
pub(crate) struct Lost {
    most: usize,
    /// By packets of one group, and of the other.
    chances: Vec<f64>,
}

impl Lost {
    fn never(most: usize) -> Self {
        let chances = vec![0.0; (most + 1) * (most + 1)];
        Self { most, chances }
    }
    fn nothing(most: usize) -> Self {
        let mut nothing = Self::never(most);
        nothing.chances[0] = 1.0;
        nothing
    }
    /// So much of all of these.
    fn sum(all: &[Self], weight: f64) -> Self {
        let mut sum = Self::never(all.first().map_or(0, |one| one.most));
        all.iter().for_each(|one| sum.add(one, weight));
        sum
    }
    fn scale(&mut self, by: f64) {
        self.chances.iter_mut().for_each(|chance| *chance *= by);
    }
    fn add(&mut self, other: &Self, weight: f64) {
        for (to, from) in self.chances.iter_mut().zip(&other.chances) {
            *to += weight * from;
        }
    }
    /// One more of a group.
    fn lose(&mut self, group: usize) {
        let places = self.most + 1;
        // From one count of this group to the next, and of the other.
        let (step, other) = if group == 0 { (places, 1) } else { (1, places) };
        for line in (0..places).map(|count| count * other) {
            let at = |lost: usize| line + lost * step;
            let most = self.chances[at(self.most)];
            for lost in (1..places).rev() {
                self.chances[at(lost)] = self.chances[at(lost - 1)];
            }
            self.chances[at(self.most)] += most;
            self.chances[line] = 0.0;
        }
    }
    fn keep_from(&mut self, lost: usize) {
        let places = self.most + 1;
        for (at, chance) in self.chances.iter_mut().enumerate() {
            if (at / places).max(at % places) < lost {
                *chance = 0.0;
            }
        }
    }
    /// Probability that either group has lost so many.
    pub(crate) fn either(&self, lost: [usize; 2]) -> f64 {
        self.mean(|counts| counts[0] >= lost[0] || counts[1] >= lost[1])
    }
    /// Probability that this group has.
    pub(crate) fn of_group(&self, group: usize, lost: usize) -> f64 {
        self.mean(|counts| counts[group] >= lost)
    }
    fn mean(&self, of: impl Fn([usize; 2]) -> bool) -> f64 {
        let places = self.most + 1;
        let chances = self.chances.iter().enumerate();
        chances
            .filter(|(at, _)| of([at / places, at % places]))
            .map(|(_, chance)| chance)
            .sum()
    }
}
