//! The event queue: a heap on (time, rank, sequence), and the slab that events refer to.
//!
//! Order at one instant, declared once for the whole simulator: what ends on the air, then what
//! receivers and senders turn to, then what begins on the air, then what is read out of frames
//! still coming in, then finished software, then notices to engines, then their time-outs ([`Rank`]). Within one rank,
//! events happen in the order in which they were caused. Time base: [`SimTime`]. No allocation in
//! steady state. Tests: `queue_tests.rs`.

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
    /// An engine gets a notice.
    Notify,
    /// An engine's time-out.
    Timeout,
}

#[derive(Clone, Copy)]
struct Entry<T> {
    /// Nanoseconds in the upper half; below them the rank in the top byte, the sequence number under
    /// it. One comparison.
    key: u128,
    what: T,
}

/// What is to happen, soonest first.
pub(crate) struct Queue<T> {
    /// No entry is sooner than its parent: that of the entry at `k` is at `(k - 1) / 2`.
    heap: Vec<Entry<T>>,
    sequence: u64,
}

impl<T: Copy> Queue<T> {
    pub(crate) fn new() -> Self {
        Self {
            heap: Vec::new(),
            sequence: 0,
        }
    }
    /// `what` happens at `at`, among the events of that instant at its `rank`.
    #[inline]
    pub(crate) fn push(&mut self, at: SimTime, rank: Rank, what: T) {
        // 2^56 events are centuries of computing: the sequence never reaches the rank's byte.
        let order = u64::from(rank as u8) << 56 | self.sequence;
        self.sequence += 1;
        let key = u128::from(at.as_nanos()) << 64 | u128::from(order);
        let entry = Entry { key, what };
        self.heap.push(entry);
        self.rise(self.heap.len() - 1, entry);
    }
    /// Puts `entry` at `place`, which is free, or at the place of the last of those above that are
    /// later.
    #[inline]
    fn rise(&mut self, mut place: usize, entry: Entry<T>) {
        while place > 0 {
            let above = (place - 1) / 2;
            let parent = self.heap[above];
            if parent.key < entry.key {
                break;
            }
            self.heap[place] = parent;
            place = above;
        }
        self.heap[place] = entry;
    }
    /// Takes out all that `keep` does not want.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.heap.retain(|entry| keep(&entry.what));
        // A sorted list is a heap.
        self.heap.sort_unstable_by_key(|entry| entry.key);
    }
    /// The next event, and when.
    pub(crate) fn peek(&self) -> Option<(SimTime, &T)> {
        self.heap.first().map(|entry| (entry.at(), &entry.what))
    }
    /// Takes the next event.
    pub(crate) fn pop(&mut self) -> Option<(SimTime, T)> {
        let last = self.heap.pop()?;
        let Some(&next) = self.heap.first() else {
            return Some((last.at(), last.what));
        };
        // The last one belongs near the bottom again: down there without comparing with it, the sooner
        // child each time, chosen without a branch, and up from there.
        let (mut place, mut child, length) = (0, 1, self.heap.len());
        while child + 1 < length {
            child += usize::from(self.heap[child + 1].key < self.heap[child].key);
            self.heap[place] = self.heap[child];
            place = child;
            child = 2 * place + 1;
        }
        if child + 1 == length {
            self.heap[place] = self.heap[child];
            place = child;
        }
        self.rise(place, last);
        Some((next.at(), next.what))
    }
}

impl<T> Entry<T> {
    fn at(&self) -> SimTime {
        SimTime::from_nanos((self.key >> 64) as u64)
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
    #[inline(always)]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(name) = self.free.pop() {
            self.slots[name as usize] = Some(value);
            return name;
        }
        self.slots.push(Some(value));
        (self.slots.len() - 1) as u32
    }
    /// Forgets the value; its name may be given again.
    #[inline]
    pub(crate) fn free(&mut self, name: u32) {
        if let Some(slot @ Some(_)) = self.slots.get_mut(name as usize) {
            *slot = None;
            self.free.push(name);
        }
    }
    #[inline]
    pub(crate) fn get(&self, name: u32) -> Option<&T> {
        self.slots.get(name as usize)?.as_ref()
    }
    pub(crate) fn get_mut(&mut self, name: u32) -> Option<&mut T> {
        self.slots.get_mut(name as usize)?.as_mut()
    }
    /// All that is kept.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().flatten()
    }
    /// How many are kept.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
