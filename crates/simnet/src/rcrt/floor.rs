//! What a tree looks like, and floors drawn until theirs looks like the paper's (RCRT, figure 2).
//!
//! A floor is taken by its tree alone, as nodes find it without load; nothing that a run delivers counts.

use super::{Outcome, Pacing, Setup};
use crate::convergecast::RunError;
use serde::Deserialize;
use thalweg_testbeds::Site;

/// A tree's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Nodes without a route to a base station.
    pub lost: usize,
    /// Most links from a node to its base station.
    pub depth: u32,
    /// Nodes whose parent is a base station.
    pub children: usize,
    /// Nodes of the largest subtree below one of them, itself among them.
    pub largest: usize,
}

/// The accepted shapes: least and most of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Depth.
    pub depth: [u32; 2],
    /// Children of the base station; none for any.
    pub children: Option<[usize; 2]>,
    /// Nodes of the largest subtree; none for any.
    pub largest: Option<[usize; 2]>,
}

impl Wanted {
    /// Whether `shape` is accepted. All nodes have to be in the tree.
    pub fn takes(&self, shape: &Shape) -> bool {
        let within = |[least, most]: [usize; 2], n: usize| (least..=most).contains(&n);
        let [least, most] = self.depth;
        shape.lost == 0
            && (least..=most).contains(&shape.depth)
            && self
                .children
                .is_none_or(|range| within(range, shape.children))
            && self
                .largest
                .is_none_or(|range| within(range, shape.largest))
    }
}

impl Shape {
    /// The tree of `outcome` at second `at`.
    pub fn of(outcome: &Outcome, bases: &[usize], at: f64) -> Self {
        let nodes = outcome.parents.len();
        let others = || (0..nodes).filter(|n| !bases.contains(n));
        let depths: Vec<Option<u32>> = others().map(|n| outcome.depth(bases, n, at)).collect();
        let children: Vec<usize> = others()
            .filter(|n| outcome.depth(bases, *n, at) == Some(1))
            .collect();
        let below = |child: usize| {
            let is_below = |n: &usize| outcome.route(bases, *n, at).contains(&child);
            others().filter(is_below).count()
        };
        Self {
            lost: depths.iter().filter(|depth| depth.is_none()).count(),
            depth: depths.iter().flatten().copied().max().unwrap_or(0),
            children: children.len(),
            largest: children.iter().map(|c| below(*c)).max().unwrap_or(0),
        }
    }
    /// The tree that `setup`'s nodes find at `site` without load.
    ///
    /// # Errors
    /// As [`super::run`].
    pub fn unloaded(site: &Site, setup: &Setup, seed: u64) -> Result<Self, RunError> {
        let silent = Setup {
            flows: Vec::new(),
            incidents: Vec::new(),
            ..setup.clone()
        };
        let outcome = super::run(site, &silent, Pacing::Open, seed, None)?;
        Ok(Self::of(&outcome, &setup.bases, outcome.lasted))
    }
}
