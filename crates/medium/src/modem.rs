//! Modems: from a signal-to-interference-and-noise ratio to the hazard of a symbol,
//! `h = -ln(1 - SER)`. A frame is right with probability `exp(-sum of h over its symbols)`.
//!
//! O-QPSK: IEEE 802.15.4-2006, Annex E. Ratios are linear and refer to the *effective* noise floor
//! of [`crate::chip::Chip`]. Not modelled: bit errors inside a wrong symbol (a frame with one wrong
//! symbol is lost anyway). Tests: `modem_tests.rs`, and `tests/all/facts.rs`.

use crate::chip::Modem;
use crate::logarithm::Logarithm;
use std::sync::LazyLock;

/// Energy of a symbol over noise density, of the ratio in the receiver's band (Annex E, equation E.3).
pub(crate) const ES_OVER_N0: f64 = 20.0;
/// Chips of a symbol (IEEE 802.15.4-2006, 6.5.2.3).
pub(crate) const CHIPS_PER_SYMBOL: u32 = 32;

/// Symbol error rate of the O-QPSK modem at the linear ratio `g` (Annex E, equation E.3 before the
/// factor 8/15 that makes bits of symbols).
pub fn symbol_error_rate(g: f64) -> f64 {
    if g > 6.0 {
        // The first term is all that is left.
        return 7.5 * libm::exp(-10.0 * g);
    }
    let mut binomial = 16.0;
    let mut sum = 0.0;
    for k in 2..=16u32 {
        binomial *= f64::from(17 - k) / f64::from(k);
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        sum += sign * binomial * libm::exp(ES_OVER_N0 * g * (1.0 / f64::from(k) - 1.0));
    }
    (sum / 16.0).clamp(0.0, 15.0 / 16.0)
}

/// Above this ratio (13 dB) a symbol is never wrong (hazard below 1e-85).
const NEVER_WRONG: f64 = 20.0;
/// From this ratio on (7 dB) the hazard of a symbol is below 1e-20.
const HARMLESS: f64 = 5.0;
/// Octaves below and above a ratio of one that the table covers: -30 dB to +15 dB.
const LOWEST_EXPONENT: i32 = -10;
const OCTAVES: usize = 15;
/// Steps per octave: at most 0.05 dB apart, so that interpolating between them is wrong by less
/// than 0.3 % where a hazard matters at all.
const STEP_BITS: u32 = 6;
const ENTRIES: usize = (OCTAVES << STEP_BITS) + 1;

/// Hazard of an O-QPSK symbol by ratio, tabulated.
///
/// The grid is the binary floating-point format itself (exponent and top bits of the mantissa), so
/// that a look-up needs no logarithm.
#[derive(Debug, Clone)]
pub struct HazardTable {
    entries: &'static [f64],
}

/// The same for every radio, and computed once: 15,000 exponentials.
static HAZARDS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let steps = 1usize << STEP_BITS;
    (0..ENTRIES)
        .map(|i| {
            let octave = f64::from(LOWEST_EXPONENT + (i >> STEP_BITS) as i32);
            let fraction = (i % steps) as f64 / steps as f64;
            let g = libm::exp2(octave) * (1.0 + fraction);
            -libm::log1p(-symbol_error_rate(g))
        })
        .collect()
});

impl Default for HazardTable {
    fn default() -> Self {
        Self::new()
    }
}

impl HazardTable {
    /// The table.
    pub fn new() -> Self {
        Self { entries: &HAZARDS }
    }

    /// Hazard of one symbol at the linear ratio `g >= 0`.
    #[inline]
    pub fn hazard(&self, g: f64) -> f64 {
        if g >= NEVER_WRONG {
            return 0.0;
        }
        const MANTISSA: u32 = 52;
        const LOWEST: u64 = ((1023 + LOWEST_EXPONENT) as u64) << MANTISSA;
        let place = g.to_bits().saturating_sub(LOWEST);
        let cell = (place >> (MANTISSA - STEP_BITS)) as usize;
        let rest = place & ((1 << (MANTISSA - STEP_BITS)) - 1);
        let t = rest as f64 * (1.0 / (1u64 << (MANTISSA - STEP_BITS)) as f64);
        match self.entries.get(cell..cell + 2) {
            Some([a, b]) => a + (b - a) * t,
            _ => 0.0,
        }
    }
}

/// How much worse than noise of the same power interference is to the O-QPSK modem.
const LIMITER_LOSS: f64 = 1.78;

/// What the interference power `i` beside a signal `s` does to the O-QPSK modem, as noise power.
/// Despreading makes noise-like interference harmless to the co-channel rejection of the data
/// sheet (3 dB); within 2 dB of equality the stronger one captures the limiter, hence the bracket.
#[inline]
pub fn oqpsk_interference(i: f64, s: f64) -> f64 {
    if i <= 0.0 {
        return 0.0;
    }
    let ratio = i / s;
    let square = ratio * ratio;
    LIMITER_LOSS * i * (1.0 + 1.5 * square * square)
}

/// Everything that turns powers into hazards.
#[derive(Debug, Clone, Default)]
pub struct Demodulator {
    oqpsk: HazardTable,
    fsk: Decay,
    logarithm: Logarithm,
}

/// exp(-x) to 13 digits, from its values at whole 64ths and a series between them: the FSK modem
/// asks for it millions of times a second.
#[derive(Debug, Clone)]
struct Decay {
    at: Vec<f64>,
}

/// exp(-50) of a symbol is below the resolution of a draw of 53 bits.
const NO_HAZARD: f64 = 50.0;
const PARTS: f64 = 64.0;

impl Default for Decay {
    fn default() -> Self {
        let places = 0..=(NO_HAZARD * PARTS) as u32;
        Self {
            at: places.map(|k| libm::exp(-f64::from(k) / PARTS)).collect(),
        }
    }
}

impl Decay {
    #[inline]
    fn exp(&self, x: f64) -> f64 {
        let place = x.max(0.0) * PARTS;
        let k = place as usize;
        let r = (place - k as f64) * (1.0 / PARTS);
        // Horner's scheme with reciprocals: divisions cost more than all the rest.
        let series = 1.0
            - r * (1.0 - r * 0.5 * (1.0 - r * (1.0 / 3.0) * (1.0 - r * 0.25 * (1.0 - r * 0.2))));
        self.at.get(k).map_or(0.0, |whole| whole * series)
    }
}

/// What a modem does not feel: see [`Demodulator::harmless`].
#[derive(Debug, Clone, Copy)]
pub struct Harmless {
    of_signal: f64,
    of_noise: f64,
}

impl Harmless {
    /// Interference beside the signal `s` and noise `n`; zero or less where noise alone is a hazard.
    #[inline]
    pub fn beside(&self, s: f64, n: f64) -> f64 {
        s * self.of_signal - n * self.of_noise
    }
}

impl Demodulator {
    /// The O-QPSK table.
    pub fn oqpsk(&self) -> &HazardTable {
        &self.oqpsk
    }
    /// The ratio that the hazard is a function of: signal `s`, noise `n`, interference `i` (all in
    /// the same unit).
    #[inline]
    pub fn ratio(modem: Modem, s: f64, n: f64, i: f64) -> f64 {
        match modem {
            Modem::OQpsk => s / (n + oqpsk_interference(i, s)),
            Modem::OQpskPlain => s / (n + i),
            Modem::Fsk {
                interference_weight,
                ..
            } => s / (n + interference_weight * i),
        }
    }
    /// Up to which interference the hazard of a symbol is below 1e-20, which makes no difference to a
    /// frame of any length.
    pub fn harmless(modem: Modem) -> Harmless {
        let (ratio, weight) = match modem {
            // So far below the signal, what captures the limiter adds a hundredth.
            Modem::OQpsk => (HARMLESS, 1.02 * LIMITER_LOSS),
            Modem::OQpskPlain => (HARMLESS, 1.0),
            Modem::Fsk {
                rate_per_bandwidth,
                interference_weight,
            } => (2.0 * rate_per_bandwidth * NO_HAZARD, interference_weight),
        };
        Harmless {
            of_signal: 1.0 / (ratio * weight),
            of_noise: 1.0 / weight,
        }
    }
    /// Hazard of one symbol at ratio `g`.
    #[inline(always)]
    pub fn hazard(&self, modem: Modem, g: f64) -> f64 {
        match modem {
            Modem::OQpsk | Modem::OQpskPlain => self.oqpsk.hazard(g),
            Modem::Fsk {
                rate_per_bandwidth, ..
            } => self.of_bit(g / (2.0 * rate_per_bandwidth)),
        }
    }
    /// The same of signal `s` beside noise `n` and interference `i`, with one division.
    #[inline(always)]
    pub fn hazard_beside(&self, modem: Modem, s: f64, n: f64, i: f64) -> f64 {
        match modem {
            Modem::OQpsk | Modem::OQpskPlain => self.hazard(modem, Self::ratio(modem, s, n, i)),
            Modem::Fsk {
                rate_per_bandwidth,
                interference_weight,
            } => self.of_bit(s / ((n + interference_weight * i) * (2.0 * rate_per_bandwidth))),
        }
    }
    /// Hazard of a bit that is wrong with probability exp(-x) / 2.
    #[inline(always)]
    fn of_bit(&self, x: f64) -> f64 {
        let wrong = 0.5 * self.fsk.exp(x);
        // The series of -ln(1 - p), where that is as good.
        if wrong < 1e-3 {
            let rest = 1.0 + wrong * 0.75 * (1.0 + wrong * 0.8);
            wrong * (1.0 + wrong * 0.5 * (1.0 + wrong * (2.0 / 3.0) * rest))
        } else {
            -self.logarithm.ln(1.0 - wrong)
        }
    }
}

#[cfg(test)]
#[path = "modem_tests.rs"]
mod tests;
