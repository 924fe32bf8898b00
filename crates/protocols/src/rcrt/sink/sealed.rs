//! A sink in a secured network: it takes what a source sealed, and seals what it says.
//!
//! Invariant: what is not sealed with its origin's keys changes nothing and is not answered. Tests: `../sealed_tests.rs`.

use super::flow::Key;
use super::Sink;
use std::collections::BTreeMap;
use thalweg_units::NodeId;
use thalweg_wire::rcrt::{Down, Up, UpBody};
use thalweg_wire::seal::session::{self, nearest, SessionKeys};
use thalweg_wire::seal::SoftwareAes;
use thalweg_wire::FrameBuf;

/// The keys of a session's sources.
#[derive(Debug)]
pub(super) struct Seals {
    aes: SoftwareAes,
    keys: BTreeMap<NodeId, SessionKeys>,
}

impl Sink {
    /// The same in a secured network: with the `keys` of all its sources in one session.
    #[must_use]
    pub fn sealed(self, keys: impl IntoIterator<Item = (NodeId, SessionKeys)>) -> Self {
        let (aes, keys) = (SoftwareAes::default(), keys.into_iter().collect());
        Self {
            seals: Some(Seals { aes, keys }),
            ..self
        }
    }
    /// The message of `origin` in plain; none where it is not sealed with its keys.
    pub(super) fn opened(&mut self, origin: NodeId, bytes: &[u8]) -> Option<FrameBuf> {
        let near = |up: &Up<'_>| self.near((origin, up.flow), up.connection);
        let up = Up::parse(session::unchecked(bytes)?).ok()?;
        let (UpBody::Open { first: low, .. }
        | UpBody::Data { sequence: low, .. }
        | UpBody::Finish { end: low, .. }) = up.what;
        let number = nearest(near(&up), low);
        let Seals { aes, keys } = self.seals.as_mut()?;
        keys.get(&origin)?.open(aes, bytes, number)
    }
    /// What is next of `connection`, to which numbers are near. A connection that is not known begins at 0.
    fn near(&self, key: Key, connection: u8) -> u32 {
        let flow = self.index.get(&key).and_then(|k| self.flows.get(*k));
        let flow = flow.map(|f| (f.connection, f.next));
        let last = || {
            self.closed
                .last(key)
                .map(|last| (last.connection, last.next))
        };
        let known = flow.or_else(last).filter(|(of, _)| *of == connection);
        known.map_or(0, |(_, next)| next as u32)
    }
    /// The message to `to`, whose number in full is `number`; none to a node without keys in a secured network.
    pub(super) fn message(
        &mut self,
        to: NodeId,
        down: &Down<'_>,
        number: u64,
    ) -> Option<(NodeId, FrameBuf)> {
        let mut message = FrameBuf::build(|w| down.emit(w)).ok()?;
        if let Some(Seals { aes, keys }) = &mut self.seals {
            keys.get(&to)?.seal(aes, &mut message, number as u32).ok()?;
        }
        Some((to, message))
    }
}
