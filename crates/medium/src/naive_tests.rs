//! A naive medium: keeps every transmission for ever, and for each question looks at all of them,
//! interval by interval and phasor by phasor. It shares with the real one the draws, the links and
//! the modem's closed form, and nothing of its bookkeeping; on random traffic both must agree,
//! outcome by outcome.

use crate::chip::CC2420;
use crate::interference::Bursts;
use crate::modem::{oqpsk_interference, HazardTable};
use crate::random::{derive, mix, nth, open_unit, stream, Stream};
use crate::variation::Draws;
use crate::{
    Air, Cause, Deaf, EarId, Environment, Explain, FrameId, Interference, Locked, Medium, Outcome,
    Sending, Source, Variation,
};
use core::f64::consts::{FRAC_PI_2, TAU};
use proptest::prelude::*;
use rand_pcg::rand_core::RngCore;
use std::sync::Arc;
use thalweg_units::{Channel, Dbm, Duration, SimTime};

#[derive(Clone)]
struct Sent {
    from: u32,
    channel: Channel,
    start: u64,
    end: u64,
    power: f64,
    mpdu: Vec<u8>,
}

struct Naive {
    env: Arc<Environment>,
    draws: Draws,
    bursts: Bursts,
    table: HazardTable,
    sent: Vec<Sent>,
    /// Channel, and since when.
    tuned: Vec<Option<(Channel, u64)>>,
    locked: Vec<Option<usize>>,
}

/// What counts in a reception.
#[derive(Clone, Copy)]
struct Counts {
    co: bool,
    adjacent: bool,
    external: bool,
    copies: bool,
}

const ALL: Counts = Counts {
    co: true,
    adjacent: true,
    external: true,
    copies: true,
};

/// -1.5 dB.
const LOCK: f64 = 0.707_945_784_384_137_9;

fn word(draws: &Draws, i: usize, ear: usize) -> u64 {
    nth(draws.key(i as u64), ear as u64)
}

impl Naive {
    fn new(env: Arc<Environment>, seed: u64) -> Self {
        let ears = env.ears.len();
        Self {
            draws: Draws::new(env.variation, seed),
            bursts: Bursts::new(&env.interference, derive(seed, "interference", &[])),
            table: HazardTable::new(),
            sent: Vec::new(),
            tuned: vec![None; ears],
            locked: vec![None; ears],
            env,
        }
    }

    fn noise(&self, ear: usize) -> f64 {
        self.env.ears[ear].noise_floor.milliwatts().0
    }

    /// Power of transmission `i` at `ear`, if the ear has heard of it at all.
    fn power(&self, ear: usize, i: usize) -> Option<f64> {
        let sent = &self.sent[i];
        let (channel, since) = self.tuned[ear]?;
        let to = EarId(ear as u32);
        let link = self.env.links.between(EarId(sent.from), to, sent.channel)?;
        let word = word(&self.draws, i, ear);
        let leak = self.env.ears[ear]
            .chip
            .adjacent
            .leak(channel.index(), sent.channel.index());
        let power = f64::from(link.gain_mw)
            * sent.power
            * self.draws.factor(word, EarId(sent.from), to, sent.channel)
            * leak;
        (sent.end > since && power >= 0.01 * self.noise(ear)).then_some(power)
    }

    fn delay(&self, ear: usize, i: usize) -> f64 {
        let sent = &self.sent[i];
        self.env
            .links
            .between(EarId(sent.from), EarId(ear as u32), sent.channel)
            .map_or(0.0, |link| f64::from(link.delay_ns))
    }

    fn arrival_after(&self, ear: usize, i: usize, reference: usize) -> f64 {
        (self.sent[i].start as f64 - self.sent[reference].start as f64) + self.delay(ear, i)
            - self.delay(ear, reference)
    }

    fn copies(&self, ear: usize, i: usize, reference: usize) -> bool {
        self.sent[i].mpdu == self.sent[reference].mpdu
            && self.sent[i].channel == self.sent[reference].channel
            && self.arrival_after(ear, i, reference).abs() < 1000.0
    }

    fn external(&mut self, ear: usize, from: u64, to: u64) -> Vec<(u64, u64, f64)> {
        let mut all = Vec::new();
        let Some((channel, _)) = self.tuned[ear] else {
            return all;
        };
        if let Some((source, power)) = self.env.interference.at(ear, channel) {
            let env = Arc::clone(&self.env);
            self.bursts
                .overlapping(&env.interference, source, from, to, |(a, b)| {
                    all.push((a, b, power));
                });
        }
        all
    }

    fn endurance(&self, ear: usize, i: usize) -> f64 {
        let word = word(&self.draws, i, ear);
        -libm::log(open_unit(mix(word ^ 0x5851_f42d_4c95_7f2d)))
    }

    /// Hazard of symbols 6 to `until` of transmission `i` at `ear`, and the number of senders.
    fn hazard(&mut self, ear: usize, i: usize, until: u32, counts: Counts) -> (f64, usize) {
        let (channel, _) = self.tuned[ear].unwrap();
        let known: Vec<(usize, f64)> = (0..self.sent.len())
            .filter_map(|k| Some((k, self.power(ear, k)?)))
            .collect();
        let group: Vec<_> = known
            .iter()
            .copied()
            .filter(|(k, _)| self.copies(ear, *k, i))
            .collect();
        let strongest = *group
            .iter()
            .fold(&group[0], |a, b| if b.1 > a.1 { b } else { a });
        let total: f64 = group.iter().map(|(_, p)| p).sum();
        let centre: f64 = group
            .iter()
            .map(|(k, p)| p * self.arrival_after(ear, *k, i))
            .sum::<f64>()
            / total;
        let senders: Vec<_> = if counts.copies {
            group
                .iter()
                .copied()
                .filter(|(k, _)| (self.arrival_after(ear, *k, i) - centre).abs() < 500.0)
                .collect()
        } else {
            vec![strongest]
        };
        let power: f64 = senders.iter().map(|(_, p)| p).sum();
        let zero = self.sent[i].start as f64 + self.delay(ear, i);
        let bursts = if counts.external {
            self.external(ear, self.sent[i].start, self.sent[i].end)
        } else {
            Vec::new()
        };
        let interference = |t: f64| {
            let mut sum = 0.0;
            for &(k, p) in &known {
                let same = self.sent[k].channel == channel;
                let counted = if group.iter().any(|(g, _)| *g == k) {
                    counts.copies
                } else if same {
                    counts.co
                } else {
                    counts.adjacent
                };
                let begin = self.arrival_after(ear, k, i);
                let end = begin + (self.sent[k].end - self.sent[k].start) as f64;
                if counted && !senders.iter().any(|(s, _)| *s == k) && begin <= t && t < end {
                    sum += p;
                }
            }
            sum + bursts
                .iter()
                .filter(|(a, b, _)| *a as f64 - zero <= t && t < *b as f64 - zero)
                .map(|(_, _, p)| p)
                .sum::<f64>()
        };
        let noise = self.noise(ear);
        if senders.len() == 1 {
            // Every tenth of a microsecond boundary that matters, by cutting at all of them.
            let mut cuts = vec![96_000.0, f64::from(until) * 16_000.0];
            for &(k, _) in &known {
                let begin = self.arrival_after(ear, k, i);
                cuts.push(begin);
                cuts.push(begin + (self.sent[k].end - self.sent[k].start) as f64);
            }
            for &(a, b, _) in &bursts {
                cuts.push(a as f64 - zero);
                cuts.push(b as f64 - zero);
            }
            cuts.retain(|t| (96_000.0..=f64::from(until) * 16_000.0).contains(t));
            cuts.sort_by(f64::total_cmp);
            let mut hazard = 0.0;
            for pair in cuts.windows(2) {
                let jam = interference(0.5 * (pair[0] + pair[1]));
                let g = power / (noise + oqpsk_interference(jam, power));
                hazard += (pair[1] - pair[0]) / 16_000.0 * self.table.hazard(g);
            }
            return (hazard, 1);
        }
        let mut hazard = 0.0;
        let mut symbol = 6;
        while symbol < until {
            let jam = interference((f64::from(symbol) + 0.5) * 16_000.0);
            let floor = noise + oqpsk_interference(jam, power);
            let mut q = 0.0;
            for sample in [4e-6, 12e-6] {
                // Phases count from the first sample.
                let t = f64::from(symbol - 6) * 16e-6 + sample - 4e-6;
                let (mut u, mut v) = ((0.0, 0.0), (0.0, 0.0));
                for &(k, p) in &senders {
                    let word = word(&self.draws, k, ear);
                    let offset =
                        |k: usize| self.env.ears[self.sent[k].from as usize].carrier_offset_hz;
                    let turns = if k == strongest.0 {
                        0.0
                    } else {
                        (word >> 32) as f64 / 4_294_967_296.0
                            + (offset(k) - offset(strongest.0)) * t
                    };
                    let (sin, cos) = libm::sincos(TAU * turns);
                    let late = (self.arrival_after(ear, k, i) - centre) / 500.0;
                    let (sd, cd) = libm::sincos(FRAC_PI_2 * late);
                    let a = p.sqrt();
                    u = (u.0 + a * cd * cos, u.1 + a * cd * sin);
                    v = (v.0 + a * sd * cos, v.1 + a * sd * sin);
                }
                let s = u.0 * u.0 + u.1 * u.1;
                q += s / (s + 0.45 * (v.0 * v.0 + v.1 * v.1) + floor);
            }
            let weight = if until - symbol < 2 { 1.0 } else { 2.0 };
            hazard += weight * self.table.hazard(q / (2.0 - q));
            symbol += 2;
        }
        (hazard, senders.len())
    }

    fn can_lock(&mut self, ear: usize, i: usize, at: u64) -> bool {
        let (mut useful, mut rest) = (0.0, self.noise(ear));
        for k in 0..self.sent.len() {
            let on_air = self.sent[k].start <= at && at < self.sent[k].end;
            if let (true, Some(p)) = (on_air, self.power(ear, k)) {
                if self.copies(ear, k, i) {
                    useful += p;
                } else {
                    rest += p;
                }
            }
        }
        rest += self
            .external(ear, at, at + 1)
            .iter()
            .map(|(_, _, p)| p)
            .sum::<f64>();
        useful > LOCK * rest
    }

    fn transmit(&mut self, sent: Sent) -> Vec<Locked> {
        let from = sent.from as usize;
        self.tuned[from] = None;
        self.locked[from] = None;
        let at = sent.start;
        let channel = sent.channel;
        self.sent.push(sent);
        let i = self.sent.len() - 1;
        let mut locked = Vec::new();
        let on = FrameId(i as u64);
        for ear in 0..self.tuned.len() {
            let Some(power) = self.power(ear, i) else {
                continue;
            };
            if self.tuned[ear].map(|t| t.0) != Some(channel) {
                continue;
            }
            if let Some(current) = self.locked[ear] {
                if self.copies(ear, i, current) {
                    continue;
                }
                let age = at - self.sent[current].start;
                if age < 160_000 {
                    let group: f64 = (0..self.sent.len())
                        .filter(|k| self.copies(ear, *k, current))
                        .filter_map(|k| self.power(ear, k))
                        .sum();
                    if power < 1.995_262_314_968_879_5 * group {
                        continue;
                    }
                } else if age < 192_000
                    || self.hazard(ear, current, 12, ALL).0 < self.endurance(ear, current)
                {
                    continue;
                }
            }
            if self.can_lock(ear, i, at) {
                self.locked[ear] = Some(i);
                let ear = EarId(ear as u32);
                locked.push(Locked { ear, on });
            }
        }
        locked
    }

    /// Frame `i` is over: who could have received it, and is idle, looks for another's preamble.
    fn seek(&mut self, i: usize) -> Vec<Locked> {
        let (over, mut locked) = (self.sent[i].clone(), Vec::new());
        for ear in 0..self.tuned.len() {
            let to = EarId(ear as u32);
            let link = self.env.links.between(EarId(over.from), to, over.channel);
            let most =
                link.map_or(0.0, |link| f64::from(link.gain_mw)) * over.power * self.draws.most;
            let near = most >= LOCK * self.noise(ear);
            let listens = self.tuned[ear].map(|t| t.0) == Some(over.channel);
            if !near || !listens || self.locked[ear].is_some() {
                continue;
            }
            let goes_on = |s: &Sent| over.end <= s.start + 96_000 && s.end > over.end;
            let found = (0..self.sent.len())
                .filter(|k| self.sent[*k].channel == over.channel && goes_on(&self.sent[*k]))
                .filter_map(|k| Some((k, self.power(ear, k)?)))
                .max_by(|a, b| a.1.total_cmp(&b.1));
            if let Some((k, _)) = found.filter(|(k, _)| self.can_lock(ear, *k, over.end)) {
                self.locked[ear] = Some(k);
                let on = FrameId(k as u64);
                locked.push(Locked { ear: to, on });
            }
        }
        locked
    }

    fn listen(&mut self, at: u64, ear: usize, channel: Channel) -> Option<usize> {
        self.tuned[ear] = Some((channel, at));
        self.locked[ear] = None;
        let best = (0..self.sent.len())
            .filter(|k| self.sent[*k].channel == channel && at <= self.sent[*k].start + 96_000)
            .filter_map(|k| Some((k, self.power(ear, k)?)))
            .fold(None, |best: Option<(usize, f64)>, new| match best {
                Some(old) if old.1 >= new.1 => Some(old),
                _ => Some(new),
            })?;
        self.can_lock(ear, best.0, at).then(|| {
            self.locked[ear] = Some(best.0);
            best.0
        })
    }

    fn end(&mut self, i: usize) -> Vec<(EarId, Outcome, u16)> {
        let total = 2 * (6 + self.sent[i].mpdu.len() as u32 + 2);
        let mut received = Vec::new();
        for ear in 0..self.tuned.len() {
            if self.locked[ear] != Some(i) {
                continue;
            }
            self.locked[ear] = None;
            let endurance = self.endurance(ear, i);
            let (hazard, senders) = self.hazard(ear, i, total, ALL);
            let mut outcome = Outcome::Good;
            if hazard >= endurance {
                if self.hazard(ear, i, 12, ALL).0 >= endurance {
                    continue;
                }
                let mut counts = ALL;
                let mut cause = Cause::Weak;
                for (step, candidate) in [
                    Cause::Collision,
                    Cause::AdjacentChannel,
                    Cause::External,
                    Cause::BeatNull,
                ]
                .into_iter()
                .enumerate()
                {
                    match step {
                        0 => counts.co = false,
                        1 => counts.adjacent = false,
                        2 => counts.external = false,
                        _ => counts.copies = false,
                    }
                    if self.hazard(ear, i, total, counts).0 < endurance {
                        cause = candidate;
                        break;
                    }
                }
                outcome = Outcome::Corrupt(Some(cause));
            }
            received.push((EarId(ear as u32), outcome, senders as u16));
        }
        received
    }
}

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
    env.variation = Variation::SHORT_RUN;
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
    let runs = (1..6).map(|seed| compare(seed, 12, 200));
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
