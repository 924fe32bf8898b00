//! The medium and the naive one agree on random traffic.

use super::naive::{Naive, Sent};
use crate::chip::CC2420;
use crate::random::{derive, nth, open_unit, stream, Stream};
use crate::{
    Air, Cause, Deaf, EarId, Environment, Explain, FrameId, Interference, Locked, Medium, Outcome,
    Sending, Source, Variation,
};
use proptest::prelude::*;
use rand_pcg::rand_core::RngCore;
use std::sync::Arc;
use thalweg_units::{Channel, Dbm, Duration, SimTime};

fn below(rng: &mut Stream, n: u64) -> u64 {
    rng.next_u64() % n
}

fn site(seed: u64, ears: usize) -> Environment {
    let gain = |from: usize, to: usize, channel: Channel| {
        let pair = derive(
            seed,
            "gain",
            &[from as u64, to as u64, channel.index() as u64],
        );
        Some(Dbm(-52.0 - 52.0 * open_unit(pair)))
    };
    let mut env = Environment::from_gains(ears, &CC2420, seed, gain);
    env.variation = Variation::default();
    let source = Source {
        id: 1,
        on_share: 0.5,
        on_rate_hz: 120.0,
        off_rate_hz: 10.0,
        mean_burst: Duration::from_millis(1),
        load_period: Duration::from_millis(100),
    };
    let power = |ear| {
        Dbm(-100.0 + 40.0 * open_unit(nth(seed, ear)))
            .milliwatts()
            .0 as f32
    };
    env.interference = Interference::new(
        vec![[None, None, None, Some(source)]],
        (0..ears as u64).map(|ear| (0, [power(ear); 4])).collect(),
    );
    env
}

/// With the naive medium's names of frames.
fn numbered(locked: &[Locked], names: &[FrameId]) -> Vec<Locked> {
    let number = |on| names.iter().position(|name| *name == on).unwrap();
    let name = |l: &Locked| Locked {
        on: FrameId(number(l.on) as u64),
        ..*l
    };
    locked.iter().map(name).collect()
}

/// Runs random traffic through both; returns all outcomes, and how often an ear that was set free
/// found a preamble.
fn compare(seed: u64, ears: usize, frames: usize) -> (Vec<(Outcome, u16)>, usize) {
    let env = Arc::new(site(seed, ears));
    let mut medium = Medium::new(Arc::clone(&env), seed);
    let mut naive = Naive::new(env, seed);
    let mut rng = stream(seed, "traffic", &[]);
    let channels = [24, 25, 26].map(|c| Channel::new(c).unwrap());
    let mut ends: Vec<(u64, FrameId, usize)> = Vec::new();
    let (mut locked, mut received) = (Vec::new(), Vec::new());
    let (mut outcomes, mut names, mut found) = (Vec::new(), Vec::new(), 0);
    for ear in 0..ears {
        let channel = channels[below(&mut rng, 3) as usize];
        medium.listen(SimTime::ZERO, EarId(ear as u32), channel);
        naive.listen(0, ear, channel);
    }
    let mut now = 1_000_000;
    for step in 0..frames {
        // One to four synchronous copies, then a pause.
        let mut at = now;
        let channel = channels[below(&mut rng, 3) as usize];
        let mpdu = vec![step as u8; 5 + below(&mut rng, 60) as usize];
        let copies = if below(&mut rng, 2) == 0 {
            1
        } else {
            1 + below(&mut rng, 4)
        };
        let mut events = Vec::new();
        for _ in 0..copies {
            events.push(at);
            at += below(&mut rng, 300);
        }
        for at in events {
            ends.sort_unstable();
            while ends.first().is_some_and(|(end, _, _)| *end <= at) {
                let (end, tx, i) = ends.remove(0);
                received.clear();
                locked.clear();
                medium.end(
                    SimTime::from_nanos(end),
                    tx,
                    Explain::Losses,
                    &mut received,
                    &mut locked,
                );
                let coarse = |outcome| match outcome {
                    Outcome::Corrupt(Some(cause)) if cause.is_co_channel() => {
                        Outcome::Corrupt(Some(Cause::Collision))
                    }
                    other => other,
                };
                let mut got: Vec<_> = received
                    .iter()
                    .map(|r| (r.ear, coarse(r.outcome), r.senders))
                    .collect();
                got.sort_by_key(|r| r.0);
                assert_eq!(got, naive.end(i), "seed {seed}, transmission {i}");
                outcomes.extend(got.iter().map(|r| (r.1, r.2)));
                let sought = numbered(&locked, &names);
                assert_eq!(sought, naive.seek(i), "seed {seed}, transmission {i}");
                found += sought.len();
            }
            let from = below(&mut rng, ears as u64) as u32;
            if ends.iter().any(|(_, _, i)| naive.sent[*i].from == from) {
                continue;
            }
            let power = Dbm(-(below(&mut rng, 3) as f64) * 3.0);
            let time = SimTime::from_nanos(at);
            locked.clear();
            let tx = medium.begin(
                time,
                &Sending::of(&CC2420, EarId(from), channel, power, &mpdu),
                &mut locked,
            );
            let end = at + CC2420.phy.air_time(mpdu.len()).as_nanos();
            let sent = Sent {
                from,
                channel,
                start: at,
                end,
                power: power.milliwatts().0,
                mpdu: mpdu.clone(),
            };
            names.push(tx);
            let locked = numbered(&locked, &names);
            assert_eq!(locked, naive.transmit(sent), "seed {seed}, step {step}");
            ends.push((end, tx, naive.sent.len() - 1));
        }
        now = at + below(&mut rng, 1_500_000);
        // Somebody retunes or sleeps; often early enough to catch the preamble just sent.
        let when = (at + below(&mut rng, 200_000)).min(now);
        if ends.iter().all(|(end, _, _)| *end > when) {
            let ear = below(&mut rng, ears as u64) as usize;
            if !ends
                .iter()
                .any(|(_, _, i)| naive.sent[*i].from as usize == ear)
            {
                let time = SimTime::from_nanos(when);
                if below(&mut rng, 5) == 0 {
                    medium.deafen(time, EarId(ear as u32), Deaf::Sleeping);
                    naive.tuned[ear] = None;
                    naive.locked[ear] = None;
                } else {
                    let channel = channels[below(&mut rng, 3) as usize];
                    let got = medium.listen(time, EarId(ear as u32), channel);
                    let want = naive.listen(when, ear, channel);
                    assert_eq!(got.is_some(), want.is_some(), "seed {seed}, step {step}");
                }
            }
        }
        // Senders listen again.
        for ear in 0..ears {
            if naive.tuned[ear].is_none() && below(&mut rng, 3) == 0 {
                let busy = ends
                    .iter()
                    .any(|(_, _, i)| naive.sent[*i].from as usize == ear);
                if !busy && ends.iter().all(|(end, _, _)| *end > now) {
                    let channel = channels[below(&mut rng, 3) as usize];
                    medium.listen(SimTime::from_nanos(now), EarId(ear as u32), channel);
                    naive.listen(now, ear, channel);
                }
            }
        }
    }
    (outcomes, found)
}

#[test]
fn random_traffic_is_not_trivial() {
    let runs = (1..24).map(|seed| compare(seed, 12, 200));
    let (outcomes, found): (Vec<_>, Vec<_>) = runs.unzip();
    let outcomes = outcomes.concat();
    assert!(found.iter().sum::<usize>() > 10, "{found:?}");
    let count = |wanted: Outcome| outcomes.iter().filter(|(o, _)| *o == wanted).count();
    assert!(count(Outcome::Good) > 300, "{outcomes:?}");
    for cause in [
        Cause::Weak,
        Cause::BeatNull,
        Cause::Collision,
        Cause::AdjacentChannel,
        Cause::External,
    ] {
        assert!(count(Outcome::Corrupt(Some(cause))) > 0, "{cause:?}");
    }
    assert!(outcomes.iter().filter(|(_, senders)| *senders > 1).count() > 50);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_medium_agrees_with_the_naive_one(seed in any::<u64>(), ears in 3usize..14) {
        compare(seed, ears, 80);
    }
}

#[test]
fn a_burst_that_reaches_into_the_next_block_disturbs_once() {
    compare(301_858_888_600_208_817, 10, 80);
}
