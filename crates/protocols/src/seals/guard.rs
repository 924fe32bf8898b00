//! What a node's seals rest on, and where an engine has them, if it has any. Tests: `tests.rs`.

use super::Seals;
use thalweg_units::NodeId;
use thalweg_wire::seal::frame::Sealing;
use thalweg_wire::seal::{Cipher, Key, SoftwareAes};

/// What a node has for its seals: a cipher, and where numbers outlive a restart.
pub trait Hardware: Cipher {
    /// What a node takes longer over a request or a NACK with a MIC, at most, in symbols of 16 us; a network's nodes have one.
    /// 0 where that fits into a gap beside everything else.
    const MIC_SYMBOLS: u8;
    /// Keeps that floods of `station` up to `number` are old. Says whether that will outlive a restart: it is not acted on
    /// what is not kept.
    fn keep(&mut self, station: NodeId, number: u32) -> bool;
}

/// At a host nothing restarts by itself: a simulated node is given [`Seals::kept`] again.
impl Hardware for SoftwareAes {
    const MIC_SYMBOLS: u8 = 0;

    fn keep(&mut self, _station: NodeId, _number: u32) -> bool {
        true
    }
}

/// Where an engine has its seals, if it has any.
pub trait Guard {
    /// The cipher that they use.
    type Cipher: Hardware;
    /// The seals; none in a network that is not secured.
    fn seals(&mut self) -> Option<&mut Seals<Self::Cipher>>;
    /// Whether there are any.
    fn sealing(&self) -> Sealing;
}

/// No seals, for images that have no room for them: it takes none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unsealed;

impl Cipher for Unsealed {
    fn block(&mut self, _key: &Key, _block: &mut thalweg_wire::seal::Block) {}
}
impl Hardware for Unsealed {
    const MIC_SYMBOLS: u8 = 0;

    fn keep(&mut self, _station: NodeId, _number: u32) -> bool {
        false
    }
}
impl Guard for Unsealed {
    type Cipher = Self;
    fn seals(&mut self) -> Option<&mut Seals<Self>> {
        None
    }
    fn sealing(&self) -> Sealing {
        Sealing::Open
    }
}

impl<C: Hardware> Guard for Option<Seals<C>> {
    type Cipher = C;
    fn seals(&mut self) -> Option<&mut Seals<C>> {
        self.as_mut()
    }
    fn sealing(&self) -> Sealing {
        match self {
            None => Sealing::Open,
            Some(_) => Sealing::Sealed,
        }
    }
}
