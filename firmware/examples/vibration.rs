//! A mote that records vibrations: four blocks of 64 samples a second, a recording every 16 kB.
#![no_std]
#![no_main]

use thalweg_firmware::mote;
use thalweg_firmware::ticker::Ticker;

/// Bytes of a recording: 32 s.
const ENOUGH: u32 = 16_384;
/// Counts of 32.768 kHz from block to block.
const QUARTER: u16 = 8_192;
/// Bytes that wait in RAM while flash cannot be written: 16 s.
const WAITING: usize = 8_192;

mote!(WAITING, |_| {}, {
    let mut ticker = Ticker::start(QUARTER);
    let (mut next, mut recorded) = (0, 0);
    move |recorder, usage| {
        for _ in 0..ticker.ticks() {
            let block = sense(&mut next);
            // A block that finds no room is lost: RAM has 16 s, flash half a ring.
            recorded += recorder.write(&block).map_or(0, |()| block.len() as u32);
        }
        if recorded >= ENOUGH && recorder.seal(usage).is_ok() {
            recorded = 0;
        }
    }
});

/// 64 samples of 16 bits, as an accelerometer's buffer would have them: here a ramp, so that anyone can check it.
fn sense(next: &mut u16) -> [u8; 128] {
    let mut block = [0; 128];
    for sample in block.chunks_exact_mut(2) {
        sample.copy_from_slice(&next.to_le_bytes());
        *next = next.wrapping_add(1);
    }
    block
}
