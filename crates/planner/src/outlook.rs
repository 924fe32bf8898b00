//! What may happen to a transfer that looks at its first packets: the cases, and what to expect over all of them.
//!
//! A transfer is looked at in a burst or not, its chains may be lame for what links have become since the survey, and a burst may
//! come later. Each case has its time, energy and goodput; the prediction is their mean. In a burst as many stages are hit as
//! [`together`] says, to its end, and it ends as if it had just begun. Not modelled: chains that rounds after the looks
//! call lame. Tests: below and tests/reserves.rs.

use crate::bursts::{Bursts, LearnedBursts};
use crate::closed_forms::p3_pass_cycles;
use crate::looks::{Chain, InBurst, Looked};
use crate::predict::{expected_rounds, Feed, Prediction};
use crate::request::Transfer;
use crate::rules;
use crate::together::together;

/// What a plan has ready, beside its chains.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ready {
    pub(crate) feed: Feed,
    /// Nodes that stand by, and spare relays.
    pub(crate) stand: usize,
    pub(crate) spare: usize,
    /// How many of the spare relays miss the word that they are not wanted.
    pub(crate) untold: f64,
}

/// What may happen to a transfer.
#[derive(Debug, Clone, Copy, Default)]
struct Case {
    /// Its probability.
    chance: f64,
    /// Probability of a longer look.
    again: f64,
    /// Groups that call their spare relays, and how many of them do so to the end.
    groups: f64,
    calling: f64,
    /// Ways that are taken in vain.
    vain: f64,
    /// Seconds of it in a burst, in which this share of the packets is lost; and probability that its first round ends there.
    burst_s: f64,
    hit: f64,
    ends_inside: f64,
}

impl Case {
    /// Probability that it comes, and needs reserves.
    fn needs(&self) -> f64 {
        match self.groups > 0.0 {
            true => self.chance,
            false => 0.0,
        }
    }
}

/// All cases of a transfer that takes `time_s` where nothing happens, over `hops` by one or two `groups`.
fn cases(
    looked: Option<Looked>,
    bursts: &Bursts,
    (hops, groups): (usize, &[Chain]),
    (time_s, anew_s): (f64, f64),
) -> Vec<Case> {
    let together = together(bursts, hops, groups.len());
    let outside = together.iter().filter(|(inside, _)| inside.is_none());
    let outside: f64 = outside.map(|(_, chance)| chance).sum();
    let inside = 1.0 - outside;
    let lasts_s = rules::BURST_S;
    // What is known of where the transfer begins has gone after so long, in which the burst may end and others begin.
    let forgets_s = lasts_s * outside;
    let stays = libm::exp(-time_s / forgets_s);
    let known_s = forgets_s * (1.0 - stays);
    let begins = match outside > 0.0 {
        true => outside * (1.0 - libm::exp(-inside * time_s / forgets_s)),
        false => 0.0,
    };
    let is_looked_at = looked.is_some();
    let looked = looked.unwrap_or(Looked::GOOD);
    let lame = Case {
        chance: outside * looked.lame,
        again: looked.again,
        groups: 1.0,
        calling: 1.0,
        ..Case::default()
    };
    let nothing = Case {
        chance: (outside - begins) * (1.0 - looked.lame),
        again: looked.again,
        ..Case::default()
    };
    let mut cases = vec![lame, nothing];
    for (at_once, chance) in together {
        if at_once.is_none() || chance <= 0.0 {
            continue;
        }
        let burst = match is_looked_at {
            true => InBurst::of(bursts.hit, at_once, groups),
            false => InBurst::UNSEEN,
        };
        let hit = at_once.lost(bursts.hit);
        let at_look = Case {
            chance: chance * (1.0 - burst.looked.lame) * (1.0 - looked.lame),
            again: burst.looked.again,
            burst_s: inside * time_s + outside * known_s,
            hit,
            ends_inside: inside + outside * stays,
            ..Case::default()
        };
        let lame = 1.0 - (1.0 - burst.looked.lame) * (1.0 - looked.lame);
        let goes_on = libm::exp(-anew_s / lasts_s);
        let called = Case {
            chance: chance * lame,
            groups: burst.chains,
            calling: burst.chains * burst.calls,
            vain: burst.hopeless / (1.0 - goes_on * burst.hopeless),
            ..at_look
        };
        cases.extend([at_look, called]);
        if begins > 0.0 {
            cases.push(Case {
                chance: begins * (1.0 - looked.lame) * chance / inside,
                again: looked.again,
                burst_s: outside * inside * (time_s - known_s) / begins,
                hit,
                ends_inside: outside * inside * (1.0 - stays) / begins,
                ..Case::default()
            });
        }
    }
    cases
}

/// What cases cost.
struct Costs<'a> {
    transfer: &'a Transfer,
    /// Where nothing happens: time and energy, probability that all comes in the first round, and who is awake all the time.
    base_s: f64,
    base_j: f64,
    at_once: f64,
    active: f64,
    /// Nodes that stand by, and spare relays.
    stand: f64,
    spare: f64,
    untold: f64,
    is_looked_at: bool,
    groups: f64,
    hops: u64,
    period_s: f64,
    /// From packet to packet.
    packet_s: f64,
    /// Until it is known what became of a round.
    heard_s: f64,
    /// Of the word that all is well, where the chains pause for one.
    pause_s: Option<f64>,
}

/// What is expected of one case.
struct Cost {
    time_s: f64,
    energy_j: f64,
    /// Beside those of the case in which nothing happens.
    rounds: f64,
}

impl Costs<'_> {
    fn of(&self, case: &Case) -> Cost {
        let called = f64::from(u8::from(case.groups > 0.0));
        let looks = match self.is_looked_at {
            true => 1.0 + case.again + called,
            false => 0.0,
        };
        // Where no word comes the source asks, and again after the look at those that are called.
        let (look_s, asked) = match self.pause_s {
            Some(pause_s) => {
                let asked = 2.0 * called;
                ((looks - called) * pause_s + asked * self.heard_s, asked)
            }
            None => (looks * self.heard_s, looks),
        };
        let anew_s = case.vain * self.anew_s();
        let mended_s = called * f64::from(rules::LOOK) / 2.0 * self.period_s + anew_s;
        let (burst_s, more) = self.in_burst(case);
        let time_s = self.base_s + look_s + mended_s + burst_s;

        let wake_up_s = self.transfer.wake_up.as_secs_f64();
        let first_s = f64::from(rules::LOOK) * self.period_s + self.word_s();
        let again_s = case.again * (f64::from(rules::LONG_LOOK) * self.period_s + self.word_s())
            + called * (f64::from(rules::LOOK) * self.period_s + 2.0 * self.heard_s);
        let (window, rest) = (rules::WINDOW, f64::from(rules::REST));
        let after_s = (time_s - wake_up_s - first_s - again_s).max(0.0);
        let told_s = wake_up_s + look_s;
        // Reserves listen after a look until they hear what became of it, and those that stand by in a window before.
        let standing_s =
            told_s + looks * window * self.period_s + after_s * window / (window + rest);
        let spare_s = told_s + (time_s - wake_up_s) * rules::resting_awake(self.hops);
        let (stand, spare) = (self.stand, self.spare);
        let calls = case.calling / self.groups;
        let awake_s = self.active * (time_s - self.base_s)
            + stand * standing_s
            + spare * spare_s
            + calls * (spare + stand * rest / (window + rest)) * after_s
            + (1.0 - calls) * self.untold * self.untold_s().min(after_s)
            + (stand + spare) * anew_s;
        Cost {
            time_s,
            energy_j: self.base_j + awake_s * self.transfer.currents.listening_w(),
            rounds: asked + more,
        }
    }
    fn word_s(&self) -> f64 {
        self.pause_s.unwrap_or(self.heard_s)
    }
    /// How long a spare relay that was not told is there for another way: to the last of the early meetings, if the transfer lasts
    /// so long.
    fn untold_s(&self) -> f64 {
        let each_s = f64::from(rules::LOOK - 1) * self.period_s + self.heard_s;
        let first_s = self.word_s() + self.heard_s;
        match self.is_looked_at {
            true => first_s + f64::from(rules::EARLY - 1) * each_s,
            false => 0.0,
        }
    }
    /// What it takes to find a way in vain.
    fn anew_s(&self) -> f64 {
        f64::from(rules::TO_BEGIN_ANEW) * self.period_s
    }
    /// Time and rounds that a burst costs: what is lost is sent again, and again as long as the burst goes on.
    fn in_burst(&self, case: &Case) -> (f64, f64) {
        let lost = case.hit * case.burst_s / self.packet_s;
        let once = self.at_once * (1.0 - libm::exp(-lost));
        // Something comes through of each burst, and none goes on for longer than bursts last.
        let delivered = (1.0 - case.hit).max(0.01);
        let rounds = expected_rounds(lost, delivered) - 1.0;
        let again_s = lost * case.hit / delivered * self.packet_s + rounds * self.heard_s;
        let part = match again_s > rules::BURST_S {
            true => rules::BURST_S / again_s,
            false => 1.0,
        };
        let inside = case.ends_inside;
        (
            lost * self.packet_s + once * self.heard_s + inside * part * again_s,
            once + inside * part * rounds,
        )
    }
}

impl Prediction {
    /// The same of a transfer whose chains are looked at, which finds what `looked` says where no burst is. Where chains
    /// are lame, there is another look, half of what was sent in the first is sent again, and their spare relays and who
    /// stands by relay to the end.
    pub(crate) fn over(
        self,
        looked: Looked,
        looks: &[Chain],
        bursts: &LearnedBursts,
        ready: Ready,
        transfer: &Transfer,
    ) -> Self {
        let (Some(base_s), Some(base_j), Some(rounds)) = (self.time_s, self.energy_j, self.rounds)
        else {
            return self;
        };
        let stages = self.hop_delivery.first().map_or(0, Vec::len);
        let (hops, groups) = (stages as u64, looks.len().max(1));
        let cycle = &transfer.cycle;
        let period_s = cycle.period().as_secs_f64();
        let exchange_s = cycle.short_exchange_time(hops).as_secs_f64();
        let has_reserves = ready.stand + ready.spare > 0;
        let costs = Costs {
            transfer,
            base_s,
            base_j,
            at_once: libm::pow(self.first_round, f64::from(transfer.packets)),
            active: self.active_nodes as f64,
            stand: ready.stand as f64,
            spare: ready.spare as f64,
            untold: ready.untold,
            is_looked_at: transfer.packets >= rules::LOOKED_AT && has_reserves,
            groups: groups as f64,
            hops,
            period_s,
            packet_s: transfer.data_period(ready.feed, hops).as_secs_f64(),
            heard_s: exchange_s + period_s * p3_pass_cycles(0, hops) as f64,
            pause_s: (groups > 1 && hops > 1).then(|| cycle.pause_time(hops).as_secs_f64()),
        };
        let looked = costs.is_looked_at.then_some(looked);
        let lasts = (base_s, costs.anew_s());
        let cases = |bursts: &Bursts| cases(looked, bursts, (stages, looks), lasts);
        // Of a survey that met next to no burst it may come to less than nothing.
        let needed = bursts.expect(|bursts| cases(bursts).iter().map(Case::needs).sum());
        let mut mean = Cost {
            time_s: 0.0,
            energy_j: 0.0,
            rounds,
        };
        let (mut goodput_kbps, mut lost) = (0.0, 0.0);
        let bits = f64::from(transfer.packets) * cycle.payload_bytes as f64 * 8e-3;
        for case in &cases(&bursts.all) {
            let of_case = costs.of(case);
            mean.time_s += case.chance * of_case.time_s;
            mean.energy_j += case.chance * of_case.energy_j;
            mean.rounds += case.chance * of_case.rounds;
            goodput_kbps += case.chance * bits / of_case.time_s;
            lost += case.chance * case.hit * case.burst_s / base_s;
        }
        Self {
            first_round: self.first_round * (1.0 - lost),
            rounds: Some(mean.rounds),
            time_s: Some(mean.time_s),
            energy_j: Some(mean.energy_j),
            goodput_kbps,
            active_nodes: self.active_nodes + ready.stand + ready.spare,
            reserves_needed: has_reserves.then_some(needed.clamp(0.0, 1.0)),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::together::Inside;

    const BURSTS: Bursts = Bursts {
        share: 0.1,
        hit: 0.1,
        along: 0.5,
        across: 0.5,
    };
    const HOPS: u64 = 4;

    /// Two chains of single relays that lose nothing by themselves.
    fn quiet(transfer: &Transfer) -> Prediction {
        let stages = p3_pass_cycles(u64::from(transfer.packets), HOPS) as f64;
        let time_s =
            transfer.wake_up.as_secs_f64() + stages * transfer.cycle.period().as_secs_f64();
        Prediction {
            hop_delivery: vec![vec![1.0; HOPS as usize]; 2],
            group_delivery: vec![1.0; 2],
            reverse_delivery: vec![1.0; 2],
            first_round: 1.0,
            exchange: 1.0,
            completion: 1.0,
            rounds: Some(1.0),
            time_s: Some(time_s),
            energy_j: Some(1.0),
            goodput_kbps: 200.0,
            active_nodes: 8,
            reserves_needed: None,
        }
    }
    fn over(looked: Looked, bursts: &Bursts, untold: f64, packets: u32) -> Prediction {
        let transfer = Transfer {
            packets,
            ..Transfer::default()
        };
        let ready = Ready {
            feed: Feed::EveryCycle,
            stand: 6,
            spare: 6,
            untold,
        };
        quiet(&transfer).over(looked, &both(), &(*bursts).into(), ready, &transfer)
    }

    fn both() -> [Chain; 2] {
        Chain::both(HOPS as usize, 2, [true; 2])
    }

    /// Probability that any receiver of the two chains is in a burst.
    fn inside(bursts: &Bursts) -> f64 {
        let cases = together(bursts, HOPS as usize, 2).into_iter();
        let any = cases.filter(|(inside, _)| !inside.is_none());
        any.map(|(_, chance)| chance).sum()
    }

    #[test]
    fn cases_are_all_there_are_and_so_are_bursts() {
        for (share, shared) in [(0.1, 0.5), (0.04, 1.0), (1.0, 1.0), (0.0, 1.0)] {
            let bursts = Bursts {
                share,
                along: shared,
                across: shared,
                ..BURSTS
            };
            let looked = Looked {
                again: 0.1,
                lame: 0.05,
            };
            for time_s in [0.3, 2.0, 700.0] {
                let cases = cases(Some(looked), &bursts, (4, &both()), (time_s, 0.4));
                let all: f64 = cases.iter().map(|case| case.chance).sum();
                assert!((all - 1.0).abs() < 1e-9, "{all} {cases:?}");
                // Bursts take their share of the time, and of its end.
                let inside = inside(&bursts);
                let lame = 0.05 * (1.0 - inside);
                let in_burst = cases.iter().map(|case| case.chance * case.burst_s);
                let sum: f64 = in_burst.sum();
                let most = inside * time_s;
                // But for what comes after a look that found a chain lame for other reasons.
                assert!(
                    sum <= most + 1e-9 && sum >= most * (1.0 - lame) - 1e-9,
                    "{sum} {most}"
                );
            }
        }
    }

    #[test]
    fn where_nothing_happens_a_look_costs_a_pause() {
        let transfer = Transfer::default();
        let before = quiet(&transfer);
        let after = over(Looked::GOOD, &Bursts::NONE, 0.0, transfer.packets);
        let pause_s = transfer.cycle.pause_time(HOPS).as_secs_f64();
        let apart_s = after.time_s.unwrap() - before.time_s.unwrap() - pause_s;
        assert!(apart_s.abs() < 1e-9, "{apart_s}");
        assert_eq!(after.reserves_needed, Some(0.0));
        assert_eq!((after.rounds, after.active_nodes), (Some(1.0), 20));
        // Who was not told listens for half a second.
        let untold = over(Looked::GOOD, &Bursts::NONE, 1.0, transfer.packets);
        let more_s =
            (untold.energy_j.unwrap() - after.energy_j.unwrap()) / transfer.currents.listening_w();
        assert!((0.3..0.5).contains(&more_s), "{more_s}");
        // In a short transfer until its end.
        let [told, untold] =
            [0.0, 1.0].map(|untold| over(Looked::GOOD, &BURSTS, untold, rules::LOOKED_AT));
        let more_s =
            (untold.energy_j.unwrap() - told.energy_j.unwrap()) / transfer.currents.listening_w();
        let left_s = told.time_s.unwrap() - transfer.wake_up.as_secs_f64();
        assert!(more_s > 0.1 && more_s < left_s, "{more_s} {left_s}");
    }

    #[test]
    fn bursts_take_as_much_of_long_transfers_as_of_short_ones() {
        let inside = together(&BURSTS, HOPS as usize, 2);
        let lost = |(inside, chance): &(Inside, f64)| chance * inside.lost(BURSTS.hit);
        let lost: f64 = inside.iter().map(lost).sum();
        let [short, long] = [500, 16_000].map(|n| over(Looked::GOOD, &BURSTS, 0.0, n));
        for of in [&short, &long] {
            assert!(
                (of.first_round - (1.0 - lost)).abs() < 1e-3,
                "{lost} {of:?}"
            );
        }
        assert_eq!(short.reserves_needed, long.reserves_needed);
        // A long transfer meets bursts, and loses what they take; a short one may meet none.
        let best = over(Looked::GOOD, &Bursts::NONE, 0.0, 16_000);
        let left = long.goodput_kbps / best.goodput_kbps;
        assert!(
            (1.0 - 2.5 * lost..1.0 - lost).contains(&left),
            "{left} {lost}"
        );
    }

    #[test]
    fn reserves_that_were_called_in_vain_do_not_relay_to_the_end() {
        let bursts = Bursts { hit: 0.3, ..BURSTS };
        let cases = cases(Some(Looked::GOOD), &bursts, (4, &both()), (2.3, 0.4));
        let called: Vec<&Case> = cases.iter().filter(|case| case.groups > 0.0).collect();
        assert!(called.len() > 1 + HOPS as usize, "{called:?}");
        for case in &called[1..] {
            assert!(case.calling < case.groups, "{case:?}");
        }
        // Where all four stages of both chains lose so much nothing helps.
        let worst = called.iter().max_by(|a, b| a.hit.total_cmp(&b.hit));
        let worst = worst.unwrap();
        assert!(worst.calling < 0.2 && worst.vain > 1.0, "{worst:?}");
    }

    #[test]
    fn a_burst_that_takes_all_ends() {
        let of = over(Looked::GOOD, &Bursts { hit: 1.0, ..BURSTS }, 0.0, 500);
        let (time_s, energy_j) = (of.time_s.unwrap(), of.energy_j.unwrap());
        assert!(
            time_s < 2.0 * quiet(&Transfer::default()).time_s.unwrap(),
            "{time_s}"
        );
        assert!(energy_j.is_finite() && of.goodput_kbps > 0.0);
        assert!(time_s > over(Looked::GOOD, &BURSTS, 0.0, 500).time_s.unwrap());
    }

    #[test]
    fn a_lame_chain_costs_more_than_a_look() {
        let lame = Looked {
            again: 0.0,
            lame: 1.0,
        };
        let (good, bad) = (
            over(Looked::GOOD, &Bursts::NONE, 0.0, 500),
            over(lame, &Bursts::NONE, 0.0, 500),
        );
        assert_eq!(bad.reserves_needed, Some(1.0));
        assert!(bad.time_s > good.time_s && bad.goodput_kbps < good.goodput_kbps);
        // Half of the reserves relay: six of twelve, for two seconds.
        let more_s = (bad.energy_j.unwrap() - good.energy_j.unwrap())
            / Transfer::default().currents.listening_w();
        assert!((9.0..16.0).contains(&more_s), "{more_s}");
        // Of so few packets nobody looks.
        assert_eq!(over(lame, &BURSTS, 0.0, 30).reserves_needed, Some(0.0));
    }
}
