//! How many symbols of a fountain code the source sends at once: no packet is ever told by number,
//! only how many more it takes. Numbers that run out begin again: old symbols, but better than none.
//! Nothing here knows the code; the store does ([`crate::object::ObjectStore::symbol`]).
//! Tests: at the end of this file.

use thalweg_wire::pipeline::MAX_PACKETS;
use thalweg_wire::route::Percent;

/// What the source still has to send before it asks again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fountain {
    /// Symbols that the object makes.
    packets: u16,
    next: u16,
    left: u32,
    sent: u32,
    spare: Percent,
    /// Nothing but a trial has been sent.
    trial: bool,
}

impl Fountain {
    /// For an object of `packets` symbols: all of them and `spare` more at once, or the packets of
    /// `trial` first.
    pub(super) fn new(packets: u16, spare: Percent, trial: Option<u16>) -> Self {
        let mut fountain = Self {
            packets,
            next: 0,
            left: 0,
            sent: 0,
            spare,
            trial: trial.is_some_and(|trial| trial < packets),
        };
        fountain.left = match trial.filter(|_| fountain.trial) {
            Some(trial) => u32::from(trial),
            None => fountain.with_spare(u32::from(packets)),
        };
        fountain
    }

    fn with_spare(&self, symbols: u32) -> u32 {
        symbols + (symbols * u32::from(self.spare.get())).div_ceil(100)
    }

    /// The symbol to send next; none where it is time to ask.
    pub(super) fn next(&self) -> Option<u16> {
        (self.left > 0).then_some(self.next)
    }

    /// It was sent.
    pub(super) fn sent(&mut self) {
        self.next = if self.next + 1 < MAX_PACKETS {
            self.next + 1
        } else {
            0
        };
        self.left = self.left.saturating_sub(1);
        self.sent = self.sent.saturating_add(1);
    }

    /// The destination misses `missing` symbols: as many will be sent as should do at the rate of
    /// arrival so far, two standard deviations and two more; the code itself now and then takes
    /// one or two beyond the object's own number.
    pub(super) fn missing(&mut self, missing: u16) {
        if missing == 0 {
            self.left = 0;
            return;
        }
        let (missing, sent) = (u32::from(missing), self.sent.max(1));
        // Of what was sent so much arrived; rather too little than nothing.
        let arrived = u32::from(self.packets).saturating_sub(missing);
        let arrived = arrived.clamp(sent.div_ceil(16), sent);
        if core::mem::take(&mut self.trial) {
            // A trial tells little of what is to come.
            self.left = self.with_spare(missing);
            return;
        }
        let ratio = |n: u32| u64::from(n) * u64::from(sent) / u64::from(arrived);
        let mean = ratio(missing);
        let variance = mean * u64::from(sent - arrived) / u64::from(arrived);
        let batch = mean + 2 * variance.isqrt() + 2;
        self.left = u32::try_from(batch).unwrap_or(u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fountain(spare: u8) -> Fountain {
        Fountain::new(500, Percent::new(spare).unwrap(), None)
    }
    fn drain(fountain: &mut Fountain) -> u32 {
        let mut sent = 0;
        while fountain.next().is_some() {
            fountain.sent();
            sent += 1;
        }
        sent
    }

    #[test]
    fn the_first_batch_is_the_object_and_what_is_spare() {
        assert_eq!(drain(&mut fountain(0)), 500);
        assert_eq!(drain(&mut fountain(3)), 515);
        let mut trial = Fountain::new(500, Percent::new(2).unwrap(), Some(36));
        assert_eq!(drain(&mut trial), 36);
        trial.missing(470);
        assert_eq!(drain(&mut trial), 480);
    }

    #[test]
    fn what_is_missing_is_sent_at_the_rate_of_arrival() {
        let mut all = fountain(0);
        drain(&mut all);
        all.missing(0);
        assert_eq!(all.next(), None);
        // Ninety per cent arrive: fifty missing take fifty-five and four or five more.
        all.missing(50);
        let batch = drain(&mut all);
        assert!((57..=62).contains(&batch), "{batch}");
        // Nothing arrived at all: many, but not without end.
        let mut none = fountain(0);
        drain(&mut none);
        none.missing(500);
        assert!(drain(&mut none) < 20_000);
    }

    #[test]
    fn numbers_begin_again() {
        let mut all = fountain(0);
        all.left = 20_000;
        for _ in 0..u32::from(MAX_PACKETS) {
            all.sent();
        }
        assert_eq!(all.next(), Some(0));
    }
}
