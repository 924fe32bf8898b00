//! A delay of the chip that is measured, since what is written of it differs.

/// How many measurements count.
const KEPT: usize = 8;

/// The median of the last eight measurements, in ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Learned {
    kept: [u32; KEPT],
    next: u8,
    count: u8,
    median: u32,
}

impl Learned {
    /// `assumed` until something is measured.
    pub(super) const fn assuming(assumed: u32) -> Self {
        Self {
            kept: [0; KEPT],
            next: 0,
            count: 0,
            median: assumed,
        }
    }

    /// Keeps a measurement. Most are the same as all before, and cost a few instructions: a frame waits for its answer.
    pub(super) fn measure(&mut self, ticks: u32) {
        let Some(place) = self.kept.get_mut(usize::from(self.next)) else {
            return;
        };
        let old = core::mem::replace(place, ticks);
        self.next = (self.next + 1) % KEPT as u8;
        let is_full = usize::from(self.count) == KEPT;
        self.count = (self.count + 1).min(KEPT as u8);
        if !(is_full && old == ticks) {
            self.median = self.find().unwrap_or(self.median);
        }
    }

    /// The median, the lower of two in the middle.
    fn find(&self) -> Option<u32> {
        let kept = self.kept.get(..usize::from(self.count))?;
        let middle = kept.len().saturating_sub(1) / 2;
        // Each has so many before it; there are eight at most.
        let before = |k: usize, of: u32| {
            let earlier = |(other, ticks): (usize, &u32)| *ticks < of || *ticks == of && other < k;
            kept.iter().enumerate().filter(|e| earlier(*e)).count()
        };
        let found = (kept.iter().enumerate()).find(|(k, ticks)| before(*k, **ticks) == middle);
        found.map(|(_, ticks)| *ticks)
    }

    /// The median.
    pub(super) const fn ticks(&self) -> u32 {
        self.median
    }
}

#[cfg(test)]
mod tests {
    use super::Learned;

    #[test]
    fn the_median_of_the_last_eight_counts() {
        let mut learned = Learned::assuming(864);
        assert_eq!(learned.ticks(), 864);
        for ticks in [352, 9_000, 351, 353, 352, 10, 352, 352] {
            learned.measure(ticks);
        }
        assert_eq!(learned.ticks(), 352);
        for _ in 0..8 {
            learned.measure(864);
        }
        assert_eq!(learned.ticks(), 864);
    }
}
