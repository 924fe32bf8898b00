//! A mote that records nothing by itself: for trials of a network it has a sample.
#![no_std]
#![no_main]

use thalweg_firmware::mote;
use thalweg_firmware::mote::Recorder;
use thalweg_nrf52840::radio::Usage;

mote!(
    2_048,
    |recorder| {
        if cfg!(feature = "sample") && recorder.sealed().is_none() {
            record_sample(recorder);
        }
    },
    |_, _| {}
);

/// 59,000 bytes that anyone can check: byte n is 7 n.
fn record_sample(recorder: &mut Recorder) {
    let mut next = 0_u32;
    while next < 59_000 {
        let mut block = [0; 100];
        for byte in &mut block {
            *byte = (next as u8).wrapping_mul(7);
            next += 1;
        }
        let recorded = recorder.write(&block);
        if recorded
            .and_then(|()| recorder.flush(Usage::Asleep))
            .is_err()
        {
            return;
        }
    }
    // Without it the node has nothing to hand out, and is a relay.
    let _sealed = recorder.seal(Usage::Asleep);
}
