//! How a receiver fares that is locked on a frame: the hazard, cumulated over its symbols.
//!
//! One sender: closed form per stretch of constant interference. Synchronous senders of the same
//! frame: the sum of their phasors. Around the receiver's timing, MSK of senders that are off by
//! `d` chips is `u` (useful, cos) plus `v` (misaligned, sin), both sums over senders with beating
//! carriers; two samples a symbol, because beats reach 48 kHz (21 us) while a symbol takes 16 us.
//! The average over both is of `S / (S + G)`, as a limiting (phase) demodulator averages.
//! Not modelled: capture inside a symbol, carrier tracking. Tests: `tests/all/`, `src/tests/`.

use crate::cause::Without;
use crate::chip::{Chip, Modem};
use crate::modem::{oqpsk_interference, Demodulator};
use crate::phasors::{ratios, Carrier, Sender, LANES, STRIDE};
use crate::signal::{On, Signal};
use crate::EarId;

/// Half a chip pair: the unit of timing errors, 0.5 us.
const CHIP_NS: f64 = 500.0;
/// How much of the misaligned part acts as noise; fitted to chip-level receptions of 2 to 10
/// senders (`tests/all/oracle/`).
const MISALIGNED_WEIGHT: f64 = 0.45;
/// Above this ratio of signal to everything else the hazard is nil (14 dB).
const DOMINANT: f64 = 25.0;
/// Interference changes by `power` milliwatts, `at` nanoseconds after the locked frame's arrival.
#[derive(Debug, Clone, Copy)]
struct Change {
    at: f64,
    power: f64,
}

/// Buffers used again for every reception.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    senders: Vec<Sender>,
    changes: Vec<Change>,
}

/// The result of a reception.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Assessment {
    /// Cumulated hazard. Where the ear endures more than the whole frame can hold, or less than
    /// the part looked at, a bound of it on the same side.
    pub(crate) hazard: f64,
    /// Centre of the senders' arrivals, nanoseconds after the locked frame's.
    pub(crate) centre_ns: f64,
    /// Power of the senders, in milliwatts.
    pub(crate) power: f64,
    /// How many there are.
    pub(crate) senders: u16,
    /// Most interference at any time of it.
    pub(crate) interference: f64,
    /// Its disturbances, to be left out one after the other.
    pub(crate) disturbed: Disturbed,
}

impl Assessment {
    /// Of no sender yet.
    fn undisturbed(centre_ns: f64) -> Self {
        Self {
            hazard: 0.0,
            centre_ns,
            power: 0.0,
            senders: 0,
            interference: 0.0,
            disturbed: Disturbed::default(),
        }
    }
}

/// Which disturbances had a part in a reception.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Disturbed {
    co_channel: bool,
    other_channels: bool,
    external: bool,
    other_senders: bool,
}

impl Disturbed {
    /// Whether there is any of what `without` leaves out.
    pub(crate) const fn by(&self, without: Without) -> bool {
        match without {
            Without::Nothing => false,
            Without::CoChannel => self.co_channel,
            Without::OtherChannels => self.other_channels,
            Without::External => self.external,
            Without::OtherSenders => self.other_senders,
        }
    }
    /// How a frame disturbs that is not the locked one's, and where that is noted.
    #[inline]
    fn kind(&mut self, is_copy: bool, on: On) -> (Without, &mut bool) {
        match on {
            // A copy too late to be of use.
            _ if is_copy => (Without::OtherSenders, &mut self.other_senders),
            On::Same => (Without::CoChannel, &mut self.co_channel),
            On::Other => (Without::OtherChannels, &mut self.other_channels),
        }
    }
}

/// A receiver and what is around it while it is locked on a frame.
pub(crate) struct LockedReceiver<'a> {
    pub(crate) demodulator: &'a Demodulator,
    pub(crate) chip: &'a Chip,
    pub(crate) noise: f64,
    pub(crate) locked: &'a Signal,
    pub(crate) signals: &'a [Signal],
    pub(crate) bursts: &'a [(u64, u64)],
    pub(crate) burst_power: f64,
    pub(crate) carriers: &'a [Carrier],
}

impl LockedReceiver<'_> {
    /// The hazard of the locked frame's symbols before `until`, with what `without` leaves.
    pub(crate) fn assess(&self, until: u32, without: Without, scratch: &mut Scratch) -> Assessment {
        let first = self.first_counted();
        let symbols = f64::from(until.saturating_sub(first));
        let symbol_ns = self.chip.phy.symbol.as_nanos() as f64;
        let window = (f64::from(first) * symbol_ns, f64::from(until) * symbol_ns);
        let single_sender = without == Without::OtherSenders
            || !matches!(self.chip.modem, Modem::OQpsk | Modem::OQpskPlain);

        let centre = self.centre(single_sender);
        let Scratch { senders, changes } = scratch;
        senders.clear();
        changes.clear();
        let mut assessment = Assessment::undisturbed(centre.at_ns);
        let mut erasure = 0.0;
        for signal in self.signals {
            let after = signal.after(self.locked);
            let late = (after - centre.at_ns) / CHIP_NS;
            let is_copy = signal.is_synchronous_with(self.locked);
            assessment.disturbed.other_senders |= is_copy && signal.tx != self.locked.tx;
            let is_sender = if single_sender {
                signal.tx == centre.strongest.tx
            } else {
                is_copy && late.abs() < 1.0
            };
            if is_sender {
                assessment.power += signal.power;
                assessment.senders += 1;
                erasure += f64::from(signal.erasure) * signal.power;
                if !single_sender {
                    // Only differences count: phases are relative to the strongest sender's.
                    let is_strongest = signal.tx == centre.strongest.tx;
                    let phase = if is_strongest { 0.0 } else { signal.phase() };
                    senders.push(Sender::new(signal.from, signal.power.sqrt(), late, phase));
                }
                continue;
            }
            let (kind, disturbed) = assessment.disturbed.kind(is_copy, signal.on);
            if without < kind {
                let end = (signal.end() as i64 - self.locked.start as i64) as f64
                    + (f64::from(signal.delay) - f64::from(self.locked.delay));
                *disturbed |= push_interval(changes, window, after, end, signal.power);
            }
        }
        if without < Without::External {
            let has_bursts = self.push_bursts(changes, window);
            assessment.hazard = symbols * erasure / assessment.power;
            assessment.disturbed.external = has_bursts || erasure > 0.0;
        }
        assessment.interference = changes.iter().map(|c| c.power.max(0.0)).sum();
        changes.sort_unstable_by(|a, b| a.at.total_cmp(&b.at));
        assessment.hazard = if assessment.senders <= 1 {
            assessment.hazard + self.single(assessment, window, symbol_ns, changes)
        } else {
            self.several(assessment, first..until, symbol_ns, scratch)
        };
        assessment
    }

    /// Adds external bursts to `changes`; whether there is one in `window`.
    fn push_bursts(&self, changes: &mut Vec<Change>, window: (f64, f64)) -> bool {
        let zero = self.locked.start as f64 + f64::from(self.locked.delay);
        let mut any = false;
        for &(from, to) in self.bursts {
            let (from, to) = (from as f64 - zero, to as f64 - zero);
            any |= push_interval(changes, window, from, to, self.burst_power);
        }
        any
    }

    /// The locked frame's first symbol that counts.
    fn first_counted(&self) -> u32 {
        let phy = self.chip.phy.with_preamble(self.locked.preamble);
        phy.first_counted()
    }

    /// What the loudest other frame on the channel at each time, of those that are `near`, would have
    /// done alone to the locked frame's symbols before `until`, noise included, and whose did most
    /// of it. One sender only.
    pub(crate) fn loudest(
        &self,
        until: u32,
        near: impl Fn(&Signal) -> bool,
    ) -> Option<(f64, EarId)> {
        let symbol_ns = self.chip.phy.symbol.as_nanos() as f64;
        let window = [self.first_counted(), until].map(|s| f64::from(s) * symbol_ns);
        let (modem, power) = (self.chip.modem, self.locked.power);
        let hazard = |ns: f64, interference: f64| {
            let ratio = Demodulator::ratio(modem, power, self.noise, interference);
            ns / symbol_ns * self.demodulator.hazard(modem, ratio)
        };
        let is_other = |s: &&Signal| s.on == On::Same && !s.is_synchronous_with(self.locked);
        let span = |s: &Signal| {
            let from = s.after(self.locked);
            [from, from + f64::from(s.air)]
        };
        let others: Vec<&Signal> = self.signals.iter().filter(is_other).collect();
        let spans = others.iter().flat_map(|s| span(s));
        let mut cuts: Vec<f64> = spans.chain(window).collect();
        cuts.retain(|cut| (window[0]..=window[1]).contains(cut));
        cuts.sort_unstable_by(f64::total_cmp);
        let mut sum = hazard(window[1] - window[0], 0.0);
        let mut most: Option<(f64, EarId)> = None;
        for piece in cuts.windows(2) {
            let &[from, to] = piece else { continue };
            let there = others.iter().filter(|s| {
                let [begin, end] = span(s);
                begin <= from && to <= end && near(s)
            });
            if let Some(s) = there.max_by(|a, b| a.power.total_cmp(&b.power)) {
                let done = hazard(to - from, s.power);
                sum += done;
                if most.is_none_or(|(most, _)| done > most) {
                    most = Some((done, EarId(s.from)));
                }
            }
        }
        most.map(|(_, by)| (sum, by))
    }

    /// One sender: constant from one change of interference to the next.
    fn single(
        &self,
        assessment: Assessment,
        window: (f64, f64),
        symbol_ns: f64,
        changes: &[Change],
    ) -> f64 {
        let (modem, power) = (self.chip.modem, assessment.power);
        if Demodulator::ratio(modem, power, self.noise, assessment.interference) > DOMINANT {
            return 0.0;
        }
        // In symbols times nanoseconds.
        let endured = self.locked.endurance() * symbol_ns;
        let (mut hazard, mut interference, mut from) = (0.0, 0.0, window.0);
        for change in changes {
            if change.at > from {
                let g = Demodulator::ratio(modem, power, self.noise, interference);
                hazard += (change.at - from) * self.demodulator.hazard(modem, g);
                if hazard > endured {
                    return f64::INFINITY;
                }
                from = change.at;
            }
            interference = f64::max(interference + change.power, 0.0);
        }
        let g = Demodulator::ratio(modem, power, self.noise, interference);
        hazard += (window.1 - from) * self.demodulator.hazard(modem, g);
        hazard / symbol_ns
    }

    /// Several synchronous senders; on top of the hazard so far.
    fn several(
        &self,
        assessment: Assessment,
        symbols: core::ops::Range<u32>,
        symbol_ns: f64,
        scratch: &mut Scratch,
    ) -> f64 {
        let Scratch { senders, changes } = scratch;
        let table = self.demodulator.oqpsk();
        let endurance = self.locked.endurance();
        // However the phases fall: the strongest less all the others, and all misalignment at once.
        let (mut most, mut sum, mut misaligned) = (0.0, 0.0, 0.0);
        for sender in senders.iter() {
            most = f64::max(most, sender.aligned());
            sum += sender.aligned();
            misaligned += sender.misaligned().abs();
        }
        let least = f64::max(2.0 * most - sum, 0.0);
        let worst = MISALIGNED_WEIGHT * misaligned * misaligned
            + self.noise
            + oqpsk_interference(assessment.interference, assessment.power);
        let bound = assessment.hazard
            + f64::from(symbols.end.saturating_sub(symbols.start))
                * table.hazard(least * least / worst);
        if bound < endurance {
            return bound;
        }
        senders.iter_mut().for_each(Sender::begin);
        let mut hazard = assessment.hazard;
        let mut interference = 0.0;
        let mut floor = self.noise;
        let mut changes = changes.iter().peekable();
        let mut symbol = symbols.start;
        while symbol < symbols.end && hazard < endurance {
            let mut floors = [floor; LANES];
            for (lane, floor_of) in (0..).zip(&mut floors) {
                let middle = (f64::from(symbol + lane * STRIDE) + 0.5) * symbol_ns;
                while let Some(change) = changes.next_if(|change| change.at <= middle) {
                    interference = f64::max(interference + change.power, 0.0);
                    floor = self.noise + oqpsk_interference(interference, assessment.power);
                }
                *floor_of = floor;
            }
            for ratio in ratios(senders, self.carriers, MISALIGNED_WEIGHT, &floors) {
                let weight = STRIDE.min(symbols.end.saturating_sub(symbol));
                hazard += f64::from(weight) * table.hazard(ratio);
                symbol += STRIDE;
            }
        }
        hazard
    }

    /// Where the senders' power is centred, and the strongest of them.
    fn centre(&self, single_sender: bool) -> Centre {
        let mut strongest = *self.locked;
        let (mut power, mut moment, mut count) = (0.0, 0.0, 0);
        if matches!(self.chip.modem, Modem::OQpsk | Modem::OQpskPlain) {
            for signal in self.signals {
                if signal.is_synchronous_with(self.locked) {
                    power += signal.power;
                    moment += signal.power * signal.after(self.locked);
                    count += 1;
                    if signal.power > strongest.power {
                        strongest = *signal;
                    }
                }
            }
        }
        let at_ns = if single_sender {
            strongest.after(self.locked)
        } else if count > 1 {
            moment / power
        } else {
            0.0
        };
        Centre { at_ns, strongest }
    }
}

struct Centre {
    at_ns: f64,
    strongest: Signal,
}

/// Keeps what of an interval of interference is in the window; whether anything is.
fn push_interval(
    changes: &mut Vec<Change>,
    window: (f64, f64),
    from: f64,
    to: f64,
    power: f64,
) -> bool {
    let (from, to) = (from.max(window.0), to.min(window.1));
    let overlaps = from < to;
    if overlaps {
        changes.push(Change { at: from, power });
        changes.push(Change {
            at: to,
            power: -power,
        });
    }
    overlaps
}
