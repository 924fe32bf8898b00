//! Rows of instruction tables: a pattern of bits, and the function that does what it says.

use super::Handler;

/// An instruction's bits: those of `mask` stand as in `value`. The first row that fits counts.
pub(super) struct Pattern<P> {
    mask: u32,
    value: u32,
    handler: Handler<P>,
}

/// A row.
pub(super) const fn row<P>(mask: u32, value: u32, handler: Handler<P>) -> Pattern<P> {
    Pattern {
        mask,
        value,
        handler,
    }
}

/// An instruction that has been found.
pub(super) struct Row<P> {
    pub(super) handler: Handler<P>,
    /// Its half-words, the first one on top of a wide one.
    pub(super) word: u32,
    /// Its length.
    pub(super) bytes: u32,
}

impl<P> Clone for Row<P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<P> Copy for Row<P> {}

/// The row of `table` for an instruction of `bytes` bytes.
pub(super) fn find<P>(table: &[Pattern<P>], word: u32, bytes: u32) -> Option<Row<P>> {
    let row = table.iter().find(|row| word & row.mask == row.value)?;
    Some(Row {
        handler: row.handler,
        word,
        bytes,
    })
}
