//! How a packet spreads from stage to stage: which nodes of a stage hold it.

use super::{Hop, EXACT};
use crate::interference::{Layout, Stages};

/// How packets fare on their way down one group's stages.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chain {
    /// Per hop: the probability that a packet which reached the stage before reaches the next.
    pub(crate) hops: Vec<f64>,
    /// Probability that it reaches the last stage.
    pub(crate) end: f64,
    /// Expected senders over all stages but the first, per packet.
    pub(crate) relayed: f64,
}

/// Follows a packet from `stages[0]`, all of whose members hold it, to the last stage; `hop` gives the probability
/// that a frame arrives, by the index of the receivers' stage, the senders and the receiver.
pub(crate) fn chain(stages: &[Vec<usize>], hop: impl Fn(usize, &[usize], usize) -> f64) -> Chain {
    let mut hops = Vec::new();
    let mut relayed = 0.0;
    let first = stages.first().map_or(0, Vec::len);
    let mut holders = Holders::all(first);
    let mut alive = 1.0;
    for (at, pair) in stages.windows(2).enumerate() {
        let (senders, receivers) = (&pair[0], &pair[1]);
        holders = holders.onward(senders, receivers, &|senders, to| hop(at + 1, senders, to));
        let now = holders.any();
        hops.push(if alive > 0.0 { now / alive } else { 0.0 });
        alive = now;
        relayed += holders.mean();
    }
    // The last stage receives only.
    relayed -= holders.mean();
    Chain {
        hops,
        end: alive,
        relayed,
    }
}

/// Both directions of `group`, whose members are `stages`, source to sink.
pub(crate) fn both_ways(layout: &Layout<'_>, group: usize, stages: &Stages) -> (Chain, Chain) {
    let last = stages.len().saturating_sub(1);
    let back: Vec<Vec<usize>> = stages.iter().rev().cloned().collect();
    (
        chain(stages, |stage, senders, to| {
            layout.forward(group, stage, senders, to)
        }),
        chain(&back, |at, senders, to| {
            layout.backward(group, last - at, senders, to)
        }),
    )
}

/// Which relays of a stage hold a packet.
enum Holders {
    /// The probability of every set, by bit mask.
    Sets(Vec<f64>),
    /// The probability of every member on its own.
    Each(Vec<f64>),
}

impl Holders {
    fn all(members: usize) -> Self {
        if members > EXACT {
            return Self::Each(vec![1.0; members]);
        }
        let mut sets = vec![0.0; 1 << members];
        sets[(1 << members) - 1] = 1.0;
        Self::Sets(sets)
    }
    pub(super) fn any(&self) -> f64 {
        match self {
            Self::Sets(sets) => sets[1..].iter().sum(),
            Self::Each(each) => 1.0 - each.iter().map(|p| 1.0 - p).product::<f64>(),
        }
    }
    pub(super) fn mean(&self) -> f64 {
        match self {
            Self::Sets(sets) => {
                let mean = |(set, p): (usize, &f64)| f64::from(set.count_ones()) * p;
                sets.iter().enumerate().map(mean).sum()
            }
            Self::Each(each) => each.iter().sum(),
        }
    }
    /// Each member's own probability.
    fn marginals(&self, members: usize) -> Vec<f64> {
        match self {
            Self::Each(each) => each.clone(),
            Self::Sets(sets) => {
                let holds = |at: usize| {
                    let sets = sets.iter().enumerate();
                    sets.filter(move |(set, _)| set >> at & 1 == 1)
                };
                (0..members)
                    .map(|at| holds(at).map(|(_, p)| p).sum())
                    .collect()
            }
        }
    }
    fn onward(&self, senders: &[usize], receivers: &[usize], hop: Hop<'_>) -> Self {
        let sets = match self {
            Self::Sets(sets) if receivers.len() <= EXACT => sets,
            _ => {
                let held = self.marginals(senders.len());
                return Self::independent(&held, senders, receivers, hop);
            }
        };
        let mut onward = vec![0.0; 1 << receivers.len()];
        let mut speaking = Vec::with_capacity(senders.len());
        for (set, &p) in sets.iter().enumerate() {
            if p <= 0.0 {
                continue;
            }
            speaking.clear();
            let in_set = (senders.iter().enumerate()).filter(|(at, _)| set >> at & 1 == 1);
            speaking.extend(in_set.map(|(_, &node)| node));
            // The distribution over sets of receivers, built up receiver by receiver.
            let mut spread = vec![p];
            for &receiver in receivers {
                let r = hop(&speaking, receiver);
                for at in 0..spread.len() {
                    spread.push(spread[at] * r);
                    spread[at] *= 1.0 - r;
                }
            }
            for (to, p) in onward.iter_mut().zip(spread) {
                *to += p;
            }
        }
        Self::Sets(onward)
    }
    /// The same, senders taken as independent of each other: a receiver's chance is that of the
    /// senders' expected PRR, beaten by all that reach it.
    fn independent(held: &[f64], senders: &[usize], receivers: &[usize], hop: Hop<'_>) -> Self {
        let each: Vec<f64> = (receivers.iter())
            .map(|&to| {
                let alone: Vec<f64> = senders.iter().map(|&from| hop(&[from], to)).collect();
                let missed: f64 = (alone.iter().zip(held)).map(|(q, p)| 1.0 - p * q).product();
                let unbeaten: f64 = 1.0 - alone.iter().map(|q| 1.0 - q).product::<f64>();
                let beats = match unbeaten > 0.0 {
                    true => hop(senders, to) / unbeaten,
                    false => 1.0,
                };
                (1.0 - missed) * beats
            })
            .collect();
        if each.len() > EXACT {
            return Self::Each(each);
        }
        let mut sets = vec![1.0];
        for p in each {
            let got: Vec<f64> = sets.iter().map(|q| q * p).collect();
            for q in &mut sets {
                *q *= 1.0 - p;
            }
            sets.extend(got);
        }
        Self::Sets(sets)
    }
}
