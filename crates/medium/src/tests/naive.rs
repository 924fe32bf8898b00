//! A naive medium: keeps every transmission for ever, and for each question looks at all of them,
//! interval by interval and phasor by phasor. It shares with the real one the draws, the links and
//! the modem's closed form, and nothing of its bookkeeping; on random traffic both must agree,
//! outcome by outcome.

use crate::draws::Draws;
use crate::drift::Held;
use crate::interference::Bursts;
use crate::modem::{oqpsk_interference, HazardTable};
use crate::random::{derive, mix, nth, open_unit};
use crate::{Cause, EarId, Environment, FrameId, Locked, Outcome};
use core::f64::consts::{FRAC_PI_2, TAU};
use std::cell::RefCell;
use std::sync::Arc;
use thalweg_units::Channel;

#[derive(Clone)]
pub(super) struct Sent {
    pub(super) from: u32,
    pub(super) channel: Channel,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) power: f64,
    pub(super) mpdu: Vec<u8>,
}

pub(super) struct Naive {
    env: Arc<Environment>,
    draws: RefCell<Draws>,
    bursts: Bursts,
    table: HazardTable,
    pub(super) sent: Vec<Sent>,
    /// Channel, and since when.
    pub(super) tuned: Vec<Option<(Channel, u64)>>,
    pub(super) locked: Vec<Option<usize>>,
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
    pub(super) fn new(env: Arc<Environment>, seed: u64) -> Self {
        let ears = env.ears.len();
        Self {
            draws: RefCell::new(Draws::new(env.variation, env.world, seed)),
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
        let word = word(&self.draws.borrow(), i, ear);
        let (from, when) = (EarId(sent.from), (sent.start, word));
        let factor =
            (self.draws.borrow_mut()).factor(&mut Held::default(), when, from, to, sent.channel);
        let leak = self.env.ears[ear]
            .chip
            .adjacent
            .leak(channel.index(), sent.channel.index());
        let power = f64::from(link.gain_mw) * sent.power * factor * leak;
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
        let word = word(&self.draws.borrow(), i, ear);
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
                    let word = word(&self.draws.borrow(), k, ear);
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

    pub(super) fn transmit(&mut self, sent: Sent) -> Vec<Locked> {
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

    /// Frame `i` is over: idle ears that could have received it look for another's preamble.
    pub(super) fn seek(&mut self, i: usize) -> Vec<Locked> {
        let (over, mut locked) = (self.sent[i].clone(), Vec::new());
        for ear in 0..self.tuned.len() {
            let to = EarId(ear as u32);
            let link = self.env.links.between(EarId(over.from), to, over.channel);
            let most = link.map_or(0.0, |link| f64::from(link.gain_mw))
                * over.power
                * self.draws.borrow().most;
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

    pub(super) fn listen(&mut self, at: u64, ear: usize, channel: Channel) -> Option<usize> {
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

    pub(super) fn end(&mut self, i: usize) -> Vec<(EarId, Outcome, u16)> {
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
