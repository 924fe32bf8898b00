//! An image as the package that Nordic's serial boot loader takes: manifest, init packet, flash.
//!
//! Sources: dfu-cc.proto of Nordic's pc-nrfutil (the init packet), its manifest, and its packages (the digest's bytes are
//! reversed). The init packet is that of nrfutil 6.1.7 byte for byte.
//! Values are those of `nrfutil pkg generate --hw-version 52 --sd-req 0x00 --application-version 1`. Not signed: the dongle's
//! open boot loader takes it so. Not tried on a dongle. Tests: `dfu_tests.rs`.

use sha2::{Digest as _, Sha256};

use super::zip;

/// Of the chip's family, nRF52.
const HARDWARE: u32 = 52;
/// An open boot loader takes any version.
const VERSION: u32 = 1;

const MANIFEST: &str = r#"{
    "manifest": {
        "application": {
            "bin_file": "application.bin",
            "dat_file": "application.dat"
        }
    }
}
"#;

/// The package of `flash`, from the application's first byte on.
pub(super) fn package(flash: &[u8]) -> Vec<u8> {
    zip::stored(&[
        ("manifest.json", MANIFEST.as_bytes()),
        ("application.dat", &init_packet(flash)),
        ("application.bin", flash),
    ])
}

/// `Packet` with a `Command` that is an `InitCommand`; fields are written in the order of their numbers.
fn init_packet(flash: &[u8]) -> Vec<u8> {
    let mut digest: Vec<u8> = Sha256::digest(flash).to_vec();
    digest.reverse();
    let mut hash = Message::default();
    hash.number(1, 3); // hash_type: SHA256
    hash.bytes(2, &digest);
    let mut init = Message::default();
    init.number(1, VERSION);
    init.number(2, HARDWARE);
    init.bytes(3, &[0]); // sd_req, packed: no SoftDevice
    init.number(4, 0); // type: APPLICATION
    init.number(5, 0); // sd_size
    init.number(6, 0); // bl_size
    init.number(7, flash.len() as u32); // app_size
    init.bytes(8, &hash.0);
    init.number(9, 0); // is_debug: no
    init.bytes(10, &[0x08, 1, 0x12, 0]); // boot_validation: type VALIDATE_GENERATED_CRC, no bytes
    let mut command = Message::default();
    command.number(1, 1); // op_code: INIT
    command.bytes(2, &init.0);
    let mut packet = Message::default();
    packet.bytes(1, &command.0);
    packet.0
}

/// A message of protocol buffers as it is written: fields with their numbers (Google, "Encoding").
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// A field of wire type 0.
    fn number(&mut self, field: u32, value: u32) {
        self.varint(field << 3);
        self.varint(value);
    }
    /// A field of wire type 2: bytes, another message, or packed numbers.
    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u32);
        self.0.extend(bytes);
    }
    /// Seven bits a byte, the lowest first; all but the last have the eighth.
    fn varint(&mut self, mut value: u32) {
        while value > 0x7F {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
#[path = "dfu_tests.rs"]
mod tests;
