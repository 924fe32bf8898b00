use super::*;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::sync::{Arc, Mutex};
use thalweg_units::{Channel, Channel900};

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);
impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Full;
impl Write for Full {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::Error::from(io::ErrorKind::StorageFull))
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn sent(mpdu: &[u8]) -> Captured<'_> {
    Captured {
        sfd: SimTime::from_nanos(160_000),
        end: SimTime::from_nanos(5_000_000_123),
        on: Tuning::Ghz2_4(Channel::LAST),
        mpdu,
        side: Side::Sent { node: 1 },
    }
}

fn received(mpdu: &[u8]) -> Captured<'_> {
    Captured {
        side: Side::Received {
            node: 2,
            rssi: Dbm(-71.0),
            lqi: 105,
        },
        ..sent(mpdu)
    }
}

/// Fields of a TAP header, then the frame.
fn tap(packet: &[u8]) -> (Vec<(u16, Vec<u8>)>, Vec<u8>) {
    assert_eq!(packet[0], 0, "version");
    let length = usize::from(u16::from_le_bytes([packet[2], packet[3]]));
    let (mut fields, mut rest) = (Vec::new(), &packet[4..length]);
    while !rest.is_empty() {
        let kind = u16::from_le_bytes([rest[0], rest[1]]);
        let n = usize::from(u16::from_le_bytes([rest[2], rest[3]]));
        fields.push((kind, rest[4..4 + n].to_vec()));
        rest = &rest[4 + n.next_multiple_of(4)..];
    }
    (fields, packet[length..].to_vec())
}

#[test]
fn an_independent_reader_reads_the_file_back() {
    let shared = Shared::default();
    let mut file = Pcapng::new(shared.clone(), 3, Scope::Receptions).unwrap();
    file.frame(&sent(b"123456789")).unwrap();
    file.frame(&received(b"12")).unwrap();
    file.flush().unwrap();

    let bytes = shared.0.lock().unwrap().clone();
    let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
    let (mut names, mut packets) = (Vec::new(), Vec::new());
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(interface) => {
                assert_eq!(u32::from(interface.linktype), 283);
                for option in &interface.options {
                    if let InterfaceDescriptionOption::IfName(name) = option {
                        names.push(name.to_string());
                    }
                }
            }
            Block::EnhancedPacket(packet) => packets.push(packet.into_owned()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(names, ["node 0", "node 1", "node 2"]);

    let [first, second] = &packets[..] else {
        panic!("{packets:?}")
    };
    assert_eq!(first.interface_id, 1);
    assert_eq!(first.timestamp.as_nanos(), 5_000_000_123);
    assert!(first
        .options
        .contains(&EnhancedPacketOption::Flags(OUTBOUND)));
    let (fields, frame) = tap(&first.data);
    assert_eq!(frame, b"123456789\x89\x21");
    assert_eq!(
        fields,
        [
            (0, vec![1]),
            (3, vec![26, 0, 0]),
            (5, 160_000u64.to_le_bytes().to_vec())
        ]
    );

    assert_eq!(second.interface_id, 2);
    assert!(second
        .options
        .contains(&EnhancedPacketOption::Flags(INBOUND)));
    let (fields, frame) = tap(&second.data);
    assert_eq!(frame.len(), 4);
    assert_eq!(fields[3], (1, (-71.0f32).to_le_bytes().to_vec()));
    assert_eq!(fields[4], (10, vec![105]));
}

#[test]
fn the_page_tells_the_second_radio_from_the_first() {
    let shared = Shared::default();
    let mut file = Pcapng::new(shared.clone(), 3, Scope::Transmissions).unwrap();
    let on = Tuning::Mhz900(Channel900::new(4).unwrap());
    file.frame(&Captured { on, ..sent(b"123") }).unwrap();
    file.flush().unwrap();
    let bytes = shared.0.lock().unwrap().clone();
    let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
    let mut channel = None;
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            channel = tap(&packet.data).0.into_iter().nth(1);
        }
    }
    assert_eq!(channel, Some((3, vec![4, 0, 2])));
}

#[test]
fn receptions_are_left_out_unless_asked_for() {
    let shared = Shared::default();
    let mut file = Pcapng::new(shared.clone(), 3, Scope::Transmissions).unwrap();
    let before = shared.0.lock().unwrap().len();
    file.frame(&received(b"12")).unwrap();
    assert_eq!(shared.0.lock().unwrap().len(), before);
}

#[test]
fn a_full_disk_is_an_error() {
    assert!(Pcapng::new(Full, 1, Scope::Transmissions).is_err());
}
