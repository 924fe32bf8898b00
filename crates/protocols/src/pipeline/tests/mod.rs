//! The pipeline on small ideal networks with chosen losses.

mod bench;
mod conditional;
mod faults;
mod lossy;
mod making;
mod nonsense;
mod stages;
mod timing;
mod variants;
