//! What seals frames and objects: AES-128 in the modes CMAC (RFC 4493) and CTR (SP 800-38A), and the network's keys.
//!
//! Owns: [`Key`], which no text shows; the seam to a chip's AES, [`Cipher`]; [`mod@cmac`], [`object`]s, [`frame`]s, [`survey`]s,
//! [`session`]s and the derivation of keys ([`keys`]). Invariants: nothing but a key's owner reads its bytes; tags are compared in constant time; no
//! counter and no random number is a nonce. `docs/security.md` says what is protected. Tests: beside the modules.

mod aes;
pub mod cmac;
pub mod frame;
pub mod keys;
pub mod object;
pub mod session;
pub mod survey;
#[cfg(test)]
pub(crate) mod testing;

pub use self::aes::SoftwareAes;
pub use keys::{GroupKeys, MasterKey, NodeKeys};

use core::fmt;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// Bytes of a key, and of a block.
pub const BLOCK_BYTES: usize = 16;
/// A block of AES.
pub type Block = [u8; BLOCK_BYTES];

/// A key of AES-128. It is never shown, and its bytes are overwritten when it is dropped.
#[derive(Clone)]
pub struct Key(Block);

impl Key {
    /// The key of these bytes.
    pub const fn new(bytes: Block) -> Self {
        Self(bytes)
    }
    /// Its bytes, for a cipher and for where it is kept; no other code needs them.
    pub const fn expose(&self) -> &Block {
        &self.0
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        equal(&self.0, &other.0)
    }
}
impl Eq for Key {}

/// AES-128: a chip's, or [`SoftwareAes`].
pub trait Cipher {
    /// Encrypts `block` in place under `key` (FIPS-197).
    fn block(&mut self, key: &Key, block: &mut Block);
}

/// Whether `a` and `b` are the same bytes, in a time that depends on their number alone.
pub fn equal(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::format;

    #[test]
    fn a_key_is_never_shown() {
        let key = Key::new([0xab; BLOCK_BYTES]);
        assert_eq!(format!("{key:?} {:?}", Some(&key)), "Key(..) Some(Key(..))");
        assert_eq!(key, Key::new([0xab; BLOCK_BYTES]));
        assert_ne!(key, Key::new([0xaa; BLOCK_BYTES]));
    }
}
