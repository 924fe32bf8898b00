//! What a simulated source has to send.

use std::sync::Arc;
use thalweg_medium::random::{derive, stream};
use thalweg_units::NodeId;

/// The object that a source has.
#[derive(Debug, Clone)]
pub enum Object {
    /// Random bytes, drawn from (seed, source).
    Random {
        /// How many.
        bytes: u32,
    },
    /// These.
    Bytes(Arc<[u8]>),
}

impl Object {
    /// How many bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Random { bytes } => u64::from(*bytes),
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }
    /// What node `source` has under `seed`, whatever protocol is to move it.
    pub fn of(&self, seed: u64, source: NodeId) -> Arc<[u8]> {
        match self {
            Self::Random { bytes } => random_object(seed, source, *bytes as usize),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// The first `bytes` bytes of the stream of (`seed`, `source`): one seed gives a node one object, in every
/// command and experiment.
pub fn random_object(seed: u64, source: NodeId, bytes: usize) -> Arc<[u8]> {
    let drawn = derive(seed, "object", &[u64::from(source.get())]);
    let mut rng = stream(drawn, "object bytes", &[]);
    let mut object = vec![0; bytes];
    rand::RngCore::fill_bytes(&mut rng, &mut object);
    object.into()
}
