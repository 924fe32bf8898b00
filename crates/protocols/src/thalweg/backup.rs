//! Who stands by: a node beside a relay of a chain, that takes part where the relay does not do its part.
//!
//! In a window it listens as the relay does, in one cycle for the packet of the stage before, in the next on the channel
//! of the stage after, for the relay's own transmission of it. A relay that is not heard to send on what its neighbour
//! has received is dead, or deaf, or far: from then on the node sends too. Nobody has to tell it, and nobody has to know,
//! since frames name stages and not nodes. Between windows it sleeps. Time base: the node's clock; a window takes the
//! beat of the pipeline from the packets that it hears. Tests: at the end.

use super::report::{probe_over, Verdict};
use super::stage_role::ChainRole;
use super::TRIES;
use crate::pipeline::{Adaptation, Beat, End, Fixed, Heard, Retune};
use crate::timer::sooner;
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::route::Probe;

/// Packets that the relay sends on, in one window, after which it is left alone.
const SENT_ON: u8 = 3;
/// Packets not sent on, in one window, after which the node takes part.
const MISSED: u8 = 3;
/// Cycles after which a window closes whatever was heard.
const WINDOW: u64 = 28;
/// Cycles between the end of a window and the next.
pub const REST: u64 = 100;

/// Whether those that stand by are told what became of the first packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdicts {
    /// They wait for it after a window, to probe after the next, or to be free for another transfer. None comes before this.
    Awaited(Instant),
    /// There is none to come.
    Over,
}

/// What a node that stands by is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Listens for a packet of the stage before, until the window closes.
    Before,
    /// Has one, and turns then to the channel of the stage after.
    Turning(Instant),
    /// Listens there for the relay, until then.
    After(Instant),
    /// Sleeps until a verdict on the first packets may come.
    Probe(Instant),
    /// Listens for it, until then.
    Verdict(Instant),
    /// The transfer is over, of which it may hear until then.
    Leaving(Instant),
    /// Sleeps until then.
    Rest(Instant),
    /// Takes part.
    Relaying,
}

/// A node that stands by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupRelay {
    lane: ChainRole,
    cycle: Duration,
    verdicts: Verdicts,
    /// How long before an SFD to retune.
    ahead: Duration,
    at: At,
    /// When the window closes.
    closes: Instant,
    /// Of this window: packets that the relay sent on, and those that it did not.
    sent_on: u8,
    missed: u8,
    /// The relay was heard to send it on.
    heard: bool,
    /// When the transfer is expected to be over.
    over: Option<Instant>,
}

impl BackupRelay {
    /// A node beside the relay of `lane`, by the schedule of `beat`, of a transfer whose first packets
    /// have such a `probe`, and begin so long after the source. It leaves a transfer that is expected to be `over`, where it
    /// does not take part by then.
    pub fn new((lane, probe): (ChainRole, Probe), beat: &Beat, over: Option<Instant>) -> Self {
        let stages_before = u64::from(lane.fixed.stage);
        Self {
            lane,
            cycle: beat.cycle,
            verdicts: match probe {
                Probe::First => Verdicts::Awaited(probe_over(beat, lane.fixed.channels.hops())),
                Probe::None => Verdicts::Over,
            },
            ahead: beat.ahead,
            at: At::Before,
            closes: beat.start + beat.cycle * (stages_before + WINDOW),
            sent_on: 0,
            missed: 0,
            heard: false,
            over,
        }
    }

    /// The longest that it may hear nothing of a transfer that goes on.
    pub fn patience(beat: &Beat) -> Duration {
        beat.silence + beat.cycle * (2 * REST + WINDOW)
    }

    /// Whether it takes part.
    pub const fn takes_part(&self) -> bool {
        matches!(self.at, At::Relaying)
    }

    fn opens(&mut self, now: Instant) {
        self.at = At::Before;
        self.closes = now + self.cycle * WINDOW;
        (self.sent_on, self.missed) = (0, 0);
    }

    /// The packet was sent on, or not.
    fn probed(&mut self, now: Instant) {
        match self.heard {
            true => self.sent_on += 1,
            false => self.missed += 1,
        }
        self.at = if self.missed >= MISSED {
            At::Relaying
        } else if self.sent_on >= SENT_ON {
            self.closed(now)
        } else {
            At::Before
        };
    }

    /// After a window.
    fn closed(&self, now: Instant) -> At {
        match self.verdicts {
            Verdicts::Awaited(from) if from > now => At::Probe(from),
            Verdicts::Awaited(_) => At::Verdict(self.verdict_by(now)),
            Verdicts::Over => At::Rest(now + self.rest()),
        }
    }
    /// Until when it listens for a verdict that may come from `now` on: the source asks as often as this.
    fn verdict_by(&self, now: Instant) -> Instant {
        now + self.lane.rendezvous.silence() * u64::from(TRIES)
    }
    /// From when on a packet is of the round after the probe, where it listens for a verdict until then.
    fn goes_on_from(&self, until: Instant) -> Instant {
        let over = until.saturating_sub(self.lane.rendezvous.silence() * u64::from(TRIES));
        over + self.cycle * (u64::from(self.lane.fixed.stage) + 1)
    }
    fn rest(&self) -> Duration {
        self.cycle * REST
    }

    /// When it does what is next.
    fn due(&self) -> Option<Instant> {
        match self.at {
            At::Before => Some(self.closes),
            At::Turning(then)
            | At::After(then)
            | At::Probe(then)
            | At::Verdict(then)
            | At::Rest(then) => Some(then),
            At::Leaving(_) | At::Relaying => None,
        }
    }
}

impl Adaptation for BackupRelay {
    fn channel(&self, stage: u8, sfd: Instant) -> Channel {
        self.lane.channel(stage, sfd)
    }
    fn listening(&self) -> Option<Channel> {
        let Fixed { channels, stage } = self.lane.fixed;
        match self.at {
            At::Before | At::Turning(_) | At::Verdict(_) | At::Leaving(_) | At::Relaying => {
                Some(channels.of(stage))
            }
            At::After(_) => Some(channels.of(stage + 1)),
            At::Probe(_) | At::Rest(_) => None,
        }
    }
    fn passes_on(&self, what: Heard) -> bool {
        // Its count is another than the relay's, and both may send at the same time.
        self.takes_part() && what != Heard::Count
    }
    fn heard(&mut self, what: Heard, sfd: Instant) {
        self.lane.rendezvous.hears(sfd);
        match (what, self.at) {
            (Heard::Packet | Heard::Call, At::Before) => {
                self.heard = false;
                self.at = At::Turning((sfd + self.cycle).saturating_sub(self.ahead));
            }
            (Heard::Peer, At::After(_)) => self.heard = true,
            // It does not hear those who would tell: after the last packet of the probe, one more tells as much.
            (Heard::Call, At::Verdict(until)) if sfd > self.goes_on_from(until) => {
                self.at = At::Relaying;
            }
            (Heard::Packet, At::Verdict(until)) if sfd > self.goes_on_from(until) => {
                self.lane.rendezvous.goes_on();
                self.at = At::Verdict(sfd);
            }
            _ => {}
        }
    }
    fn told(&mut self, said: &[u8], due: Instant) -> Retune {
        self.lane.said(said);
        let before = self.listening();
        let verdicts = match Verdict::read(said) {
            Some(verdicts) if !self.takes_part() => verdicts,
            _ => return Retune::Stay,
        };
        if verdicts.contains(&Verdict::Abort) {
            self.at = At::Leaving(due + self.lane.rendezvous.silence());
        } else if verdicts[self.lane.group.index()] == Verdict::UseAlternate {
            // So it passes on this very NACK.
            self.at = At::Relaying;
        } else if let Some(packets) = Verdict::next_probe(verdicts) {
            self.verdicts = Verdicts::Awaited(due + self.cycle * u64::from(packets));
            self.opens(due);
        } else {
            self.verdicts = Verdicts::Over;
            self.at = At::Rest(due + self.rest());
        }
        match self.listening() == before {
            true => Retune::Stay,
            false => Retune::Now,
        }
    }
    fn gives_up(&self) -> bool {
        self.lane.gives_up
    }
    fn leaves(&self) -> Option<(Instant, End)> {
        let over = self.over.filter(|_| !self.takes_part());
        let leaves = match self.at {
            At::Leaving(then) => Some(then),
            At::Probe(_) => None,
            _ => self.lane.rendezvous.free_by(),
        };
        sooner(leaves, over).map(|leaves| (leaves, End::NotCalled))
    }
    fn next(&self) -> Option<Instant> {
        self.due()
    }
    fn advance(&mut self, at: Instant) -> Retune {
        let before = self.listening();
        while self.due().is_some_and(|due| due <= at) {
            match self.at {
                At::Before => self.at = self.closed(at),
                At::Probe(then) => {
                    self.lane.rendezvous.hears(then);
                    self.at = At::Verdict(self.verdict_by(then));
                }
                At::Verdict(_) if self.lane.rendezvous.is_settled() => {
                    self.verdicts = Verdicts::Over;
                    self.at = At::Rest(at + self.rest());
                }
                At::Verdict(_) => self.at = At::Leaving(at),
                At::Turning(then) => self.at = At::After(then + self.cycle),
                At::After(_) => self.probed(at),
                At::Rest(_) => self.opens(at),
                At::Leaving(_) | At::Relaying => {}
            }
        }
        match self.listening() == before {
            true => Retune::Stay,
            false => Retune::Now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::{LONG_PROBE, PROBE};
    use super::*;
    use crate::thalweg::testing::{beat, route, CYCLE};
    use crate::thalweg::Early;
    use thalweg_wire::pipeline::Group;

    fn watcher() -> BackupRelay {
        let lane = ChainRole::new(&route(&[26, 20, 25, 15]), (1, Group::Even), &beat(), None);
        BackupRelay::new((lane, Probe::None), &beat(), None)
    }

    /// Hears packets, and the relay sends on those that `sends_on` says; how many until it takes part.
    fn packets(watcher: &mut BackupRelay, sends_on: impl Fn(u32) -> bool) -> Option<u32> {
        for packet in 0..200 {
            let sfd = Instant::from_nanos(50_000_000) + CYCLE * (2 * u64::from(packet));
            let _ = watcher.advance(sfd);
            if watcher.takes_part() {
                return Some(packet);
            }
            if watcher.listening() == Some(watcher.lane.fixed.channels.of(1)) {
                watcher.heard(Heard::Packet, sfd);
            }
            let _ = watcher.advance(sfd + CYCLE);
            let after = Some(watcher.lane.fixed.channels.of(2));
            if watcher.listening() == after && sends_on(packet) {
                watcher.heard(Heard::Peer, sfd + CYCLE);
            }
        }
        None
    }

    #[test]
    fn a_relay_that_does_its_part_is_left_alone_and_watched_in_a_sixteenth_of_the_time() {
        let mut watcher = watcher();
        assert_eq!(packets(&mut watcher, |_| true), None);
        let mut awake = 0;
        for cycle in 400..1_400u64 {
            let at = Instant::from_nanos(50_000_000) + CYCLE * cycle;
            let _ = watcher.advance(at);
            awake += u32::from(watcher.listening().is_some());
            if cycle % 2 == 0 && watcher.listening() == Some(watcher.lane.fixed.channels.of(1)) {
                watcher.heard(Heard::Packet, at);
            }
            if let At::After(_) = watcher.at {
                watcher.heard(Heard::Peer, at);
            }
        }
        assert!((50..80).contains(&awake), "{awake}");
    }

    #[test]
    fn a_relay_that_dies_is_replaced_within_a_rest_and_a_few_packets() {
        let dead_from = 60;
        let then = packets(&mut watcher(), |packet| packet < dead_from);
        let most = dead_from + REST as u32 / 2 + u32::from(SENT_ON + MISSED);
        assert!(
            then.is_some_and(|then| (dead_from + 3..=most).contains(&then)),
            "{then:?}"
        );
    }

    #[test]
    fn one_packet_in_ten_that_is_lost_on_the_way_to_the_relay_is_no_reason() {
        assert_eq!(packets(&mut watcher(), |packet| packet % 10 != 3), None);
    }

    /// One that waits for a verdict, from then on.
    fn awaiting() -> (BackupRelay, Instant) {
        let early = Early {
            first: CYCLE * 30,
            each: CYCLE * 20,
        };
        let channels = route(&[26, 20, 25, 15]);
        let lane = ChainRole::new(&channels, (1, Group::Even), &beat(), Some(early));
        let mut watcher = BackupRelay::new((lane, Probe::First), &beat(), None);
        let mut now = beat().start;
        while !matches!(watcher.at, At::Verdict(_)) {
            if watcher.at == At::Before {
                watcher.heard(Heard::Packet, now);
            }
            let _ = watcher.advance(now + CYCLE);
            watcher.heard(Heard::Peer, now + CYCLE);
            now += CYCLE * 2;
            let _ = watcher.advance(now);
        }
        assert_eq!(watcher.listening(), Some(watcher.lane.fixed.channels.of(1)));
        assert_eq!(now, beat().start + CYCLE * (u64::from(PROBE) + 2));
        (watcher, now)
    }

    #[test]
    fn who_is_not_told_takes_a_packet_after_the_probe_for_a_verdict() {
        let (mut watcher, now) = awaiting();
        let leaves = watcher.leaves().unwrap().0;
        assert!(leaves > now && leaves < beat().start + CYCLE * 50);
        // The probe's last.
        watcher.heard(Heard::Packet, now + CYCLE);
        let _ = watcher.advance(now + CYCLE);
        assert!(matches!(watcher.at, At::Verdict(_)));
        let next = now + CYCLE * 5;
        watcher.heard(Heard::Packet, next);
        let _ = watcher.advance(next);
        assert_eq!(watcher.at, At::Rest(next + CYCLE * REST));
        assert_eq!(watcher.leaves(), None);
    }

    #[test]
    fn before_its_first_rest_it_is_told_what_became_of_the_first_packets() {
        use Verdict::{Abort, Good, Inconclusive, UseAlternate};
        let told = |odd: Verdict, even: Verdict| {
            let (mut watcher, now) = awaiting();
            let _ = watcher.told(&[0x10 | odd as u8 | (even as u8) << 2], now);
            (watcher, now)
        };
        let (watcher, now) = told(Good, Good);
        assert_eq!(watcher.at, At::Rest(now + CYCLE * REST));
        let (watcher, now) = told(Good, Abort);
        let leaves = Some((now + beat().silence, End::NotCalled));
        assert_eq!(watcher.leaves(), leaves);
        for verdicts in [(Good, Inconclusive), (UseAlternate, Good)] {
            let (mut watcher, now) = told(verdicts.0, verdicts.1);
            assert_eq!(watcher.at, At::Before);
            let _ = watcher.advance(now + CYCLE * WINDOW);
            let probe = match verdicts {
                (Good, Inconclusive) => LONG_PROBE,
                _ => PROBE,
            };
            let is_over = probe < WINDOW as u16;
            assert_eq!(
                matches!(watcher.at, At::Verdict(_)),
                is_over,
                "another follows"
            );
            let _ = watcher.advance(now + CYCLE * u64::from(LONG_PROBE));
            assert!(matches!(watcher.at, At::Verdict(_)), "another follows");
            let then = now + CYCLE * 200;
            let _ = watcher.advance(then);
            let leaves = Some((then, End::NotCalled));
            assert_eq!(watcher.leaves(), leaves, "nobody told");
        }
    }

    #[test]
    fn who_hears_nothing_rests_and_looks_again() {
        let mut watcher = watcher();
        let mut windows = 0;
        let mut was_awake = true;
        for cycle in 0..600u64 {
            let _ = watcher.advance(Instant::from_nanos(50_000_000) + CYCLE * cycle);
            let is_awake = watcher.listening().is_some();
            windows += u32::from(is_awake && !was_awake);
            was_awake = is_awake;
        }
        assert!((3..7).contains(&windows), "{windows}");
        assert!(!watcher.takes_part());
    }
}
