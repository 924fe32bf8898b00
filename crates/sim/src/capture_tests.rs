use super::*;
use crate::tests::{net, run, Order};
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

/// What a file says of a packet: interface, epb_flags, end of its last symbol, fields of its TAP header, frame.
type Packet = (u32, u32, u64, Vec<(u16, Vec<u8>)>, Vec<u8>);

fn packets(bytes: &[u8]) -> Vec<Packet> {
    let mut reader = PcapNgReader::new(bytes).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else {
            continue;
        };
        let [EnhancedPacketOption::Flags(flags)] = packet.options[..] else {
            panic!("{:?}", packet.options);
        };
        let (fields, frame) = tap(&packet.data);
        let end = packet.timestamp.as_nanos() as u64;
        packets.push((packet.interface_id, flags, end, fields, frame));
    }
    packets
}

#[test]
fn a_capture_of_a_run_that_hops_is_what_was_on_the_air() {
    let (shared, mut net) = (Shared::default(), net(3));
    let file = Pcapng::new(shared.clone(), 3, Scope::Receptions).unwrap();
    net.capture(Some(Box::new(file))).unwrap();
    let mut expected = Vec::new();
    for (turn, channel) in (11..=26).chain([12, 26, 11]).enumerate() {
        // Node 2 stays on channel 12.
        run(&mut net, 10_000 * turn as u64 + 8_000);
        net.command(1, Order::Listen(channel));
        net.command(2, Order::Listen(12));
        let began = 10_000 * (turn as u64 + 1);
        run(&mut net, began);
        let mpdu = vec![turn as u8; 3 + 6 * turn];
        net.command(0, Order::SayOn(channel, mpdu.clone()));
        // Turnaround 192 us, SFD 160 us later, two bytes of check sequence.
        let (sfd, end) = (began + 352, began + 192 + 32 * (8 + mpdu.len() as u64));
        let sent = vec![
            (TLV_FCS, vec![1]),
            (TLV_CHANNEL, vec![channel, 0, 0]),
            (TLV_SFD_TIME, (sfd * 1_000).to_le_bytes().to_vec()),
        ];
        let mut heard = sent.clone();
        heard.push((TLV_RSS, (-50.0f32).to_le_bytes().to_vec()));
        heard.push((TLV_LQI, vec![110]));
        let frame = [&mpdu[..], &mac::fcs(&mpdu).to_le_bytes()].concat();
        let hears = [true, channel == 12];
        expected.push((0, OUTBOUND, end * 1_000, sent, frame.clone()));
        for node in (1..3).filter(|node| hears[*node as usize - 1]) {
            expected.push((node, INBOUND, end * 1_000, heard.clone(), frame.clone()));
        }
    }
    run(&mut net, 300_000);
    net.take_capture().unwrap().flush().unwrap();
    let told = packets(&shared.0.lock().unwrap());
    assert_eq!(told.len(), expected.len());
    for (told, expected) in told.iter().zip(&expected) {
        assert_eq!(told, expected);
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
    let all = packets(&shared.0.lock().unwrap());
    assert_eq!(all[0].3[1], (TLV_CHANNEL, vec![4, 0, 2]));
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
