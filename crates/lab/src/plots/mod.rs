//! Maps of sites, plans and traffic, as [`thalweg_draw`] draws them: what stands where, and what colours and
//! shapes mean. Tests: `tests.rs`.

mod plan;
mod site;
#[cfg(test)]
mod tests;
mod traffic;
mod whole_network;

pub use plan::plan;
pub use site::site;
pub use traffic::{traffic, Flow, Spot};
pub use whole_network::{base_stations, lifetime};
