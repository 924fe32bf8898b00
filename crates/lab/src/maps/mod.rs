//! Maps of sites, plans and traffic, as [`thalweg_draw`] draws them: what stands where, and what colours and
//! shapes mean. Tests: `tests.rs`.

mod plan;
mod site;
#[cfg(test)]
mod tests;
mod traffic;

pub use plan::plan;
pub use site::site;
pub use traffic::{traffic, Spot, Traffic};

use thalweg_draw::map::{Course, Key, Link, Sign, Stroke};
use thalweg_draw::style::LINK;

/// An entry of a legend.
fn key(sign: Sign, name: impl Into<String>) -> Key {
    Key {
        sign,
        name: name.into(),
    }
}

/// A link to be drawn otherwise where the map wants it so.
fn straight(from: usize, to: usize) -> Link {
    Link {
        from,
        to,
        colour: LINK,
        width: 1.0,
        opacity: 1.0,
        stroke: Stroke::Solid,
        course: Course::Straight,
        hint: None,
    }
}
