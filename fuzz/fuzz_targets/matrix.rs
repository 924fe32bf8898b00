//! The reader of link matrices.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thalweg_testbeds::read_matrix;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = read_matrix(bytes, "x.csv") {
        let text = error.to_string();
        assert!(text.lines().all(|line| line.starts_with("x.csv")), "{text}");
    }
});
