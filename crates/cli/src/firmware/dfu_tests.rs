use super::*;

/// SHA-256 of "abc" (FIPS 180-4, example 1), its last byte first.
const REVERSED: [u8; 32] = [
    0xAD, 0x15, 0x00, 0xF2, 0x61, 0xFF, 0x10, 0xB4, 0x9C, 0x7A, 0x17, 0x96, 0xA3, 0x61, 0x03, 0xB0,
    0x23, 0x22, 0xAE, 0x5D, 0xDE, 0x40, 0x41, 0x41, 0xEA, 0xCF, 0x01, 0x8F, 0xBF, 0x16, 0x78, 0xBA,
];

#[test]
fn an_init_packet_is_what_the_proto_file_makes_by_hand() {
    let mut wanted = vec![0x0A, 65]; // Packet.command, 65 bytes
    wanted.extend([0x08, 1, 0x12, 61]); // op_code INIT; init, 61 bytes
    wanted.extend([0x08, 1, 0x10, 52, 0x1A, 1, 0]); // fw_version, hw_version, sd_req
    wanted.extend([0x20, 0, 0x28, 0, 0x30, 0, 0x38, 3]); // type, three sizes
    wanted.extend([0x42, 36, 0x08, 3, 0x12, 32]); // hash: SHA256, 32 bytes
    wanted.extend(REVERSED);
    wanted.extend([0x48, 0, 0x52, 4, 0x08, 1, 0x12, 0]); // is_debug, boot_validation
    assert_eq!(init_packet(b"abc"), wanted);
}

#[test]
fn a_number_takes_seven_bits_a_byte() {
    // 300 and 2^32 - 1, as "Encoding" has them.
    let mut message = Message::default();
    message.number(7, 300);
    message.number(16, u32::MAX);
    let wanted = [0x38, 0xAC, 0x02, 0x80, 0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F];
    assert_eq!(message.0, wanted);
    // The lengths around a longer number grow with it.
    let packet = init_packet(&[0; 300]);
    assert_eq!((packet[1], packet[5], packet.len()), (66, 62, 68));
}

#[test]
fn a_zip_file_is_what_the_application_note_makes_by_hand() {
    let about = [
        &[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..],
        &[0xC2, 0x41, 0x24, 0x35, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0],
    ]
    .concat();
    let wanted = [
        b"PK\x03\x04",
        &about[..],
        b"aabc",
        b"PK\x01\x02\x14\x00",
        &about,
        &[0; 14],
        b"a",
        b"PK\x05\x06",
        &[0, 0, 0, 0, 1, 0, 1, 0, 47, 0, 0, 0, 34, 0, 0, 0, 0, 0],
    ]
    .concat();
    assert_eq!(zip::stored(&[("a", b"abc")]), wanted);
}
