//! A look at the first packets: which of the two chains brings them.
//!
//! After so many packets the source asks what is missing. The destination has counted those of each group, and a byte of
//! its NACK names the groups that brought too few: half of the packets would be lost in every round. Where such a group
//! has a spare chain, its packets call that from then on, and the next are looked after once more. Where it has none the
//! transfer ends, and the gateway takes another way. Source and destination know the same. Time base: none. Tests: at
//! the end.

use crate::pipeline::{Adaptation, Beat, Fixed, Retune, Tally, Trial};
use thalweg_units::{Channel, Instant};
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::Progress;

/// Packets that are looked after.
pub(super) const LOOK: u16 = 16;
/// Of a group's half of them, so many must arrive.
const ENOUGH: u16 = 5;
/// Where a transfer has fewer, or fewer are missing, there is less to win than to lose.
const WORTH: u16 = 64;
/// Bytes that a NACK says: a bit for each group that is lame.
pub const SAID_BYTES: u8 = 1;

/// What the destination has seen of the groups, and the source was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looker {
    fixed: Fixed,
    look: Trial,
    /// The round that is looked after.
    round: u16,
    /// Whether the odd, and the even group has a spare chain that was not called.
    spares: [bool; 2],
    came: [u16; 2],
    /// Of the round before.
    said: [bool; 2],
    called: [bool; 2],
    gives_up: bool,
}

impl Looker {
    /// A source, or destination, on the channels of `fixed`, by the schedule of `beat`, of a transfer whose odd and even
    /// group have `spares`. One that keeps earlier packets begins with a request, and looks at the round after it.
    pub fn new(fixed: Fixed, progress: Progress, spares: [bool; 2], beat: &Beat) -> Self {
        Self {
            fixed,
            look: Trial {
                packets: LOOK,
                ends: beat.start,
            },
            round: u16::from(progress == Progress::Kept),
            spares,
            came: [0; 2],
            said: [false; 2],
            called: [false; 2],
            gives_up: false,
        }
    }

    /// The groups that `lacks` says brought too few packets in the round that was looked after.
    fn judge(&mut self, lacks: [bool; 2]) {
        if lacks == [false; 2] {
            return;
        }
        let spares = self.spares.iter_mut().zip(&mut self.called);
        for (lacks, (spare, called)) in lacks.into_iter().zip(spares) {
            self.gives_up |= lacks && !*spare;
            *called |= lacks && *spare;
            *spare &= !lacks;
        }
        self.round += 1;
    }
}

impl Adaptation for Looker {
    fn channel(&self, stage: u8, sfd: Instant) -> Channel {
        self.fixed.channel(stage, sfd)
    }
    fn listening(&self) -> Option<Channel> {
        self.fixed.listening()
    }
    fn trial(&self, round: u16, packets: u16) -> Option<Trial> {
        (round == self.round && packets >= WORTH).then_some(self.look)
    }
    fn calls(&self, group: Group) -> bool {
        self.called[group.index()]
    }
    fn came(&mut self, group: Group) {
        let came = &mut self.came[group.index()];
        *came = came.saturating_add(1);
    }
    fn round_over(&mut self, round: u16, tally: Option<Tally>) {
        let came = core::mem::take(&mut self.came);
        let all = came.iter().sum::<u16>() + tally.map_or(0, |tally| tally.missing);
        self.said = [false; 2];
        if round == self.round && all >= WORTH {
            self.said = came.map(|came| came < ENOUGH);
            self.judge(self.said);
        }
    }
    fn say(&mut self, into: &mut [u8], _due: Option<Instant>) {
        let [odd, even] = self.said;
        into.fill(u8::from(odd) | u8::from(even) << 1);
    }
    fn told(&mut self, said: &[u8], _due: Instant) -> Retune {
        let said = said.first().copied().unwrap_or(0);
        self.judge([said & 1 != 0, said & 2 != 0]);
        Retune::Stay
    }
    fn lame(&self) -> u8 {
        self.said.into_iter().map(u8::from).sum()
    }
    fn gives_up(&self) -> bool {
        self.gives_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_units::Duration;
    use thalweg_wire::route::Channels;

    fn pair(spares: [bool; 2], progress: Progress) -> [Looker; 2] {
        let channels = Channels::new(&[26, 20].map(|n| Channel::new(n).unwrap())).unwrap();
        let beat = Beat {
            start: Instant::ZERO,
            cycle: Duration::from_micros(4_537),
            ahead: Duration::ZERO,
            silence: Duration::from_millis(40),
        };
        [0, 1].map(|stage| Looker::new(Fixed { channels, stage }, progress, spares, &beat))
    }

    /// A round that brings so many packets of each group, and the report on it.
    fn over([source, destination]: &mut [Looker; 2], round: u16, came: [u16; 2], missing: u16) {
        for (group, came) in [Group::Odd, Group::Even].into_iter().zip(came) {
            (0..came).for_each(|_| destination.came(group));
        }
        let received = 500 - missing;
        destination.round_over(round, Some(Tally { received, missing }));
        let mut said = [0];
        destination.say(&mut said, None);
        let _ = source.told(&said, Instant::ZERO);
        let next = round + 1;
        assert_eq!(source.trial(next, 500), destination.trial(next, 500));
    }

    #[test]
    fn a_chain_that_brings_half_is_good_enough() {
        let mut pair = pair([true; 2], Progress::Fresh);
        assert!(pair[0].trial(0, 500).is_some());
        assert_eq!(pair[0].trial(0, WORTH - 1), None);
        over(&mut pair, 0, [5, 8], 487);
        assert!(!pair[0].calls(Group::Odd) && !pair[0].gives_up());
        assert_eq!(pair[0].trial(1, 500), None);
    }

    #[test]
    fn a_lame_group_calls_its_spare_once_and_then_gives_up() {
        let mut pair = pair([true; 2], Progress::Fresh);
        over(&mut pair, 0, [8, 4], 488);
        assert!(pair[0].calls(Group::Even) && !pair[0].calls(Group::Odd));
        assert!(pair[0].trial(1, 500).is_some() && !pair[0].gives_up());
        over(&mut pair, 1, [8, 0], 480);
        assert!(pair[0].gives_up());
    }

    #[test]
    fn without_a_spare_it_gives_up_at_once() {
        let mut pair = pair([true, false], Progress::Fresh);
        over(&mut pair, 0, [8, 0], 492);
        assert!(pair[0].gives_up() && !pair[0].calls(Group::Even));
    }

    #[test]
    fn nothing_is_judged_before_packets_were_sent_nor_where_few_are_missing() {
        let mut kept = pair([false; 2], Progress::Kept);
        over(&mut kept, 0, [0, 0], 300);
        assert!(kept[0].trial(1, 500).is_some() && !kept[0].gives_up());
        over(&mut kept, 1, [8, 0], 292);
        assert!(kept[0].gives_up());
        let mut few = pair([false; 2], Progress::Kept);
        over(&mut few, 1, [8, 0], WORTH - 9);
        assert!(!few[0].gives_up());
    }
}
