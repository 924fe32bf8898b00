//! SHA-256 (FIPS 180-4), rolled up: 1 kB of code, where the usual packages take 7 kB and a newer compiler.

/// Bytes of a block.
const BLOCK: usize = 64;

/// The fractional parts of the cube roots of the first 64 primes (4.2.2).
const K: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// A digest that is being computed.
#[derive(Debug, Clone)]
pub(crate) struct Sha256 {
    state: [u32; 8],
    block: [u8; BLOCK],
    /// Bytes of the block that are there, and of all.
    filled: usize,
    len: u64,
}

impl Sha256 {
    pub(crate) const fn new() -> Self {
        Self {
            // The fractional parts of the square roots of the first eight primes (5.3.3).
            state: [
                0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
                0x5be0cd19,
            ],
            block: [0; BLOCK],
            filled: 0,
            len: 0,
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        for byte in bytes {
            self.push(*byte);
        }
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.block.get_mut(self.filled) {
            *place = byte;
        }
        self.filled += 1;
        if self.filled == BLOCK {
            self.compress();
            self.filled = 0;
        }
    }

    /// The first eight bytes of the digest: what goes into an object's info.
    pub(crate) fn shortened(mut self) -> [u8; 8] {
        let bits = 8 * self.len;
        self.push(0x80);
        while self.filled != BLOCK - 8 {
            self.push(0);
        }
        bits.to_be_bytes().into_iter().for_each(|b| self.push(b));
        let [first, second, ..] = self.state;
        (u64::from(first) << 32 | u64::from(second)).to_be_bytes()
    }

    /// One block (6.2.2), its schedule in a window of 16 words.
    fn compress(&mut self) {
        let mut w = [0_u32; 16];
        for (word, bytes) in w.iter_mut().zip(self.block.chunks_exact(4)) {
            *word = bytes
                .iter()
                .fold(0, |word, byte| word << 8 | u32::from(*byte));
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = self.state;
        for (t, k) in K.iter().enumerate() {
            let word = w[t % 16];
            let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = e & f ^ !e & g;
            let first = [s1, choice, *k, word]
                .into_iter()
                .fold(h, u32::wrapping_add);
            let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let majority = a & b ^ a & c ^ b & c;
            let second = s0.wrapping_add(majority);
            (h, g, f, e) = (g, f, e, d.wrapping_add(first));
            (d, c, b, a) = (c, b, a, first.wrapping_add(second));
            // The word of the round 16 further on.
            let (early, late) = (w[(t + 1) % 16], w[(t + 14) % 16]);
            let low = early.rotate_right(7) ^ early.rotate_right(18) ^ early >> 3;
            let high = late.rotate_right(17) ^ late.rotate_right(19) ^ late >> 10;
            let all = [low, w[(t + 9) % 16], high];
            w[t % 16] = all.into_iter().fold(word, u32::wrapping_add);
        }
        for (kept, new) in self.state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *kept = kept.wrapping_add(new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sha256;

    #[test]
    fn it_is_the_standards() {
        let of = |bytes: &[u8], times: usize| {
            let mut digest = Sha256::new();
            (0..times).for_each(|_| digest.update(bytes));
            u64::from_be_bytes(digest.shortened())
        };
        // FIPS 180-4's examples, and nothing at all.
        assert_eq!(of(b"", 1), 0xe3b0_c442_98fc_1c14);
        assert_eq!(of(b"abc", 1), 0xba78_16bf_8f01_cfea);
        let two_blocks = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(of(two_blocks, 1), 0x248d_6a61_d206_38b8);
        assert_eq!(of(b"aaaaaaaaaa", 100_000), 0xcdc7_6e5c_9914_fb92);
    }
}
