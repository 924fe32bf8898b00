//! AES-128 in software, for hosts and for chips without their own. Tests: at the end, FIPS-197.

use super::{Block, Cipher, Key};
use ::aes::cipher::{BlockEncrypt, KeyInit};
use ::aes::Aes128;
use core::fmt;

/// AES-128 of RustCrypto, in constant time. It keeps the schedule of the last key.
#[derive(Clone, Default)]
pub struct SoftwareAes {
    last: Option<(Key, Aes128)>,
}

impl fmt::Debug for SoftwareAes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SoftwareAes")
    }
}

impl Cipher for SoftwareAes {
    fn block(&mut self, key: &Key, block: &mut Block) {
        let is_last = |(last, _): &(Key, Aes128)| last == key;
        if !self.last.as_ref().is_some_and(is_last) {
            self.last = Some((key.clone(), Aes128::new(key.expose().into())));
        }
        if let Some((_, schedule)) = &self.last {
            schedule.encrypt_block(block.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::testing::hex;

    /// FIPS-197, appendix B and appendix C.1.
    #[test]
    fn blocks_are_those_of_the_standard() {
        let mut aes = SoftwareAes::default();
        for (key, plain, sealed) in [
            (
                "2b7e151628aed2a6abf7158809cf4f3c",
                "3243f6a8885a308d313198a2e0370734",
                "3925841d02dc09fbdc118597196a0b32",
            ),
            (
                "000102030405060708090a0b0c0d0e0f",
                "00112233445566778899aabbccddeeff",
                "69c4e0d86a7b0430d8cdb78070b4c55a",
            ),
        ] {
            let mut block = hex(plain);
            aes.block(&Key::new(hex(key)), &mut block);
            assert_eq!(block, hex::<16>(sealed));
        }
    }
}
