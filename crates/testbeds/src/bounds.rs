//! How large a testbed may be: what keeps a hostile file from filling the memory.

/// Most nodes of a testbed.
pub const MAX_NODES: usize = 10_000;
/// Most rows of a link file.
pub const MAX_ROWS: u64 = 20_000_000;
