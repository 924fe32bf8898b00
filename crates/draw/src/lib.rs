//! Pictures of Thalweg: plain data in, SVG out.
//!
//! Knows no protocol, plan or testbed: callers say what stands where. Pictures are self-contained, without
//! scripts or fonts, and the same data gives the same bytes on every machine. Values that are not finite
//! are not drawn. Lengths in pictures are pixels. Tests: beside the modules.

pub mod chart;
pub mod links;
pub mod map;
mod part;
pub mod stages;
pub mod style;
mod svg;
pub mod timeline;

pub use part::Part;
