//! Every target over the inputs in `fuzz/seeds/`: those that reach far, and those that once failed.

// Helpers of tests are tests.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use thalweg_fuzz::TARGETS;

#[test]
fn no_seed_makes_a_target_fail() {
    for (name, target) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fuzz/seeds")
            .join(name);
        let mut paths: Vec<_> = fs::read_dir(&folder)
            .unwrap_or_else(|why| panic!("{}: {why}", folder.display()))
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        assert!(paths.len() >= 3, "{name} has seeds");
        for path in paths {
            // Where a target fails, the test's output ends with its seed.
            println!("{}", path.display());
            target(&fs::read(&path).unwrap());
        }
    }
}

/// Bytes that are not files of this repository: of every length, drawn by a generator of 64 bits.
#[test]
fn no_noise_makes_a_target_fail() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    for (_, target) in TARGETS {
        for len in (0..400).chain([1_000, 4_000]) {
            let bytes: Vec<u8> = (0..len).map(|_| next()).collect();
            target(&bytes);
        }
    }
}
