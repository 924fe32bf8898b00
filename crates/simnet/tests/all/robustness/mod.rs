//! Transfers on the simulator with everything that can go wrong going wrong: none hangs, delivers
//! other bytes than the source's, or reports success without them. See docs/robustness.md.

// Helpers of tests are tests.

mod bench;
mod boards;
mod building;
mod ends;
mod faults;
mod idle;
mod ladders;
mod one_path;
mod own;
mod same_seed;
mod sizes;
mod starts;
mod sweeps;
mod ways;
