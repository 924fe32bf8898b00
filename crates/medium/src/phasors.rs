//! The phasors of synchronous senders, and their sum, block of samples by block of samples.
//!
//! A carrier's turning is worked out once per ear for the samples of one block; a sender of a
//! reception is then one complex number (amplitude and phase at the block's beginning), moved on by
//! a block at a time. Sums run over senders in order, for all samples of a block side by side: the
//! same result whatever the width of the machine's vectors. Time base: samples of every
//! [`STRIDE`]th symbol, two each. Tests: `reception.rs`'s, and the naive medium's.

use core::f64::consts::TAU;

/// Every how many symbols the phasors are summed; each sum stands for as many symbols. Beats of
/// up to 48 kHz are sampled at random phases either way; every second symbol is as close to the
/// chip-level receiver as every symbol (rms error of PRR .04 at 127 B), every fourth is worse on
/// short frames, and samples may never be skipped inside a symbol.
pub(crate) const STRIDE: u32 = 2;
/// Sampled symbols in a block.
pub(crate) const LANES: usize = 8;
/// Time between two sampled symbols, and between the two samples of one.
const STEP_US: f64 = 16.0 * STRIDE as f64;
const WITHIN_US: f64 = 8.0;

/// Angles looked up, evenly around the circle.
const SPOKES: usize = 256;
static CIRCLE: [Complex; SPOKES] = circle();

/// The circle, by the series of the cosine and the sine up to an eighth of a turn and the
/// symmetries of the rest.
const fn circle() -> [Complex; SPOKES] {
    let mut circle = [Complex { re: 1.0, im: 0.0 }; SPOKES];
    let mut spoke = 0;
    while spoke < SPOKES {
        let quarter = (spoke + SPOKES / 8) / (SPOKES / 4);
        let x = (spoke as f64 - (quarter * SPOKES / 4) as f64) * (TAU / SPOKES as f64);
        let (mut re, mut im, mut term, mut n) = (0.0, 0.0, 1.0, 0.0);
        while n < 20.0 {
            re += term;
            term *= x / (n + 1.0);
            im += term;
            term *= -x / (n + 2.0);
            n += 2.0;
        }
        circle[spoke] = match quarter % 4 {
            0 => Complex { re, im },
            1 => Complex { re: -im, im: re },
            2 => Complex { re: -re, im: -im },
            _ => Complex { re: im, im: -re },
        };
        spoke += 1;
    }
    circle
}

/// A complex number.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Complex {
    pub(crate) re: f64,
    pub(crate) im: f64,
}

impl Complex {
    /// `fraction` of a turn, at most some thousands either way: to the nearest spoke, and the rest
    /// by the first terms of the series, which leave nothing that a double could hold.
    #[inline]
    pub(crate) fn turn(fraction: f64) -> Self {
        // Added so that rounding down rounds negative numbers down, too.
        const MANY: i32 = (SPOKES as i32) << 16;
        let spokes = SPOKES as f64 * fraction;
        let nearest = (spokes + (f64::from(MANY) + 0.5)) as i32 - MANY;
        let x = (spokes - f64::from(nearest)) * (TAU / SPOKES as f64);
        let y = x * x;
        let rest = Self {
            re: 1.0 - y * (0.5 - y * (1.0 / 24.0 - y * (1.0 / 720.0))),
            im: x * (1.0 - y * (1.0 / 6.0 - y * (1.0 / 120.0))),
        };
        CIRCLE[nearest as usize % SPOKES].times(rest)
    }
    #[inline]
    pub(crate) fn times(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
    #[inline]
    pub(crate) fn scaled(self, by: f64) -> Self {
        Self {
            re: self.re * by,
            im: self.im * by,
        }
    }
}

/// How far a carrier has turned at one of the two samples of each symbol of a block.
#[derive(Debug, Clone, Copy)]
struct Turns {
    re: [f64; LANES],
    im: [f64; LANES],
}

impl Turns {
    fn new(offset_hz: f64, first_us: f64) -> Self {
        let mut turns = Self {
            re: [0.0; LANES],
            im: [0.0; LANES],
        };
        for (lane, (re, im)) in turns.re.iter_mut().zip(&mut turns.im).enumerate() {
            let at_us = first_us + STEP_US * lane as f64;
            let turn = Complex::turn(offset_hz * at_us * 1e-6);
            (*re, *im) = (turn.re, turn.im);
        }
        turns
    }
}

/// The carrier of one ear's sender, off by some hertz, over a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Carrier {
    samples: [Turns; 2],
    block: Complex,
}

impl Carrier {
    pub(crate) fn new(offset_hz: f64) -> Self {
        Self {
            samples: [Turns::new(offset_hz, 0.0), Turns::new(offset_hz, WITHIN_US)],
            block: Complex::turn(offset_hz * STEP_US * LANES as f64 * 1e-6),
        }
    }
}

/// One of several synchronous senders at a receiver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sender {
    /// Whose carrier.
    carrier: u32,
    /// In turns, at the first sample.
    phase: f64,
    /// The aligned part of its amplitude, with its phase at the beginning of the block; without
    /// one before [`Sender::begin`].
    aligned: Complex,
    /// The misaligned part over the aligned one.
    tangent: f64,
}

impl Sender {
    /// A sender of amplitude `amplitude`, `late` chips after the receiver's timing (less than one
    /// either way), at phase `phase` (in turns) at the first sample.
    #[inline]
    pub(crate) fn new(carrier: u32, amplitude: f64, late: f64, phase: f64) -> Self {
        let timing = Complex::turn(0.25 * late);
        // Never nothing at all, so that the tangent is a number.
        let cos = timing.re.max(1e-9);
        Self {
            carrier,
            phase,
            aligned: Complex {
                re: amplitude * cos,
                im: 0.0,
            },
            tangent: timing.im / cos,
        }
    }
    /// The aligned part of its amplitude.
    pub(crate) fn aligned(&self) -> f64 {
        self.aligned.re
    }
    /// The misaligned part of it.
    pub(crate) fn misaligned(&self) -> f64 {
        self.aligned.re * self.tangent
    }
    /// Gives it its phase.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.aligned = Complex::turn(self.phase).scaled(self.aligned.re);
    }
}

/// What a demodulator makes of one of the two samples, symbol by symbol.
#[derive(Debug, Clone, Copy)]
struct Sums {
    aligned: [f64; LANES],
    misaligned: [f64; LANES],
}

/// Lanes that are summed at once: with twice as many, sums do not all fit into the registers of x86-64.
const AT_ONCE: usize = LANES / 2;

/// Power of the aligned and of the misaligned parts at sample `which` of each symbol of a block.
#[inline]
fn sums(senders: &[Sender], carriers: &[Carrier], which: usize) -> Sums {
    let mut sums = Sums {
        aligned: [0.0; LANES],
        misaligned: [0.0; LANES],
    };
    for first in [0, AT_ONCE] {
        let (aligned, misaligned) = sums_from(first, senders, carriers, which);
        sums.aligned[first..first + AT_ONCE].copy_from_slice(&aligned);
        sums.misaligned[first..first + AT_ONCE].copy_from_slice(&misaligned);
    }
    sums
}

/// The same of the lanes from `first` on.
#[inline]
fn sums_from(
    first: usize,
    senders: &[Sender],
    carriers: &[Carrier],
    which: usize,
) -> ([f64; AT_ONCE], [f64; AT_ONCE]) {
    let mut u = [[0.0; AT_ONCE]; 2];
    let mut v = [[0.0; AT_ONCE]; 2];
    for sender in senders {
        let Some(Carrier { samples, .. }) = carriers.get(sender.carrier as usize) else {
            continue;
        };
        let Turns { re, im } = &samples[which];
        let (re, im) = (&re[first..first + AT_ONCE], &im[first..first + AT_ONCE]);
        let (a, m) = (sender.aligned, sender.tangent);
        for lane in 0..AT_ONCE {
            let (re, im) = (
                a.re * re[lane] - a.im * im[lane],
                a.re * im[lane] + a.im * re[lane],
            );
            u[0][lane] += re;
            u[1][lane] += im;
            v[0][lane] += m * re;
            v[1][lane] += m * im;
        }
    }
    (square(&u), square(&v))
}

/// Powers of phasors.
#[inline]
fn square([re, im]: &[[f64; AT_ONCE]; 2]) -> [f64; AT_ONCE] {
    let mut powers = [0.0; AT_ONCE];
    for lane in 0..AT_ONCE {
        powers[lane] = re[lane] * re[lane] + im[lane] * im[lane];
    }
    powers
}

/// The ratio of useful power to everything else of each symbol of the next block: both samples'
/// shares averaged, as a limiting (phase) demodulator does. `weight` of the misaligned power acts
/// as noise, beside `floor`. Moves the senders on to the block after.
#[inline]
pub(crate) fn ratios(
    senders: &mut [Sender],
    carriers: &[Carrier],
    weight: f64,
    floor: &[f64; LANES],
) -> [f64; LANES] {
    let (a, b) = (sums(senders, carriers, 0), sums(senders, carriers, 1));
    let mut ratios = [0.0; LANES];
    for (lane, ratio) in ratios.iter_mut().enumerate() {
        let (s1, g1) = (a.aligned[lane], weight * a.misaligned[lane] + floor[lane]);
        let (s2, g2) = (b.aligned[lane], weight * b.misaligned[lane] + floor[lane]);
        // (q1 + q2) / (2 - q1 - q2) with q = S / (S + G), over one denominator.
        let (t1, t2) = (s1 + g1, s2 + g2);
        *ratio = (s1 * t2 + s2 * t1) / (g1 * t2 + g2 * t1);
    }
    for sender in senders {
        if let Some(carrier) = carriers.get(sender.carrier as usize) {
            sender.aligned = sender.aligned.times(carrier.block);
        }
    }
    ratios
}

#[cfg(test)]
#[path = "phasors_tests.rs"]
mod tests;
