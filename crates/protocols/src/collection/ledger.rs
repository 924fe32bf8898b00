//! The sink's account of reports received, and which node to ask next.

use crate::linkprobe::NodeList;
use thalweg_units::NodeId;
use thalweg_wire::report::Assignment;
use thalweg_wire::seal::frame::Sealing;

use super::pack::MAX_FRAMES;

/// The most slots in one round: what bounds the time after which losses are made good.
const MAX_SLOTS: u8 = 32;

#[derive(Debug, Clone, Copy)]
struct Record {
    /// Bit `f`: frame `f` arrived.
    got: u64,
    /// How many frames there are; `None` before the first one arrived.
    frames: Option<u8>,
    /// Rounds in a row that brought nothing.
    silent: u8,
    fate: Fate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Open,
    Complete,
    GivenUp { reported: bool },
}

/// A node whose report is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing {
    /// Which node.
    pub node: NodeId,
    /// How many frames of its report arrived.
    pub received: u8,
    /// How many there are; `None` where it never answered.
    pub frames: Option<u8>,
}

/// The slots of one round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    assignments: [Option<(Assignment, u16)>; Assignment::MAX],
    pub(crate) len: usize,
    pub(crate) slots: u8,
    /// Somebody is asked again who was silent.
    pub(crate) has_silent: bool,
}

impl Round {
    const EMPTY: Self = Self {
        assignments: [None; Assignment::MAX],
        len: 0,
        slots: 0,
        has_silent: false,
    };

    pub(crate) fn assignments(&self) -> impl Iterator<Item = &Assignment> {
        let assigned = self.assignments.iter().flatten();
        assigned.map(|(assignment, _)| assignment)
    }
}

/// The account of one collection.
#[derive(Debug, Clone)]
pub(crate) struct Ledger<const NODES: usize> {
    pub(crate) nodes: NodeList<NODES>,
    records: [Record; NODES],
    tries: u8,
    cursor: usize,
    round: Round,
    /// How many reports are complete.
    pub(crate) complete: u16,
}

impl<const NODES: usize> Ledger<NODES> {
    /// Reports are wanted of `nodes`; one that is silent `tries` times in a row is given up.
    pub(crate) fn new(nodes: NodeList<NODES>, tries: u8) -> Self {
        let record = Record {
            got: 0,
            frames: None,
            silent: 0,
            fate: Fate::Open,
        };
        Self {
            nodes,
            records: [record; NODES],
            tries: tries.max(1),
            cursor: 0,
            round: Round::EMPTY,
            complete: 0,
        }
    }
    pub(crate) fn includes(&self, node: NodeId) -> bool {
        self.index_of(node).is_some()
    }
    fn index_of(&self, node: NodeId) -> Option<usize> {
        self.nodes.as_slice().iter().position(|n| *n == node)
    }
    fn used(&mut self) -> &mut [Record] {
        &mut self.records[..usize::from(self.nodes.len())]
    }
    /// How many nodes were given up.
    pub(crate) fn given_up(&mut self) -> u16 {
        let is_given_up = |r: &&mut Record| matches!(r.fate, Fate::GivenUp { .. });
        self.used().iter_mut().filter(is_given_up).count() as u16
    }

    /// Takes frame `frame` of `frames` of `node`'s report; `true` where it is news.
    pub(crate) fn accept(&mut self, node: NodeId, frame: u8, frames: u8) -> bool {
        let Some(index) = self.index_of(node) else {
            return false;
        };
        let record = &mut self.records[index];
        let contradicts = record.frames.is_some_and(|f| f != frames);
        if frame >= frames || frames > MAX_FRAMES || contradicts || record.got & 1 << frame != 0 {
            return false;
        }
        record.got |= 1 << frame;
        record.frames = Some(frames);
        record.silent = 0;
        if record.got.count_ones() == u32::from(frames) && record.fate == Fate::Open {
            record.fate = Fate::Complete;
            self.complete += 1;
        }
        true
    }

    /// Ends the round before and assigns the slots of the next one; `None` when no more is to be
    /// asked.
    pub(crate) fn next_round(&mut self, sealing: Sealing) -> Option<&Round> {
        // What seals the schedule takes room of it.
        let most = Assignment::MAX - sealing.trailer_bytes() / Assignment::BYTES;
        self.close_round();
        self.round = Round::EMPTY;
        let n = usize::from(self.nodes.len());
        for step in 0..n {
            let index = (self.cursor + step) % n;
            if self.round.len == most || self.round.slots >= MAX_SLOTS {
                self.cursor = index;
                break;
            }
            let record = &self.records[index];
            if record.fate != Fate::Open {
                continue;
            }
            let first = record.got.trailing_ones() as u8;
            let gap = (record.got >> first).trailing_zeros();
            let count = match record.frames {
                None => 1,
                Some(frames) => gap.min(u32::from(frames - first)) as u8,
            };
            let count = count.min(MAX_SLOTS - self.round.slots);
            let assignment = Assignment {
                node: self.nodes.as_slice()[index],
                first,
                count,
            };
            let before = record.got.count_ones() as u16;
            self.round.assignments[self.round.len] = Some((assignment, before));
            self.round.len += 1;
            self.round.slots += count;
            self.round.has_silent |= record.silent > 0;
        }
        (self.round.len > 0).then_some(&self.round)
    }

    fn close_round(&mut self) {
        for (assignment, before) in self.round.assignments.iter().flatten() {
            let Some(index) = self.index_of(assignment.node) else {
                continue;
            };
            let record = &mut self.records[index];
            if record.got.count_ones() as u16 > *before || record.fate != Fate::Open {
                continue;
            }
            record.silent += 1;
            if record.silent >= self.tries {
                record.fate = Fate::GivenUp { reported: false };
            }
        }
    }

    /// The next node that was given up and not reported yet.
    pub(crate) fn poll_missing(&mut self) -> Option<Missing> {
        let unreported = Fate::GivenUp { reported: false };
        let index = self.used().iter().position(|r| r.fate == unreported)?;
        let record = &mut self.records[index];
        record.fate = Fate::GivenUp { reported: true };
        Some(Missing {
            node: self.nodes.as_slice()[index],
            received: record.got.count_ones() as u8,
            frames: record.frames,
        })
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
