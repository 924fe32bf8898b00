//! AES-CMAC (RFC 4493): a tag over bytes, which need not lie together. Tests: at the end.

use super::{Block, Cipher, Key, BLOCK_BYTES};
use zeroize::Zeroize;

/// What the left-most bit of a doubled block turns into (RFC 4493, section 2.3).
const R_B: u8 = 0x87;

/// The tag under `key` over `parts`, one behind the other.
pub fn cmac(cipher: &mut (impl Cipher + ?Sized), key: &Key, parts: &[&[u8]]) -> Block {
    let (mut state, mut filled) = ([0; BLOCK_BYTES], 0);
    for byte in parts.iter().flat_map(|part| part.iter()) {
        // The last block is not encrypted here: it is treated by itself.
        if filled == BLOCK_BYTES {
            cipher.block(key, &mut state);
            filled = 0;
        }
        if let Some(place) = state.get_mut(filled) {
            *place ^= byte;
        }
        filled += 1;
    }
    let mut subkey = [0; BLOCK_BYTES];
    cipher.block(key, &mut subkey);
    double(&mut subkey);
    if filled < BLOCK_BYTES {
        double(&mut subkey);
        if let Some(end) = state.get_mut(filled) {
            *end ^= 0x80;
        }
    }
    for (place, byte) in state.iter_mut().zip(subkey) {
        *place ^= byte;
    }
    cipher.block(key, &mut state);
    subkey.zeroize();
    state
}

/// The first `N` bytes of the same tag.
pub fn truncated<const N: usize>(
    cipher: &mut (impl Cipher + ?Sized),
    key: &Key,
    parts: &[&[u8]],
) -> [u8; N] {
    let tag = cmac(cipher, key, parts);
    core::array::from_fn(|i| tag.get(i).copied().unwrap_or_default())
}

/// Multiplies by x in GF(2^128), without a branch on its bits.
fn double(block: &mut Block) {
    let mut carry = 0;
    for byte in block.iter_mut().rev() {
        let out = *byte >> 7;
        *byte = *byte << 1 | carry;
        carry = out;
    }
    block[BLOCK_BYTES - 1] ^= R_B * carry;
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
            let short: [u8; 4] = truncated(aes, &key, &[&bytes]);
            prop_assert_eq!(&short[..], &whole[..4]);
        }
    }
}
