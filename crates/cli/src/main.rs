//! The one binary of Thalweg.
fn main() {}
