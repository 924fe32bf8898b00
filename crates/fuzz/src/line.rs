//! The line between host and base station: what parses is written back as it was, and no bytes bring a link
//! out of step.

use thalweg_protocols::line::station::{Event, Order};
use thalweg_protocols::line::{Link, LinkEvent};
use thalweg_units::{Duration, Instant};
use thalweg_wire::host::crc::crc32;
use thalweg_wire::host::{cobs, End, Frame, Message, MAX_FRAME, MAX_MESSAGE, MAX_STUFFED};
use thalweg_wire::{Reader, Writer};

/// A frame, its messages, and their orders and events.
pub fn host(bytes: &[u8]) {
    let mut stuffed = vec![0; cobs::stuffed_len(bytes.len())];
    let len = cobs::stuff(bytes, &mut stuffed).expect("there is room");
    assert_eq!(cobs::unstuff(&mut stuffed[..len]), Some(bytes.len()));
    assert_eq!(&stuffed[..bytes.len()], bytes);
    let _ = cobs::unstuff(&mut bytes.to_vec());
    let mut framed = bytes.to_vec();
    framed.extend(crc32(bytes).to_le_bytes());
    if let Ok((from, frame)) = Frame::parse(&framed) {
        let mut again = [0; MAX_FRAME];
        let len = frame.emit(from, &mut again).expect("it was read");
        assert_eq!(Frame::parse(&again[..len]), Ok((from, frame)));
        if let Frame::Data { message, .. } | Frame::Note { message, .. } = frame {
            self::message(message);
        }
    }
    message(&bytes[..bytes.len().min(MAX_MESSAGE)]);
    order(bytes);
    event(bytes);
}

fn written(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut room = [0; 1024];
    let mut w = Writer::new(&mut room);
    write(&mut w);
    let len = w.len();
    room[..len].to_vec()
}

fn message(bytes: &[u8]) {
    let Ok(message) = Message::parse(bytes) else {
        return;
    };
    assert_eq!(written(|w| message.emit(w).expect("it was read")), bytes);
    match message {
        Message::Order { bytes, .. } => order(bytes),
        Message::Event { bytes, .. } => {
            let mut r = Reader::new(bytes);
            while let Ok(len) = r.u8() {
                let Ok(one) = r.bytes(usize::from(len)) else {
                    return;
                };
                event(one);
            }
        }
        _ => {}
    }
}

fn order(bytes: &[u8]) {
    if let Ok(order) = Order::<64>::parse(bytes) {
        let again = written(|w| order.emit(w).expect("it was read"));
        assert_eq!(Order::parse(&again), Ok(order));
    }
}

fn event(bytes: &[u8]) {
    if let Ok(event) = Event::parse(bytes) {
        assert_eq!(written(|w| event.emit(w).expect("it was read")), bytes);
    }
}

/// Two ends, and what the line makes of their bytes: each byte of the story says what becomes of a frame.
pub fn link(story: &[u8]) {
    let mut now = Instant::ZERO;
    let mut ends =
        [(End::Host, 1), (End::Station, 2)].map(|(end, seed)| Link::new(end, seed, None, now));
    let (mut sent, mut heard) = ([0u32; 2], [0u32; 2]);
    let mut story = story.iter().copied();
    let mut boots = 2;
    while let Some(step) = story.next() {
        now += Duration::from_millis(u64::from(step >> 4) * 8);
        let (from, to) = (usize::from(step & 1), usize::from(!step & 1));
        if ends[from].due() <= now && ends[from].timeout(now).is_some() {
            (sent[from], heard[from]) = (0, 0);
        }
        if step & 2 != 0 && ends[from].room() > 0 {
            let sent = &mut sent[from];
            ends[from].send(&sent.to_le_bytes()).expect("there is room");
            *sent += 1;
        }
        let mut room = [0; MAX_STUFFED];
        let len = ends[from].transmit(now, &mut room);
        let mut bytes = room[..len].to_vec();
        match (step >> 2 & 3, story.next()) {
            (1, Some(at)) if len > 0 => bytes[usize::from(at) % len] ^= 1 << (at & 7),
            (2, Some(at)) => bytes.truncate(usize::from(at)),
            (3, Some(0)) => {
                boots += 1;
                ends[to] = Link::new(
                    if to == 0 { End::Host } else { End::Station },
                    boots,
                    None,
                    now,
                );
                (sent[to], heard[to]) = (0, 0);
            }
            _ => {}
        }
        let mut rest = &bytes[..];
        loop {
            match ends[to].receive(now, &mut rest) {
                None => break,
                Some(LinkEvent::Message(message)) => {
                    // Within a session: the next one. Another session begins at 0 on both ends.
                    let number = heard[to].to_le_bytes();
                    assert_eq!(message, number, "in order and once");
                    heard[to] += 1;
                }
                Some(LinkEvent::Up(_) | LinkEvent::Down(_)) => (sent[to], heard[to]) = (0, 0),
                Some(LinkEvent::Note(_)) => unreachable!("none was sent"),
                Some(LinkEvent::Foreign(_)) => unreachable!("there is one version"),
            }
        }
    }
}
