//! AES-CMAC (RFC 4493): a tag over bytes, which need not lie together. Tests: at the end.

use super::{Block, Cipher, Key, BLOCK_BYTES};
use core::fmt;
use zeroize::Zeroize;

/// What the left-most bit of a doubled block turns into (RFC 4493, section 2.3).
const R_B: u8 = 0x87;

/// A key of tags.
pub trait MacKey {
    /// The key.
    fn key(&self) -> &Key;
    /// What its cipher makes of zeros (RFC 4493, section 2.3: L).
    fn of_zeros(&self, cipher: &mut (impl Cipher + ?Sized)) -> Block;
}

impl MacKey for Key {
    fn key(&self) -> &Key {
        self
    }
    fn of_zeros(&self, cipher: &mut (impl Cipher + ?Sized)) -> Block {
        let mut block = [0; BLOCK_BYTES];
        cipher.block(self, &mut block);
        block
    }
}

/// A key for many short tags, each of which takes a block of the cipher less than with the key alone.
#[derive(Clone)]
pub struct Prepared {
    key: Key,
    of_zeros: Key,
}

impl Prepared {
    /// `key`, prepared.
    pub fn new(cipher: &mut (impl Cipher + ?Sized), key: Key) -> Self {
        let of_zeros = Key::new(key.of_zeros(cipher));
        Self { key, of_zeros }
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

impl MacKey for Prepared {
    fn key(&self) -> &Key {
        &self.key
    }
    fn of_zeros(&self, _cipher: &mut (impl Cipher + ?Sized)) -> Block {
        *self.of_zeros.expose()
    }
}

/// A tag that is being computed, over bytes that come one after the other. All calls are to have one key.
#[derive(Clone, Default)]
pub struct Mac {
    state: Block,
    /// The last bytes, which are treated by themselves, and how many they are.
    last: Block,
    filled: usize,
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mac(..)")
    }
}

impl Mac {
    /// Adds `bytes`.
    pub fn update(&mut self, cipher: &mut (impl Cipher + ?Sized), key: &Key, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.filled == BLOCK_BYTES {
                self.state = xored(self.state, self.last);
                cipher.block(key, &mut self.state);
                self.filled = 0;
            }
            let room = self.last.get_mut(self.filled..).unwrap_or_default();
            let (these, rest) = bytes.split_at(room.len().min(bytes.len()));
            if let Some(place) = room.get_mut(..these.len()) {
                place.copy_from_slice(these);
            }
            self.filled += these.len();
            bytes = rest;
        }
    }
    /// The tag.
    pub fn finish(mut self, cipher: &mut (impl Cipher + ?Sized), key: &impl MacKey) -> Block {
        let mut subkey = doubled(key.of_zeros(cipher));
        if let Some([end, rest @ ..]) = self.last.get_mut(self.filled..) {
            subkey = doubled(subkey);
            *end = 0x80;
            rest.fill(0);
        }
        self.state = xored(xored(self.state, self.last), subkey);
        subkey.zeroize();
        cipher.block(key.key(), &mut self.state);
        self.state
    }
}

/// The tag under `key` over `parts`, one behind the other.
pub fn cmac(cipher: &mut (impl Cipher + ?Sized), key: &impl MacKey, parts: &[&[u8]]) -> Block {
    let mut mac = Mac::default();
    for part in parts {
        mac.update(cipher, key.key(), part);
    }
    mac.finish(cipher, key)
}

/// The first `N` bytes of the same tag.
pub fn truncated<const N: usize>(
    cipher: &mut (impl Cipher + ?Sized),
    key: &impl MacKey,
    parts: &[&[u8]],
) -> [u8; N] {
    let tag = cmac(cipher, key, parts);
    core::array::from_fn(|i| tag.get(i).copied().unwrap_or_default())
}

/// By words: a relay has a gap's time for a tag.
fn xored(a: Block, b: Block) -> Block {
    (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)).to_ne_bytes()
}

/// Multiplied by x in GF(2^128), without a branch on its bits.
fn doubled(block: Block) -> Block {
    let bits = u128::from_be_bytes(block);
    let carry = 0_u128.wrapping_sub(bits >> 127) & u128::from(R_B);
    (bits << 1 ^ carry).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::testing::hex;
    use crate::seal::SoftwareAes;
    use proptest::prelude::*;

    const KEY: &str = "2b7e151628aed2a6abf7158809cf4f3c";
    const MESSAGE: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
                           30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";

    /// RFC 4493, section 4: examples 1 to 4.
    #[test]
    fn tags_are_those_of_the_rfc() {
        let (key, message) = (Key::new(hex(KEY)), hex::<64>(MESSAGE));
        for (len, tag) in [
            (0, "bb1d6929e95937287fa37d129b756746"),
            (16, "070a16b46b4d4144f79bdd9dd04a287c"),
            (40, "dfa66747de9ae63030ca32611497c827"),
            (64, "51f0bebf7e3b9d92fc49741779363cfe"),
        ] {
            let made = cmac(&mut SoftwareAes::default(), &key, &[&message[..len]]);
            assert_eq!(made, hex(tag), "{len} bytes");
        }
    }

    proptest! {
        #[test]
        fn parts_are_as_one(bytes in prop::collection::vec(any::<u8>(), 0..80), cut in 0..80usize) {
            let (a, b) = bytes.split_at(cut.min(bytes.len()));
            let (key, aes) = (Key::new(hex(KEY)), &mut SoftwareAes::default());
            let whole = cmac(aes, &key, &[&bytes]);
            prop_assert_eq!(cmac(aes, &key, &[a, &[], b]), whole);
            let ready = Prepared::new(aes, key.clone());
            prop_assert_eq!(cmac(aes, &ready, &[&bytes]), whole);
            let short: [u8; 4] = truncated(aes, &key, &[&bytes]);
            prop_assert_eq!(&short[..], &whole[..4]);
        }
    }
}
