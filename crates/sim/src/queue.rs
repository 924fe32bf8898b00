//! The event queue: a binary heap on (time, rank, sequence), and the slab that events refer to.
//!
//! Order at one instant, declared once for the whole simulator: what ends on the air, then what
//! receivers and senders turn to, then what begins on the air, then what is read out of frames
//! still coming in, then what software is done with, then what engines are told, then their time-outs ([`Rank`]). Within one rank,
//! events happen in the order in which they were caused. Time base: [`SimTime`]. No allocation in
//! steady state. Tests: at the end of this file.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use thalweg_units::SimTime;

/// The order of events of one instant, first to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Rank {
    /// The last symbol of a frame.
    AirEnd,
    /// A receiver is tuned, a transmission is strobed, an oscillator starts.
    Turn,
    /// The first symbol of a frame.
    AirStart,
    /// The first bytes of a frame are there.
    Head,
    /// A microcontroller is done with something.
    Software,
    /// An engine is told something.
    Tell,
    /// An engine's time-out.
    Timeout,
}

struct Entry<T> {
    at: SimTime,
    /// Rank in the top byte, sequence number below it.
    order: u64,
    what: T,
}

impl<T> Entry<T> {
    fn key(&self) -> (SimTime, u64) {
        (self.at, self.order)
    }
}
// Reversed, because the standard heap gives its greatest first.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}
impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl<T> Eq for Entry<T> {}

/// What is to happen, soonest first.
pub(crate) struct Queue<T> {
    heap: BinaryHeap<Entry<T>>,
    sequence: u64,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            sequence: 0,
        }
    }
    /// `what` happens at `at`, among the events of that instant at its `rank`.
    pub(crate) fn push(&mut self, at: SimTime, rank: Rank, what: T) {
        // 2^56 events are centuries of computing: the sequence never reaches the rank's byte.
        let order = u64::from(rank as u8) << 56 | self.sequence;
        self.sequence += 1;
        self.heap.push(Entry { at, order, what });
    }
    /// The next event, and when.
    pub(crate) fn peek(&self) -> Option<(SimTime, &T)> {
        self.heap.peek().map(|entry| (entry.at, &entry.what))
    }
    /// Takes the next event.
    pub(crate) fn pop(&mut self) -> Option<(SimTime, T)> {
        self.heap.pop().map(|entry| (entry.at, entry.what))
    }
}

/// Values with small stable names, kept while events refer to them.
pub(crate) struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
    /// Keeps `value`.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(name) = self.free.pop() {
            self.slots[name as usize] = Some(value);
            return name;
        }
        self.slots.push(Some(value));
        (self.slots.len() - 1) as u32
    }
    /// Gives the value back; its name may be given again.
    pub(crate) fn remove(&mut self, name: u32) -> Option<T> {
        let value = self.slots.get_mut(name as usize)?.take();
        if value.is_some() {
            self.free.push(name);
        }
        value
    }
    pub(crate) fn get(&self, name: u32) -> Option<&T> {
        self.slots.get(name as usize)?.as_ref()
    }
    pub(crate) fn get_mut(&mut self, name: u32) -> Option<&mut T> {
        self.slots.get_mut(name as usize)?.as_mut()
    }
    /// How many are kept.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_then_rank_then_cause() {
        let mut queue = Queue::new();
        let at = SimTime::from_nanos;
        queue.push(at(5), Rank::Timeout, "timeout");
        queue.push(at(5), Rank::Tell, "told first");
        queue.push(at(5), Rank::Tell, "told second");
        queue.push(at(5), Rank::AirStart, "start");
        queue.push(at(5), Rank::AirEnd, "end");
        queue.push(at(4), Rank::Timeout, "earlier");
        queue.push(at(5), Rank::Turn, "tune");
        let order: Vec<_> = std::iter::from_fn(|| queue.pop())
            .map(|(_, what)| what)
            .collect();
        assert_eq!(
            order,
            [
                "earlier",
                "end",
                "tune",
                "start",
                "told first",
                "told second",
                "timeout"
            ]
        );
    }

    #[test]
    fn a_slab_gives_names_again_only_after_their_end() {
        let mut slab = Slab::new();
        let (a, b) = (slab.insert('a'), slab.insert('b'));
        assert_eq!(slab.remove(a), Some('a'));
        assert_eq!(slab.remove(a), None);
        let c = slab.insert('c');
        assert_eq!((c, slab.get(b), slab.get(c)), (a, Some(&'b'), Some(&'c')));
        assert_eq!(slab.len(), 2);
    }
}
