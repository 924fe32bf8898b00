//! Connections that have ended: late packets are answered and reopen nothing (RCRT, section 3.8: tear-down).
//!
//! Invariant: the last [`MAX_CLOSED`] flows that ended are remembered, each once. Tests: `tests/`.

use super::flow::Key;
use std::collections::BTreeMap;

/// Flows that have ended and are remembered.
const MAX_CLOSED: usize = 4096;

/// A flow's last connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Last {
    pub(super) connection: u8,
    /// The connection before it.
    pub(super) before: Option<u8>,
    /// Packets delivered.
    pub(super) next: u64,
}

/// What is remembered.
#[derive(Debug, Default)]
pub(super) struct ClosedFlows {
    flows: BTreeMap<Key, (Last, u64)>,
    /// In the order in which they ended.
    order: BTreeMap<u64, Key>,
    count: u64,
}

impl ClosedFlows {
    pub(super) fn last(&self, key: Key) -> Option<Last> {
        self.flows.get(&key).map(|(last, _)| *last)
    }
    pub(super) fn remember(&mut self, key: Key, last: Last) {
        self.forget(key);
        self.count += 1;
        self.flows.insert(key, (last, self.count));
        self.order.insert(self.count, key);
        if self.order.len() > MAX_CLOSED {
            if let Some((_, oldest)) = self.order.pop_first() {
                self.flows.remove(&oldest);
            }
        }
    }
    pub(super) fn forget(&mut self, key: Key) -> Option<Last> {
        let (last, count) = self.flows.remove(&key)?;
        self.order.remove(&count);
        Some(last)
    }
}
