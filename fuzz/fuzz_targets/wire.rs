//! Every parser of frames.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thalweg_units::Duration;
use thalweg_wire::beacon::{Announce, Beacon};
use thalweg_wire::pipeline::{Head, Header, Nack, Request};
use thalweg_wire::report::{Report, Schedule};
use thalweg_wire::route::{Assembler, Route, Turn};
use thalweg_wire::{flood, FrameBuf, Reader};

fuzz_target!(|bytes: &[u8]| {
    let _ = Head::parse(bytes);
    let mut r = Reader::new(bytes);
    if let Ok(header) = Header::parse(&mut r) {
        let again = FrameBuf::build(|w| header.emit(w));
        assert_eq!(Header::parse(&mut Reader::new(&again.unwrap())), Ok(header));
        if let Ok(request) = Request::parse(&mut r.clone()) {
            let again = FrameBuf::build(|w| request.emit(w).map(|_| ())).unwrap();
            assert_eq!(Request::parse(&mut Reader::new(&again)), Ok(request));
        }
        if let Ok(nack) = Nack::parse(r) {
            assert!(nack.missing_packets().count() <= 8 * bytes.len());
        }
    }
    if let Ok(repr) = flood::Repr::parse(bytes) {
        let again = FrameBuf::build(|w| repr.emit(w)).unwrap();
        assert_eq!(flood::Repr::parse(&again), Ok(repr));
    }
    let _ = flood::Kind::parse_tag(&mut Reader::new(bytes));
    let _ = Beacon::parse(bytes);
    let _ = Announce::parse(bytes);
    let _ = Report::parse(&mut Reader::new(bytes));
    let _ = Schedule::parse(&mut Reader::new(bytes));
    // Segments of 110 bytes, as they may come from the air.
    let mut assembler = Assembler::EMPTY;
    for segment in bytes.chunks(110) {
        let _ = assembler.push(segment);
    }
    if let Some(route) = assembler.route() {
        let mut again = Assembler::EMPTY;
        for index in 0..route.segments() {
            let segment = FrameBuf::build(|w| route.segment(index, Turn::First, Duration::ZERO, w)).unwrap();
            again.push(&segment).unwrap();
        }
        let back: Option<Route> = again.route();
        assert_eq!(back, Some(route));
    }
});
