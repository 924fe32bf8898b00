//! Numbers by chance (RNG 6.19): for what must differ from start to start.

use crate::registers::rng;
use crate::Registers;

/// Polls until a byte is there: it takes 120 us, typically, and there is no most.
const PATIENCE: u32 = 100_000;

/// 32 bits; none where the generator gives nothing.
pub fn draw(r: &mut impl Registers) -> Option<u32> {
    r.write(rng::CONFIG, 1);
    r.write(rng::START, 1);
    let word = (0..4).try_fold(0, |word, _| {
        r.write(rng::VALRDY, 0);
        let came = (0..PATIENCE).any(|_| r.read(rng::VALRDY) != 0);
        came.then(|| word << 8 | r.read(rng::VALUE) & 0xFF)
    });
    r.write(rng::STOP, 1);
    word
}
