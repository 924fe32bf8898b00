//! The CRC-32 of Ethernet (ISO 3309; reflected, polynomial 0x04C11DB7, begun and ended with all ones), four
//! bits at a time: a table of 64 bytes.

/// The remainders of four bits.
const TABLE: [u32; 16] = table();

const fn table() -> [u32; 16] {
    let (mut table, mut n) = ([0; 16], 0);
    while n < 16 {
        let (mut rest, mut bit) = (n as u32, 0);
        while bit < 4 {
            rest = if rest & 1 == 1 {
                rest >> 1 ^ 0xedb8_8320
            } else {
                rest >> 1
            };
            bit += 1;
        }
        table[n] = rest;
        n += 1;
    }
    table
}

/// The CRC-32 of `bytes`.
pub fn crc32(bytes: &[u8]) -> u32 {
    let step = |rest: u32, bits: u32| rest >> 4 ^ TABLE[((rest ^ bits) & 0x0f) as usize];
    let byte = |rest: u32, byte: &u8| {
        let bits = u32::from(*byte);
        step(step(rest, bits), bits >> 4)
    };
    !bytes.iter().fold(u32::MAX, byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_catalogue() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(&[]), 0);
    }
}
