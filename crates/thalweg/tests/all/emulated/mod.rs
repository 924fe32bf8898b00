//! The motes of a site on emulated chips, which run their real images, beside the same motes simulated.
//!
//! `firmware/images.sh none` has built the images. The host is in the same process, and time is the chips' own: a run
//! gives the same bytes on every machine, however busy. `.ci/run` runs all but those that begin with `nightly`:
//! `cargo test --release -p thalweg --test all emulated -- --ignored --nocapture`.

mod draws;
mod perturbed;
mod run;
mod sleep;
