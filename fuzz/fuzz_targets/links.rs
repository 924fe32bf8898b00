#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| thalweg_fuzz::links(bytes));
