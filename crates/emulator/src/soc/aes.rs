//! AES-128, one block encrypted (FIPS-197, clauses 4 and 5), as the standard writes it down.

/// Bytes of a block, and of a key.
pub(super) const BYTES: usize = 16;
pub(super) type Block = [u8; BYTES];

/// Rounds of a key of 128 bits (clause 5).
const ROUNDS: usize = 10;
/// SubBytes (5.1.1).
const S_BOX: [u8; 256] = s_box();

/// Times x, modulo x^8 + x^4 + x^3 + x + 1 (4.2.1).
const fn xtime(byte: u8) -> u8 {
    byte << 1 ^ if byte >> 7 != 0 { 0x1b } else { 0 }
}

const fn s_box() -> [u8; 256] {
    let mut table = [0x63; 256];
    // All but zero: powers of x + 1, and of its inverse, which is divided by as here.
    let (mut byte, mut inverse) = (1_u8, 1_u8);
    loop {
        byte ^= xtime(byte);
        inverse ^= inverse << 1;
        inverse ^= inverse << 2;
        inverse ^= inverse << 4;
        if inverse >> 7 != 0 {
            inverse ^= 0x09;
        }
        table[byte as usize] = 0x63
            ^ inverse
            ^ inverse.rotate_left(1)
            ^ inverse.rotate_left(2)
            ^ inverse.rotate_left(3)
            ^ inverse.rotate_left(4);
        if byte == 1 {
            return table;
        }
    }
}

fn substituted(byte: u8) -> u8 {
    S_BOX[usize::from(byte)]
}

/// `block` under `key` (5.1).
pub(super) fn encrypted(mut key: Block, block: Block) -> Block {
    let mut state = added(block, key);
    let mut constant = 1;
    for round in 1..=ROUNDS {
        key = next_key(key, constant);
        constant = xtime(constant);
        // SubBytes and ShiftRows (5.1.2): row n of column m comes from column m + n.
        let shifted: Block =
            std::array::from_fn(|at| substituted(state[(at + 4 * (at % 4)) % BYTES]));
        let mixed = match round {
            ROUNDS => shifted,
            _ => mixed(shifted),
        };
        state = added(mixed, key);
    }
    state
}

/// AddRoundKey (5.1.4).
fn added(state: Block, key: Block) -> Block {
    std::array::from_fn(|at| state[at] ^ key[at])
}

/// MixColumns (5.1.3).
fn mixed(state: Block) -> Block {
    std::array::from_fn(|at| {
        let byte = |row: usize| state[at / 4 * 4 + (at + row) % 4];
        xtime(byte(0)) ^ xtime(byte(1)) ^ byte(1) ^ byte(2) ^ byte(3)
    })
}

/// The key of the next round (5.2).
fn next_key(before: Block, constant: u8) -> Block {
    let mut key = before;
    for at in 0..BYTES {
        key[at] ^= match at {
            // RotWord and SubWord of the last column.
            0..4 => substituted(before[12 + (at + 1) % 4]) ^ if at == 0 { constant } else { 0 },
            _ => key[at - 4],
        };
    }
    key
}
