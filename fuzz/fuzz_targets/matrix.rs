//! The reader of link matrices.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thalweg_testbeds::read_matrix;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = read_matrix(bytes, "x.csv") {
        let line = error.to_string();
        assert!(line.starts_with("x.csv") && !line.contains('\n'), "{line}");
    }
});
