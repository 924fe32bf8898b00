//! The pipeline on small ideal networks with chosen losses.

mod backup;
mod bench;
mod conditional;
mod ends;
mod faults;
mod follow;
mod lossy;
mod nacks;
mod nonsense;
mod pause;

mod timing;
mod variants;
