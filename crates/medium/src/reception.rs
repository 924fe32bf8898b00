//! What a receiver that is locked on a frame makes of it: the hazard, cumulated over its symbols.
//!
//! One sender: closed form per stretch of constant interference. Synchronous senders of the same
//! frame: the sum of their phasors. Around the receiver's timing, MSK of senders that are off by
//! `d` chips is `u` (useful, cos) plus `v` (misaligned, sin), both sums over senders with beating
//! carriers; two samples a symbol, because beats reach 48 kHz (21 us) while a symbol takes 16 us.
//! The average over both is of `S / (S + G)`, as a limiting (phase) demodulator averages.
//! Not modelled: capture inside a symbol, carrier tracking. Tests: here, `tests/`.

use crate::chip::{Chip, Modem};
use crate::losscause::Without;
use crate::modem::{oqpsk_interference, Demodulator};
use crate::signal::{On, Signal};
use core::f64::consts::{FRAC_PI_2, TAU};

/// Half a chip pair: the unit of timing errors, 0.5 us.
const CHIP_NS: f64 = 500.0;
/// How much of the misaligned part acts as noise; fitted to chip-level receptions of 2 to 10
/// senders (see `tests/chip_level.rs`).
const MISALIGNED_WEIGHT: f64 = 0.45;
/// Every how many symbols the phasors are summed; each sum stands for as many symbols. Beats of
/// up to 48 kHz are sampled at random phases either way; every second symbol is as close to the
/// chip-level receiver as every symbol (rms error of PRR .04 at 127 B), every fourth is worse on
/// short frames, and samples may never be skipped inside a symbol.
const STRIDE: u32 = 2;
/// Above this ratio of signal to everything else the hazard is nil (14 dB).
const DOMINANT: f64 = 25.0;
/// A hazard that nobody endures.
const HOPELESS: f64 = 40.0;
/// Time between the two samples of a symbol, and from its second to the first of the next one.
const WITHIN_US: f64 = 8.0;
const ACROSS_US: f64 = 16.0 * STRIDE as f64 - WITHIN_US;

/// A complex number.
#[derive(Debug, Clone, Copy, Default)]
struct Complex {
    re: f64,
    im: f64,
}

impl Complex {
    fn turn(fraction: f64) -> Self {
        let (im, re) = libm::sincos(TAU * fraction);
        Self { re, im }
    }
    #[inline]
    fn times(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
    #[inline]
    fn conjugate(self) -> Self {
        Self {
            re: self.re,
            im: -self.im,
        }
    }
}

/// By how much a sender's carrier turns between samples.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rotation {
    within: Complex,
    across: Complex,
}

impl Rotation {
    pub(crate) fn new(carrier_offset_hz: f64) -> Self {
        Self {
            within: Complex::turn(carrier_offset_hz * WITHIN_US * 1e-6),
            across: Complex::turn(carrier_offset_hz * ACROSS_US * 1e-6),
        }
    }
}

/// One of several synchronous senders.
#[derive(Debug, Clone, Copy)]
struct Sender {
    aligned: f64,
    misaligned: f64,
    phasor: Complex,
    within: Complex,
    across: Complex,
}

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

/// What came of a reception.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heard {
    /// Cumulated hazard.
    pub(crate) hazard: f64,
    /// Centre of the senders' arrivals, nanoseconds after the locked frame's.
    pub(crate) centre_ns: f64,
    /// Power of the senders, in milliwatts.
    pub(crate) power: f64,
    /// How many there are.
    pub(crate) senders: u16,
    /// Most interference at any time of it.
    pub(crate) interference: f64,
}

/// A receiver and what is around it while it is locked on a frame.
pub(crate) struct Hearing<'a> {
    pub(crate) demodulator: &'a Demodulator,
    pub(crate) chip: &'a Chip,
    pub(crate) noise: f64,
    pub(crate) locked: &'a Signal,
    pub(crate) signals: &'a [Signal],
    pub(crate) bursts: &'a [(u64, u64)],
    pub(crate) burst_power: f64,
    pub(crate) rotations: &'a [Rotation],
}

impl Hearing<'_> {
    /// The hazard of the locked frame's symbols before `until`, with what `without` leaves.
    pub(crate) fn assess(&self, until: u32, without: Without, scratch: &mut Scratch) -> Heard {
        let first = self.chip.phy.first_counted();
        let symbols = f64::from(until.saturating_sub(first));
        let symbol_ns = self.chip.phy.symbol.as_nanos() as f64;
        let window = (f64::from(first) * symbol_ns, f64::from(until) * symbol_ns);
        let alone = without == Without::OtherSenders || !matches!(self.chip.modem, Modem::OQpsk);

        let centre = self.centre(alone);
        scratch.senders.clear();
        scratch.changes.clear();
        let mut heard = Heard {
            hazard: 0.0,
            centre_ns: centre.at_ns,
            power: 0.0,
            senders: 0,
            interference: 0.0,
        };
        let mut erasure = 0.0;
        for signal in self.signals {
            let after = signal.after(self.locked);
            let late = (after - centre.at_ns) / CHIP_NS;
            let is_sender = if alone {
                signal.tx == centre.strongest.tx
            } else {
                signal.is_synchronous_with(self.locked) && late.abs() < 1.0
            };
            if is_sender {
                heard.power += signal.power;
                heard.senders += 1;
                erasure += f64::from(signal.erasure) * signal.power;
                if !alone {
                    scratch
                        .senders
                        .push(self.sender(signal, late, &centre.strongest));
                }
                continue;
            }
            let ignored = match signal.on {
                On::Same => without >= Without::CoChannel,
                On::Other => without >= Without::OtherChannels,
            };
            // A copy too late to be of use stays what the senders do to each other.
            let ignored = if signal.is_synchronous_with(self.locked) {
                without >= Without::OtherSenders
            } else {
                ignored
            };
            if !ignored {
                let end = (signal.end as i64 - self.locked.start as i64) as f64
                    + (f64::from(signal.delay) - f64::from(self.locked.delay));
                push_interval(&mut scratch.changes, window, after, end, signal.power);
            }
        }
        if without < Without::External {
            let zero = self.locked.start as f64 + f64::from(self.locked.delay);
            for &(from, to) in self.bursts {
                let (from, to) = (from as f64 - zero, to as f64 - zero);
                push_interval(&mut scratch.changes, window, from, to, self.burst_power);
            }
            heard.hazard = symbols * erasure / heard.power;
        }
        heard.interference = scratch.changes.iter().map(|c| c.power.max(0.0)).sum();
        scratch
            .changes
            .sort_unstable_by(|a, b| a.at.total_cmp(&b.at));
        heard.hazard += if heard.senders <= 1 {
            self.single(
                heard.power,
                heard.interference,
                window,
                symbol_ns,
                &scratch.changes,
            )
        } else {
            self.several(heard, first..until, symbol_ns, scratch)
        };
        heard
    }

    /// One sender: constant from one change of interference to the next.
    fn single(
        &self,
        power: f64,
        most: f64,
        window: (f64, f64),
        symbol_ns: f64,
        changes: &[Change],
    ) -> f64 {
        let modem = self.chip.modem;
        if Demodulator::ratio(modem, power, self.noise, most) > DOMINANT {
            return 0.0;
        }
        let (mut hazard, mut interference, mut from) = (0.0, 0.0, window.0);
        for change in changes {
            if change.at > from {
                let g = Demodulator::ratio(modem, power, self.noise, interference);
                hazard += (change.at - from) * self.demodulator.hazard(modem, g);
                from = change.at;
            }
            interference = f64::max(interference + change.power, 0.0);
        }
        let g = Demodulator::ratio(modem, power, self.noise, interference);
        hazard += (window.1 - from) * self.demodulator.hazard(modem, g);
        hazard / symbol_ns
    }

    /// Several synchronous senders.
    fn several(
        &self,
        heard: Heard,
        symbols: core::ops::Range<u32>,
        symbol_ns: f64,
        scratch: &mut Scratch,
    ) -> f64 {
        let Scratch { senders, changes } = scratch;
        // However the phases fall: the strongest less all the others, and all misalignment at once.
        let (mut most, mut sum, mut misaligned) = (0.0, 0.0, 0.0);
        for sender in senders.iter() {
            most = f64::max(most, sender.aligned);
            sum += sender.aligned;
            misaligned += sender.misaligned.abs();
        }
        let least = f64::max(2.0 * most - sum, 0.0);
        let worst = MISALIGNED_WEIGHT * misaligned * misaligned
            + self.noise
            + oqpsk_interference(heard.interference, heard.power);
        if least * least > DOMINANT * worst {
            return 0.0;
        }
        let table = self.demodulator.oqpsk();
        let mut hazard = 0.0;
        let mut interference = 0.0;
        let mut floor = self.noise;
        let mut changes = changes.iter().peekable();
        let mut symbol = symbols.start;
        while symbol < symbols.end {
            let middle = (f64::from(symbol) + 0.5) * symbol_ns;
            while let Some(change) = changes.next_if(|change| change.at <= middle) {
                interference = f64::max(interference + change.power, 0.0);
                floor = self.noise + oqpsk_interference(interference, heard.power);
            }
            let (s1, g1) = sample(senders, floor, |sender| sender.within);
            let (s2, g2) = sample(senders, floor, |sender| sender.across);
            // (q1 + q2) / (2 - q1 - q2) with q = S / (S + G), over one denominator.
            let (t1, t2) = (s1 + g1, s2 + g2);
            let ratio = (s1 * t2 + s2 * t1) / (g1 * t2 + g2 * t1);
            let weight = STRIDE.min(symbols.end - symbol);
            hazard += f64::from(weight) * table.hazard(ratio);
            if hazard > HOPELESS {
                break;
            }
            symbol += STRIDE;
        }
        hazard
    }

    fn sender(&self, signal: &Signal, late: f64, strongest: &Signal) -> Sender {
        let amplitude = signal.power.sqrt();
        let (sin, cos) = libm::sincos(FRAC_PI_2 * late);
        let mut sender = Sender {
            aligned: amplitude * cos,
            misaligned: amplitude * sin,
            phasor: Complex { re: 1.0, im: 0.0 },
            within: Complex { re: 1.0, im: 0.0 },
            across: Complex { re: 1.0, im: 0.0 },
        };
        // Only differences count: everything turns around the strongest sender.
        if signal.tx != strongest.tx {
            let rotation = |from: u32| self.rotations.get(from as usize);
            if let (Some(own), Some(zero)) = (rotation(signal.from), rotation(strongest.from)) {
                sender.phasor = Complex::turn(signal.phase());
                sender.within = own.within.times(zero.within.conjugate());
                sender.across = own.across.times(zero.across.conjugate());
            }
        }
        sender
    }

    /// Where the senders' power is centred, and the strongest of them.
    fn centre(&self, alone: bool) -> Centre {
        let mut strongest = *self.locked;
        let (mut power, mut moment, mut count) = (0.0, 0.0, 0);
        if matches!(self.chip.modem, Modem::OQpsk) {
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
        let at_ns = if alone {
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

/// One sample: useful power, and everything else; then turns every phasor by `step`.
#[inline]
fn sample(senders: &mut [Sender], floor: f64, step: impl Fn(&Sender) -> Complex) -> (f64, f64) {
    let (mut u, mut v) = (Complex::default(), Complex::default());
    for sender in senders {
        u.re += sender.aligned * sender.phasor.re;
        u.im += sender.aligned * sender.phasor.im;
        v.re += sender.misaligned * sender.phasor.re;
        v.im += sender.misaligned * sender.phasor.im;
        sender.phasor = sender.phasor.times(step(sender));
    }
    let useful = u.re * u.re + u.im * u.im;
    (
        useful,
        MISALIGNED_WEIGHT * (v.re * v.re + v.im * v.im) + floor,
    )
}

fn push_interval(changes: &mut Vec<Change>, window: (f64, f64), from: f64, to: f64, power: f64) {
    let (from, to) = (from.max(window.0), to.min(window.1));
    if from < to {
        changes.push(Change { at: from, power });
        changes.push(Change {
            at: to,
            power: -power,
        });
    }
}
