//! A part of a whole, as stacked bars show it.

/// Packets or frames that are alike in what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// What became of them.
    pub name: &'static str,
    /// Its colour.
    pub colour: &'static str,
    /// How many they are.
    pub count: u32,
}
