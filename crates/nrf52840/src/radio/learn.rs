//! A delay of the chip that is measured, since what is written of it differs.

/// How many measurements count.
const KEPT: usize = 8;

/// The median of the last eight measurements, in ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Learned {
    kept: [u32; KEPT],
    next: u8,
    count: u8,
    assumed: u32,
}

impl Learned {
    /// `assumed` until something is measured.
    pub(super) const fn assuming(assumed: u32) -> Self {
        Self {
            kept: [0; KEPT],
            next: 0,
            count: 0,
            assumed,
        }
    }

    pub(super) fn measure(&mut self, ticks: u32) {
        if let Some(place) = self.kept.get_mut(usize::from(self.next)) {
            *place = ticks;
        }
        self.next = (self.next + 1) % KEPT as u8;
        self.count = (self.count + 1).min(KEPT as u8);
    }

    /// The median, the lower of two in the middle.
    pub(super) fn ticks(&self) -> u32 {
        let kept = self.kept.get(..usize::from(self.count)).unwrap_or_default();
        let middle = kept.len().saturating_sub(1) / 2;
        // Each has so many before it; there are eight at most.
        let before = |k: usize, of: u32| {
            let earlier = |(other, ticks): (usize, &u32)| *ticks < of || *ticks == of && other < k;
            kept.iter().enumerate().filter(|e| earlier(*e)).count()
        };
        let found = (kept.iter().enumerate()).find(|(k, ticks)| before(*k, **ticks) == middle);
        found.map_or(self.assumed, |(_, ticks)| *ticks)
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
