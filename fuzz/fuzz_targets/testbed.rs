//! A testbed's TOML.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thalweg_testbeds::Testbed;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Testbed::from_toml(text, "x.toml") {
        Ok(testbed) => assert!(testbed.index_of(testbed.sink).is_some()),
        Err(error) => {
            let line = error.to_string();
            assert!(line.starts_with("x.toml") && !line.contains('\n'), "{line}");
        }
    }
});
