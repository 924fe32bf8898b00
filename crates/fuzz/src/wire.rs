//! Every parser of frames: what parses is written back and parses to the same.

use std::fmt::Debug;
use thalweg_units::{Duration, NodeId};
use thalweg_wire::beacon::{Announce, Beacon};
use thalweg_wire::pipeline::{Format, Head, Header, Kind, Nack, Request, MAX_PACKETS};
use thalweg_wire::route::{Assembler, Route, WakeUpTurn, MAX_SEGMENT_BYTES};
use thalweg_wire::seal::{frame, Key, NodeKeys, SoftwareAes};
use thalweg_wire::{addressed, flood, forward, hop, ifrc, rcrt, report, stream, sweep, tree};
use thalweg_wire::{FrameBuf, Reader, WireError, Writer};

/// `read` of what `one` writes is `one`.
fn again<T: PartialEq + Debug>(
    one: T,
    write: impl FnOnce(&T, &mut Writer<'_>) -> Result<(), WireError>,
    read: impl FnOnce(&[u8]) -> bool,
) {
    // A part may be longer than any frame.
    let mut room = vec![0; 1 << 16];
    let mut w = Writer::new(&mut room);
    let written = write(&one, &mut w);
    assert_eq!(written, Ok(()), "{one:?} was read and cannot be written");
    let len = w.len();
    assert!(read(&room[..len]), "{one:?} is read as another");
}

/// What was not sealed does not open.
fn sealed(bytes: &[u8]) {
    let (aes, key) = (&mut SoftwareAes::default(), Key::new([0x5a; 16]));
    let node = NodeId::new(1).expect("it is an address");
    assert_eq!(frame::open_flood(aes, &key, node, bytes), None);
    assert_eq!(frame::open_control(aes, &key, bytes), None);
    let session = NodeKeys::new(key).session(aes, (node, 1));
    assert_eq!(session.open(aes, bytes, 7), None);
}

/// A frame, or a part of one.
pub fn wire(bytes: &[u8]) {
    pipeline(bytes);
    if let Ok(repr) = flood::Repr::parse(bytes) {
        let frame = FrameBuf::build(|w| repr.emit(w)).expect("it was read from a frame");
        assert_eq!(*frame, *bytes);
    }
    let _ = flood::Kind::parse_tag(&mut Reader::new(bytes));
    sealed(bytes);
    let _ = Beacon::parse(bytes);
    if let Ok(announce) = Announce::parse(bytes) {
        let read = |bytes: &[u8]| Announce::parse(bytes) == Ok(announce);
        again(announce, |a, w| a.emit(w), read);
    }
    if let Ok(frame) = hop::Frame::parse(bytes) {
        let written = frame.frame().expect("it was read from a frame");
        assert_eq!(hop::Frame::parse(&written), Ok(frame));
    }
    reports(bytes);
    let _ = sweep::Announcement::parse(bytes);
    let _ = sweep::Beacon::parse(bytes);
    trees(bytes);
    streams(bytes);
    routes(bytes);
}

fn pipeline(bytes: &[u8]) {
    let _ = Head::parse(bytes);
    let mut r = Reader::new(bytes);
    let Ok(header) = Header::parse(&mut r) else {
        return;
    };
    if let Ok(request) = Request::parse(&mut r.clone()) {
        let read = |bytes: &[u8]| Request::parse(&mut Reader::new(bytes)) == Ok(request);
        again(request, |request, w| request.emit(w), read);
    }
    if let Ok(nack) = Nack::parse(r) {
        assert!(nack.missing_packets().count() <= 8 * bytes.len());
    }
    for format in [Format::Full, Format::Slim] {
        let written = FrameBuf::build(|w| header.emit_as(format, w));
        let fits = format == Format::Full || header.number < MAX_PACKETS;
        match written {
            Ok(frame) => assert_eq!(Header::parse(&mut Reader::new(&frame)), Ok(header)),
            Err(_) => assert!(!fits || header.head.kind != Kind::Data, "{header:?}"),
        }
    }
}

fn reports(bytes: &[u8]) {
    if let Ok(head) = report::Report::parse(&mut Reader::new(bytes)) {
        let read = |bytes: &[u8]| report::Report::parse(&mut Reader::new(bytes)) == Ok(head);
        again(head, |head, w| head.emit(w), read);
    }
    if let Ok(head) = report::Schedule::parse(&mut Reader::new(bytes)) {
        let read = |bytes: &[u8]| report::Schedule::parse(&mut Reader::new(bytes)) == Ok(head);
        again(head, |head, w| head.emit(w), read);
    }
    let mut rows = Reader::new(bytes);
    while report::Row::parse(&mut rows).is_ok() {}
}

fn trees(bytes: &[u8]) {
    let _ = addressed::Header::parse(&mut Reader::new(bytes));
    let _ = addressed::Ack::parse(bytes);
    let _ = tree::Repr::parse(bytes);
    let _ = ifrc::Control::parse(bytes);
    if let Ok(up) = rcrt::Up::parse(bytes) {
        again(
            up,
            |up, w| up.emit(w),
            |bytes| rcrt::Up::parse(bytes).is_ok(),
        );
    }
    if let Ok(down) = rcrt::Down::parse(bytes) {
        let read = |bytes: &[u8]| rcrt::Down::parse(bytes).is_ok();
        again(down, |down, w| down.emit(w), read);
    }
}

fn streams(bytes: &[u8]) {
    let _ = stream::Call::parse(bytes);
    // Whatever is forwarded is written again.
    if let Ok(packet) = stream::Packet::parse(bytes) {
        let frame = packet.frame().expect("it was read from a frame");
        assert_eq!(stream::Packet::parse(&frame), Ok(packet));
    }
    if let Ok(repr) = forward::Repr::parse(bytes) {
        let frame = repr.frame().expect("it was read from a frame");
        assert_eq!(forward::Repr::parse(&frame), Ok(repr));
    }
}

/// Segments of the longest size, as they may come from the air.
fn routes(bytes: &[u8]) {
    let mut assembler = Assembler::EMPTY;
    for segment in bytes.chunks(MAX_SEGMENT_BYTES) {
        let _ = assembler.push(segment);
    }
    let Ok(route) = assembler.route() else {
        return;
    };
    let mut again = Assembler::EMPTY;
    for index in 0..route.segments() {
        let segment =
            |w: &mut Writer<'_>| route.segment(index, WakeUpTurn::First, Duration::ZERO, w);
        let segment = FrameBuf::build(segment).expect("it was put together from some");
        again.push(&segment).expect("it was just written");
    }
    let back: Option<Route> = again.route().ok();
    assert_eq!(back, Some(route));
}
