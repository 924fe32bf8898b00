//! Random numbers: one stream per purpose, derived from (seed, purpose, ids), so that a new
//! consumer shifts no old draw; and counter-based draws for what is drawn per frame and receiver,
//! so that a draw does not depend on other draws and their order.
//!
//! Everything transcendental goes through `libm`: the same bytes on every machine.

use crate::logarithm::Logarithm;
use rand_pcg::rand_core::RngCore;

/// The generator behind every stream.
pub type Stream = rand_pcg::Pcg64Mcg;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
pub(crate) const fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The draw number `n` under `key`.
pub(crate) const fn nth(key: u64, n: u64) -> u64 {
    mix(key.wrapping_add(n.wrapping_add(1).wrapping_mul(GOLDEN)))
}

/// A seed for `purpose` and `ids` under `seed`. Different arguments give unrelated seeds.
pub fn derive(seed: u64, purpose: &str, ids: &[u64]) -> u64 {
    let mut state = mix(seed ^ GOLDEN);
    for byte in purpose.bytes() {
        state = nth(state, u64::from(byte));
    }
    // The end of the purpose, so that ("a", [98]) is not ("ab", []).
    state = nth(state, 256);
    for &id in ids {
        state = mix(nth(state, 257) ^ id);
    }
    state
}

/// The random stream of `purpose` and `ids` under `seed`.
pub fn stream(seed: u64, purpose: &str, ids: &[u64]) -> Stream {
    let word = derive(seed, purpose, ids);
    Stream::new(u128::from(mix(word ^ GOLDEN)) << 64 | u128::from(word))
}

/// 53 bits of `word` as a number in (0, 1), never 0 or 1.
pub(crate) fn open_unit(word: u64) -> f64 {
    ((word >> 11) as f64 + 0.5) * (1.0 / 9_007_199_254_740_992.0)
}

/// Uniform in (0, 1).
pub fn uniform(rng: &mut Stream) -> f64 {
    open_unit(rng.next_u64())
}

/// Standard normal (Marsaglia's polar method; the second number of each pair is thrown away so
/// that a draw leaves no state behind).
pub fn normal(rng: &mut Stream) -> f64 {
    let (x, r) = in_circle(rng);
    x * (-2.0 * libm::log(r) / r).sqrt()
}

/// The same draw, to 15 digits, where many are asked for.
pub fn normal_by(table: &Logarithm, rng: &mut Stream) -> f64 {
    let (x, r) = in_circle(rng);
    x * (-2.0 * table.ln(r) / r).sqrt()
}

/// A point of the unit circle: one coordinate, and the square of its distance from the middle.
fn in_circle(rng: &mut Stream) -> (f64, f64) {
    loop {
        let x = 2.0 * uniform(rng) - 1.0;
        let y = 2.0 * uniform(rng) - 1.0;
        let r = x * x + y * y;
        if r < 1.0 && r > 0.0 {
            return (x, r);
        }
    }
}

/// Exponential with mean 1.
pub fn exponential(rng: &mut Stream) -> f64 {
    -libm::log(uniform(rng))
}

/// The standard normal quantile at `p` in (0, 1) (Wichura's AS 241, PPND7: relative error 1e-7).
pub(crate) fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q
            * (((59.109_374_720 * r + 159.291_132_02) * r + 50.434_271_938) * r + 3.387_132_717_9)
            / (((67.187_563_600 * r + 78.757_757_664) * r + 17.895_169_469) * r + 1.0);
    }
    let r = (-libm::log(if q < 0.0 { p } else { 1.0 - p })).sqrt();
    let z = if r <= 5.0 {
        let r = r - 1.6;
        (((0.170_238_210_3 * r + 1.306_728_481_6) * r + 2.756_815_390_0) * r + 1.423_437_277_7)
            / ((0.120_211_329_75 * r + 0.737_001_642_5) * r + 1.0)
    } else {
        let r = r - 5.0;
        (((0.017_337_203_997 * r + 0.428_682_948_37) * r + 3.081_226_386_0) * r + 6.657_905_115_0)
            / ((0.012_258_202_635 * r + 0.241_978_942_25) * r + 1.0)
    };
    if q < 0.0 {
        -z
    } else {
        z
    }
}

#[cfg(test)]
#[path = "random_tests.rs"]
mod tests;
