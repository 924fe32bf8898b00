//! Pictures of Thalweg: plain data in, SVG out.
//!
//! Knows no protocol, plan or testbed: callers say what stands where. Pictures are self-contained, without
//! scripts or fonts, and the same data gives the same bytes on every machine. Values that are not finite
//! are not drawn. Lengths in pictures are pixels. Tests: beside the modules.

pub mod chart;
pub mod links;
pub mod map;
pub mod stages;
pub mod style;
mod svg;
pub mod timeline;

/// A part of a whole, as stacked bars show it: packets or frames with the same fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BarPart {
    /// Their fate.
    pub name: &'static str,
    /// Its colour.
    pub colour: &'static str,
    /// How many they are.
    pub count: u32,
}

/// The least and the greatest of those of `values` that are finite; infinite the wrong way round of none.
fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let finite = values.filter(|v| v.is_finite());
    finite.fold(none, |(low, high), v| (low.min(v), high.max(v)))
}
