//! The reader of K7 traces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thalweg_testbeds::read_k7;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = read_k7(bytes, "x.k7") {
        let text = error.to_string();
        assert!(text.lines().all(|line| line.starts_with("x.k7")), "{text}");
    }
});
