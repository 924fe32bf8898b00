//! What a kind of run is to the rest.
//!
//! A kind is a struct of keys, declared with `keys!`, and an `impl` of [`Kind`]; `KINDS` in `mod.rs`
//! names it. What `experiments/README.md` says of kinds, keys and columns is what they declare.

use super::context::RunContext;
use super::explained::Explained;
use super::sites::Sites;
use super::Result;
use crate::results::{columns, Column, Row};
use std::fmt::{Debug, Display};
use std::ops::RangeInclusive;
use thalweg_sim::Capture;
use thalweg_wire::phy;

/// What an experiment runs, with everything said that a file says of it.
pub trait Kind: Debug + Send + Sync {
    /// Every column that its rows may have.
    fn columns() -> Vec<Column>
    where
        Self: Sized;

    /// Whether its values go together; each is in its own range.
    ///
    /// # Errors
    /// The key and what was expected, on one line.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Parts per seed that progress is counted in.
    fn parts(&self) -> u64;

    /// What is observed with `seed`, in an order that does not depend on threads.
    fn rows(&self, seed: u64, context: &RunContext<'_>) -> Result<Vec<Row>>;

    /// The rows of a seed whose network does not have what it needs; none where that fails the whole run.
    fn rows_without(&self, _seed: u64, _why: &str) -> Option<Vec<Row>> {
        None
    }

    /// The key that names the network, with a dot after the table that it is in; none where there is none.
    fn testbed_key(&self) -> Option<&'static str> {
        Some("testbed")
    }

    /// The same of the key that says how many routes (or links, or sources) a seed has.
    fn routes_key(&self) -> Option<&'static str> {
        None
    }

    /// Frames (bytes, FCS included) that a share of losses injected on links is of: those of data, full,
    /// or the longest where their length varies. None where no such losses can be.
    fn lossy_frame_bytes(&self) -> Option<usize> {
        self.testbed_key().map(|_| phy::MAX_PSDU)
    }

    /// What it draws routes by, where it may find fewer than were asked for, such as "6 hops at most, 3 paths".
    fn sought(&self) -> Option<String> {
        None
    }

    /// Tells where packets were lost, where it can.
    fn explains(&self) -> Option<&dyn Explains> {
        None
    }

    /// Writes frames, where it can.
    fn captures(&self) -> Option<&dyn Captures> {
        None
    }
}

/// A kind whose packets can be followed.
pub trait Explains: Sync {
    /// Its transfers with `seed` again, watched.
    fn explain(&self, seed: u64, context: &RunContext<'_>) -> Result<Explained>;
}

/// A kind whose frames can be written.
pub trait Captures {
    /// The testbed of its runs, by name or file.
    fn testbed(&self) -> &str;

    /// Its first run with `seed` once more, its frames written to `capture`.
    fn capture(&self, seed: u64, sites: &Sites, capture: Box<dyn Capture>) -> Result<()>;
}

/// The seed's column, and those of `lists`.
pub(super) fn with_seed(lists: &[&[Column]]) -> Vec<Column> {
    const OF_SEED: &[Column] = columns! {
        seed: Whole, "The seed.";
    };
    [OF_SEED, &lists.concat()].concat()
}

/// Each of `outer` with each of `inner`, which change faster.
pub(super) fn pairs<A: Clone, B: Clone>(outer: &[A], inner: &[B]) -> Vec<(A, B)> {
    let all = outer.iter().flat_map(|a| inner.iter().map(move |b| (a, b)));
    all.map(|(a, b)| (a.clone(), b.clone())).collect()
}

/// One case for each of `list`, or one without any.
pub(super) fn or_none<T: Clone>(list: &[T]) -> Vec<Option<T>> {
    match list {
        [] => vec![None],
        list => list.iter().cloned().map(Some).collect(),
    }
}

/// `ok`, or what `key` was expected to be.
pub(super) fn expect(key: &str, ok: bool, range: &str) -> Result<(), String> {
    match ok {
        true => Ok(()),
        false => Err(format!("run.{key}: expected {range}")),
    }
}

/// Whether `values` of `key` lie in `range`.
pub(super) fn within<T: PartialOrd + Display>(
    key: &str,
    values: &[T],
    range: RangeInclusive<T>,
) -> Result<(), String> {
    let wanted = format!("{} to {}", range.start(), range.end());
    expect(key, values.iter().all(|v| range.contains(v)), &wanted)
}
