//! A node's seals in one session of RCRT. Tests: `../rcrt/source/sealed_tests.rs`.

use super::Unsealed;
use thalweg_wire::seal::session::{self, SessionKeys};
use thalweg_wire::seal::Cipher;
use thalweg_wire::{FrameBuf, WireError};

/// What seals a source's messages and checks its sink's.
pub trait SessionSeal {
    /// Seals `message`, whose sequence number in full is `number`; 0 where it has none.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] where it gets too long.
    fn seal(&mut self, message: &mut FrameBuf, number: u32) -> Result<(), WireError>;
    /// What `sealed` says, unchecked; none where it is too short to be sealed.
    fn unchecked<'m>(&self, sealed: &'m [u8]) -> Option<&'m [u8]>;
    /// Whether `sealed`, whose number in full is `number`, is the sink's.
    fn is_right(&mut self, sealed: &[u8], number: u32) -> bool;
}

/// In a network that is not secured everything is believed.
impl SessionSeal for Unsealed {
    fn seal(&mut self, _message: &mut FrameBuf, _number: u32) -> Result<(), WireError> {
        Ok(())
    }
    fn unchecked<'m>(&self, sealed: &'m [u8]) -> Option<&'m [u8]> {
        Some(sealed)
    }
    fn is_right(&mut self, _sealed: &[u8], _number: u32) -> bool {
        true
    }
}

/// A node's keys in one session, and a cipher.
#[derive(Debug, Clone)]
pub struct SessionSeals<C> {
    cipher: C,
    keys: SessionKeys,
}

impl<C: Cipher> SessionSeals<C> {
    /// Those of a node with these `keys`.
    pub const fn new(cipher: C, keys: SessionKeys) -> Self {
        Self { cipher, keys }
    }
}

impl<C: Cipher> SessionSeal for Option<SessionSeals<C>> {
    fn seal(&mut self, message: &mut FrameBuf, number: u32) -> Result<(), WireError> {
        match self {
            None => Ok(()),
            Some(SessionSeals { cipher, keys }) => keys.seal(cipher, message, number),
        }
    }
    fn unchecked<'m>(&self, sealed: &'m [u8]) -> Option<&'m [u8]> {
        match self {
            None => Some(sealed),
            Some(_) => session::unchecked(sealed),
        }
    }
    fn is_right(&mut self, sealed: &[u8], number: u32) -> bool {
        match self {
            None => true,
            Some(SessionSeals { cipher, keys }) => keys.open(cipher, sealed, number).is_some(),
        }
    }
}
