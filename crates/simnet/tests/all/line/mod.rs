//! A host and a simulated base station on a real pseudo-terminal: objects arrive byte by byte or not at all,
//! whatever the line does. See docs/line.md.

// Helpers of tests are tests.

mod bad_line;
mod bench;
mod good_line;
mod reboots;
mod sessions;
