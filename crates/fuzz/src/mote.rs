//! One node, and whatever its radio and its host may say: no panic, no livelock, no time-out that stays due.
//!
//! A story is a byte that says what happens, microseconds until then, and what that takes. Most frames are made
//! so that they pass for one, since random bytes hardly ever do.

use thalweg_engine::{drain, BoardTiming, Engine, OpId, RadioEvent, RadioId, Refusal, Request};
use thalweg_protocols::floodnet::{Config, Idle};
use thalweg_protocols::mote::{Command, Mote};
use thalweg_protocols::object::{NoRoom, ObjectInfo, ObjectStore};
use thalweg_units::{Channel, Dbm, Duration, Instant, NodeId};
use thalweg_wire::beacon::Beacon;
use thalweg_wire::flood::{self, Campaign, Course, Ntx};
use thalweg_wire::pipeline::{Format, Group, Head, Header, Kind, Tag, MAX_HOPS};
use thalweg_wire::{dispatch, mac, FrameBuf, Reader};

const NODES: usize = 16;
/// Time-outs of one instant, at most.
const MOST_AT_ONCE: u32 = 64;

/// A node that has an object, and now and then no room for another.
struct Store(u32);

impl ObjectStore for Store {
    fn info(&self) -> ObjectInfo {
        let digest = *b"an objec";
        ObjectInfo { len: 3_000, digest }
    }
    fn read(&self, _offset: u32, into: &mut [u8]) {
        into.fill(7);
    }
    fn write(&mut self, _offset: u32, _bytes: &[u8]) -> Result<(), NoRoom> {
        self.0 += 1;
        match self.0 % 5 {
            0 => Err(NoRoom),
            _ => Ok(()),
        }
    }
}

/// The node that a story's first byte names: its address, and whether it sleeps when idle.
fn node(first: u8) -> Mote<Store, 16, NODES> {
    let id = NodeId::new(u16::from(first % NODES as u8)).expect("it is small");
    let idle = match first & 0x80 {
        0 => Idle::Listens,
        _ => Idle::Rests,
    };
    let config = Config {
        idle,
        ..Config::default()
    };
    Mote::new(id, config, BoardTiming::IDEAL, Store(0))
}

/// Runs the story.
pub fn mote(story: &[u8]) {
    let mut r = Reader::new(story);
    let mut mote = node(r.u8().unwrap_or(0));
    let (mut now, mut ops) = (Instant::ZERO, Vec::new());
    let settle = |mote: &mut _, ops: &mut Vec<OpId>| {
        let port = &mut (|request: Request<'_>| ops.push(request.id), |_| ());
        drain(mote, port).expect("livelock")
    };
    loop {
        let due = settle(&mut mote, &mut ops);
        let Ok(kind) = r.u8() else { return };
        if kind % 16 < 5 {
            // The commonest: time passes until something is due, some times over.
            let Some(mut due) = due else { continue };
            now = now.max(due);
            // What one layer leaves may be due at another.
            for _ in 0..MOST_AT_ONCE {
                mote.handle_timeout(now);
                due = settle(&mut mote, &mut ops).unwrap_or(Instant::MAX);
                if due > now {
                    break;
                }
            }
            assert!(due > now, "{due} stays due at {now}");
            continue;
        }
        let Ok(step) = r.u16() else { return };
        now += Duration::from_micros(u64::from(step));
        if kind % 16 < 8 {
            let order = match r.u8().map(usize::from) {
                Ok(len) => r.bytes(len.min(r.remaining())).expect("they are there"),
                Err(_) => return,
            };
            let order = Command::parse(order).unwrap_or(Command::Stop);
            mote.handle_command(now, order);
            continue;
        }
        let sfd = now.saturating_sub(Duration::from_millis(4));
        if let 8 | 9 = kind % 16 {
            let event = answer(kind, (step, sfd), &mut ops, &mut r);
            mote.handle_radio(now, RadioId(0), event);
            continue;
        }
        let Some(frame) = frame(kind % 16, &mut r) else {
            return;
        };
        mote.handle_radio(now, RadioId(0), heard(kind, &frame, sfd, now));
    }
}

/// How the radio hears a frame that began at `sfd`: its head, broken, or whole.
fn heard(kind: u8, frame: &[u8], sfd: Instant, now: Instant) -> RadioEvent<'_> {
    match kind >> 4 {
        0..=1 => RadioEvent::Head {
            bytes: &frame[..frame.len().min(5)],
            sfd,
        },
        2 => RadioEvent::Corrupt { sfd },
        _ => RadioEvent::Frame {
            mpdu: frame,
            sfd,
            end: now,
            rssi: Dbm(-70.0),
            lqi: 100,
        },
    }
}

/// An answer to one of `ops`: once each, in any order.
fn answer(
    kind: u8,
    (step, sfd): (u16, Instant),
    ops: &mut Vec<OpId>,
    r: &mut Reader<'_>,
) -> RadioEvent<'static> {
    let which = r.u8().map_or(0, usize::from);
    let op = match ops.len() {
        0 => OpId(u16::from(kind) << 8),
        len => ops.swap_remove(which % len),
    };
    let by = Duration::from_micros(u64::from(step));
    match kind % 16 {
        8 => RadioEvent::Sent { op, sfd },
        _ if kind & 0x10 == 0 => RadioEvent::Done { op },
        _ => RadioEvent::Refused {
            op,
            why: Refusal::Late { by },
        },
    }
}

/// A frame on the air; none at the end of the story.
fn frame(kind: u8, r: &mut Reader<'_>) -> Option<FrameBuf> {
    let node = |r: &mut Reader<'_>| NodeId::new(u16::from(r.u8().ok()? % NODES as u8)).ok();
    let built = match kind {
        // Floods: of wake-ups, announcements, schedules, reports.
        10 | 11 => {
            let (sequence, initiator, relay) = (r.u8().ok()?, node(r)?, r.u8().ok()?);
            let content = rest(r)?;
            FrameBuf::build(|w| {
                let repr = flood::Repr {
                    sequence,
                    initiator,
                    course: Ntx::new(relay >> 5).map_or(Course::Inwards, Course::Outwards),
                    relay: relay & flood::MAX_RELAY,
                    content,
                };
                repr.emit(w)
            })
        }
        12 => {
            let (from, number, campaign) = (node(r)?, r.u8().ok()?, r.u8().ok()?);
            let channel = Channel::from_index(usize::from(number & 0x0f));
            let beacon = Beacon {
                from,
                campaign: Campaign::new(campaign),
                channel,
                number: number >> 4,
            };
            FrameBuf::build(|w| beacon.emit(w, 32))
        }
        13 | 14 => {
            let (hop, number) = (r.u8().ok()?, r.u16().ok()?);
            let content = rest(r)?;
            let format = if kind == 13 {
                Format::Full
            } else {
                Format::Slim
            };
            FrameBuf::build(|w| {
                header(hop, number).emit_as(format, w)?;
                w.bytes(content).map(|_| ())
            })
        }
        // Calls, packets, polls and answers of a transfer hop by hop, and trains.
        15 => {
            let which = r.u8().ok()?;
            let content = rest(r)?;
            FrameBuf::build(|w| {
                mac::emit(which, w)?;
                w.u8(match which % 6 {
                    5 => dispatch::ROUSE,
                    hop => dispatch::HOP_CALL + hop,
                })?;
                w.bytes(content).map(|_| ())
            })
        }
        _ => FrameBuf::from_slice(rest(r)?),
    };
    Some(built.unwrap_or(FrameBuf::EMPTY))
}

/// As many bytes as the next one says.
fn rest<'a>(r: &mut Reader<'a>) -> Option<&'a [u8]> {
    let len = usize::from(r.u8().ok()?).min(110).min(r.remaining());
    r.bytes(len).ok()
}

/// A header that is one of this network's: hop, group and tag in a byte, kind and number in two.
fn header(place: u8, number: u16) -> Header {
    let kinds = [Kind::Data, Kind::Request, Kind::Nack, Kind::Data];
    Header {
        head: Head {
            kind: kinds[usize::from(number >> 14)],
            tag: Tag::of(u16::from(place >> 5)),
            hop: (place & 0x0f).min(MAX_HOPS),
            group: match place & 0x10 {
                0 => Group::Odd,
                _ => Group::Even,
            },
        },
        number: number & 0x3f,
    }
}
