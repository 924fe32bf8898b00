//! CRC-32 as of IEEE 802.3, bit by bit: on a mote it runs over headers only.

/// The check sum of `bytes`.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| match crc & 1 {
            0 => crc >> 1,
            _ => crc >> 1 ^ 0xEDB8_8320,
        })
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_the_usual_one() {
        assert_eq!(super::crc32(b"123456789"), 0xCBF4_3926);
    }
}
