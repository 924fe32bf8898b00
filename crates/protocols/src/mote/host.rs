//! Orders and events of a mote as a line to a host carries them: a byte that says which, then its fields,
//! little-endian, times in nanoseconds. `docs/line.md` lists them.
//!
//! Invariants: one order has one encoding, and so has one event; what is parsed was within its ranges. A route
//! travels as the segments of its own wake-up. Tests: `tests/on_line.rs`.

mod floods;

use super::{Command, Event, Refused};
use crate::collection::Collect;
use crate::linkprobe::{Measure, NodeList};
use crate::pipeline::{self, Chain, Complete, End, SetupError};
use crate::sweep::Sweep;
use floods::{emit_floods, parse_floods};
use thalweg_engine::Refusal;
use thalweg_units::{ChannelSet, Dbm, Duration, Instant, NodeId};
use thalweg_wire::beacon::{steps, TIME_STEP};
use thalweg_wire::hop::HopRoute;
use thalweg_wire::pipeline::{Counts, Group};
use thalweg_wire::route::{Assembler, Route, WakeUpTurn, MAX_SEGMENTS, MAX_SEGMENT_BYTES};
use thalweg_wire::{Reader, WireError, Writer};

/// The most bytes of an order that names `nodes` nodes at most.
pub const fn max_order_bytes(nodes: usize) -> usize {
    let list = 12 + 2 * nodes;
    let route = 9 + MAX_SEGMENTS * (1 + MAX_SEGMENT_BYTES);
    if list > route {
        list
    } else {
        route
    }
}
/// The most bytes of an event.
pub const MAX_EVENT_BYTES: usize = 32;

const MEASURE: u8 = 1;
const COLLECT: u8 = 2;
const SWEEP: u8 = 3;
const FETCH: u8 = 4;
const FETCH_TOGETHER: u8 = 5;
const STOP: u8 = 6;
/// Seven and eight are a station's, which has sessions.
const FETCH_HOPS: u8 = 9;
const NUMBERS: u8 = 10;

impl<const NODES: usize> Command<NODES> {
    /// Reads an order.
    ///
    /// # Errors
    /// [`WireError`]; [`WireError::NoRoom`] where it names more than `NODES` nodes.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let bad = WireError::Malformed;
        let mut r = Reader::new(bytes);
        let command = match r.u8()? {
            MEASURE => {
                let channels = ChannelSet::from_bits(r.u16()?);
                let (beacons, interval) = (r.u8()?, time(r.u16()?));
                let measure = Measure::new(nodes(&mut r)?, channels, beacons, interval);
                Self::Measure(measure.map_err(|_| bad)?)
            }
            COLLECT => Self::Collect(Collect {
                floor: r.u8()?,
                nodes: nodes(&mut r)?,
            }),
            SWEEP => {
                let channels = ChannelSet::from_bits(r.u16()?);
                let (sweeps, slot, pause) = (r.u8()?, time(r.u16()?), time(r.u16()?));
                let (floor, reach) = (i8::from_le_bytes([r.u8()?]), r.u8()?);
                let sweep = Sweep::new(nodes(&mut r)?, channels, sweeps, (slot, pause), floor);
                Self::Sweep(sweep.map_err(|_| bad)?.reaching(reach))
            }
            FETCH => Self::Fetch(route(&mut r)?),
            FETCH_TOGETHER => Self::FetchTogether {
                room: duration(&mut r)?,
                route: route(&mut r)?,
            },
            STOP => Self::Stop,
            FETCH_HOPS => Self::FetchHops(HopRoute::parse(&mut r)?),
            NUMBERS => Self::Numbers {
                from: r.u32()?,
                count: r.u16()?,
            },
            _ => return Err(bad),
        };
        r.end()?;
        Ok(command)
    }

    /// Writes the order.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Malformed`] for a route that does not fit a wake-up message.
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        match self {
            Self::Measure(measure) => {
                w.u8(MEASURE)?.u16(measure.channels().bits())?;
                w.u8(measure.beacons())?.u16(steps(measure.interval())?)?;
                emit_nodes(measure.nodes(), w)
            }
            Self::Collect(collect) => {
                w.u8(COLLECT)?.u8(collect.floor)?;
                emit_nodes(collect.nodes.as_slice(), w)
            }
            Self::Sweep(sweep) => {
                let (slot, pause) = sweep.times();
                w.u8(SWEEP)?.u16(sweep.channels().bits())?;
                w.u8(sweep.sweeps())?
                    .u16(steps(slot)?)?
                    .u16(steps(pause)?)?;
                w.bytes(&sweep.floor().to_le_bytes())?.u8(sweep.reach())?;
                emit_nodes(sweep.nodes().as_slice(), w)
            }
            Self::Fetch(route) => emit_route(route, w.u8(FETCH)?),
            Self::FetchTogether { route, room } => {
                emit_route(route, w.u8(FETCH_TOGETHER)?.u64(room.as_nanos())?)
            }
            Self::Stop => w.u8(STOP).map(|_| ()),
            Self::FetchHops(route) => route.emit(w.u8(FETCH_HOPS)?),
            Self::Numbers { from, count } => w.u8(NUMBERS)?.u32(*from)?.u16(*count).map(|_| ()),
        }
    }
}

fn time(steps: u16) -> Duration {
    TIME_STEP * u64::from(steps)
}
fn duration(r: &mut Reader<'_>) -> Result<Duration, WireError> {
    r.u64().map(Duration::from_nanos)
}
fn instant(r: &mut Reader<'_>) -> Result<Instant, WireError> {
    r.u64().map(Instant::from_nanos)
}

/// Their number, then their addresses.
fn emit_nodes(nodes: &[NodeId], w: &mut Writer<'_>) -> Result<(), WireError> {
    w.u16(nodes.len() as u16)?;
    nodes.iter().try_for_each(|id| w.u16(id.get()).map(|_| ()))
}
fn nodes<const NODES: usize>(r: &mut Reader<'_>) -> Result<NodeList<NODES>, WireError> {
    let count = usize::from(r.u16()?);
    if count > NODES {
        return Err(WireError::NoRoom);
    }
    let mut listed = Reader::new(r.bytes(2 * count)?);
    let mut all = [NodeId::MAX; NODES];
    for place in &mut all[..count] {
        *place = listed.node()?;
    }
    NodeList::of(all[..count].iter().copied()).map_err(|_| WireError::Malformed)
}

/// The segments of its wake-up, each behind its length.
fn emit_route(route: &Route, w: &mut Writer<'_>) -> Result<(), WireError> {
    for index in 0..route.segments() {
        let mut room = [0; MAX_SEGMENT_BYTES];
        let mut segment = Writer::new(&mut room);
        route.segment(index, WakeUpTurn::First, Duration::ZERO, &mut segment)?;
        let len = segment.len();
        w.u8(len as u8)?.bytes(&room[..len])?;
    }
    Ok(())
}
fn route(r: &mut Reader<'_>) -> Result<Route, WireError> {
    let mut assembler = Assembler::EMPTY;
    while r.remaining() > 0 {
        let len = usize::from(r.u8()?);
        assembler.push(r.bytes(len)?)?;
    }
    assembler.route()
}

const FLOODED: u8 = 0x10;
const FLOOD_FINISHED: u8 = 0x11;
const FLOOD_DONE: u8 = 0x12;
const PROBING: u8 = 0x13;
const MEASURED: u8 = 0x14;
const LINK: u8 = 0x15;
const COLLECTING: u8 = 0x16;
const MISSING: u8 = 0x17;
const COLLECTED: u8 = 0x18;
const FLOODS_REFUSED: u8 = 0x19;
const BATTERY: u8 = 0x1a;
const RESTARTED: u8 = 0x1b;
const WAKE_UP: u8 = 0x20;
const JOINED: u8 = 0x21;
const REFUSED: u8 = 0x22;
const NOT_SET_UP: u8 = 0x30;
const PROGRESS: u8 = 0x31;
const ROUND_SENT: u8 = 0x32;
const ROUND_REPORTED: u8 = 0x33;
const COMPLETE: u8 = 0x34;
const FINISHED: u8 = 0x35;
const DEGRADED: u8 = 0x36;
const COUNTED: u8 = 0x37;

/// Numbers of groups, chains and reasons are their places in these lists.
const GROUPS: [Group; 2] = [Group::Odd, Group::Even];
const CHAINS: [Chain; 2] = [Chain::Planned, Chain::Alternate];
const REASONS: [Refused; 5] = [
    Refused::Busy,
    Refused::NotSink,
    Refused::BadRoute,
    Refused::TooLate,
    Refused::Sealing,
];
const SETUP_ERRORS: [SetupError; 7] = [
    SetupError::Busy,
    SetupError::NoSuchStage,
    SetupError::TooManyPackets,
    SetupError::PayloadTooSmallForControl,
    SetupError::ConditionalNeedsOnePath,
    SetupError::PayloadTooLarge,
    SetupError::NoteTooLong,
];
const ENDS: [End; 8] = [
    End::Complete,
    End::Released,
    End::GaveUp,
    End::TimedOut,
    End::NotCalled,
    End::RadioFailed,
    End::Stopped,
    End::NotNeeded,
];
/// Of floods; the fourth has a refusal of the radio behind it.
const FLOODS_BUSY: u8 = 0;
const FLOODS_TOO_LONG: u8 = 1;
const FLOODS_SILENT: u8 = 2;
const FLOODS_RADIO: u8 = 3;
const FLOODS_UNNUMBERED: u8 = 4;
/// Of the radio; the last has a time behind it.
const REFUSALS: [Refusal; 5] = [
    Refusal::ChannelBusy,
    Refusal::Empty,
    Refusal::Superseded,
    Refusal::BadLength,
    Refusal::NoSuch,
];
const LATE: u8 = 5;

fn number<T: PartialEq>(all: &[T], one: &T) -> Result<u8, WireError> {
    let place = all.iter().position(|other| other == one);
    place.map(|at| at as u8).ok_or(WireError::Malformed)
}
fn numbered<T: Copy>(all: &[T], r: &mut Reader<'_>) -> Result<T, WireError> {
    let one = all.get(usize::from(r.u8()?));
    one.copied().ok_or(WireError::Malformed)
}

impl Event {
    /// Reads an event.
    ///
    /// # Errors
    /// [`WireError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let kind = r.u8()?;
        let event = match kind & 0xf0 {
            0x10 => Self::Floods(parse_floods(kind, &mut r)?),
            0x30 => Self::Pipeline(parse_pipeline(kind, &mut r)?),
            _ => match kind {
                WAKE_UP => Self::WakeUp {
                    reference: instant(&mut r)?,
                    start: instant(&mut r)?,
                },
                JOINED => Self::Joined,
                REFUSED => Self::Refused(numbered(&REASONS, &mut r)?),
                _ => return Err(WireError::Malformed),
            },
        };
        r.end()?;
        Ok(event)
    }

    /// Writes the event, at most [`MAX_EVENT_BYTES`].
    ///
    /// # Errors
    /// [`WireError::NoRoom`].
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        match self {
            Self::Floods(event) => emit_floods(event, w)?,
            Self::Pipeline(event) => emit_pipeline(event, w)?,
            Self::WakeUp { reference, start } => {
                w.u8(WAKE_UP)?.u64(reference.as_nanos())?;
                w.u64(start.as_nanos())?;
            }
            Self::Joined => {
                w.u8(JOINED)?;
            }
            Self::Refused(why) => {
                w.u8(REFUSED)?.u8(number(&REASONS, why)?)?;
            }
        }
        Ok(())
    }
}

/// As reports have it: whole dBm.
fn whole_dbm(rssi: Dbm) -> i8 {
    let half = if rssi.0 < 0.0 { -0.5 } else { 0.5 };
    (rssi.0 + half) as i8
}

fn parse_pipeline(kind: u8, r: &mut Reader<'_>) -> Result<pipeline::Event, WireError> {
    use pipeline::Event;
    Ok(match kind {
        NOT_SET_UP => Event::Refused(numbered(&SETUP_ERRORS, r)?),
        PROGRESS => Event::Progress { received: r.u16()? },
        ROUND_SENT => Event::RoundSent {
            round: r.u16()?,
            sent: r.u16()?,
        },
        ROUND_REPORTED => Event::RoundReported {
            round: r.u16()?,
            received: r.u16()?,
            packets: r.u16()?,
        },
        COMPLETE => Event::Complete(Complete {
            len: r.u32()?,
            object_len: r.u32()?,
            digest: r.u64()?.to_le_bytes(),
            packets: r.u16()?,
            first_round: r.u16()?,
            rounds: r.u16()?,
            last_packet: instant(r)?,
        }),
        FINISHED => Event::Finished(numbered(&ENDS, r)?),
        DEGRADED => Event::Degraded {
            group: numbered(&GROUPS, r)?,
            chain: numbered(&CHAINS, r)?,
        },
        COUNTED => Event::Counted {
            group: numbered(&GROUPS, r)?,
            counts: {
                let stages = usize::from(r.u8()?);
                Counts::new(r.bytes(stages)?)?
            },
        },
        _ => return Err(WireError::Malformed),
    })
}

fn emit_pipeline(event: &pipeline::Event, w: &mut Writer<'_>) -> Result<(), WireError> {
    use pipeline::Event;
    match event {
        Event::Refused(why) => {
            w.u8(NOT_SET_UP)?.u8(number(&SETUP_ERRORS, why)?)?;
        }
        Event::Progress { received } => {
            w.u8(PROGRESS)?.u16(*received)?;
        }
        Event::RoundSent { round, sent } => {
            w.u8(ROUND_SENT)?.u16(*round)?.u16(*sent)?;
        }
        Event::RoundReported {
            round,
            received,
            packets,
        } => {
            w.u8(ROUND_REPORTED)?.u16(*round)?;
            w.u16(*received)?.u16(*packets)?;
        }
        Event::Complete(c) => {
            w.u8(COMPLETE)?.u32(c.len)?.u32(c.object_len)?;
            w.bytes(&c.digest)?.u16(c.packets)?.u16(c.first_round)?;
            w.u16(c.rounds)?.u64(c.last_packet.as_nanos())?;
        }
        // The mote itself takes it.
        Event::Report { .. } => return Err(WireError::Malformed),
        Event::Finished(end) => {
            w.u8(FINISHED)?.u8(number(&ENDS, end)?)?;
        }
        Event::Degraded { group, chain } => {
            w.u8(DEGRADED)?.u8(number(&GROUPS, group)?)?;
            w.u8(number(&CHAINS, chain)?)?;
        }
        Event::Counted { group, counts } => {
            w.u8(COUNTED)?.u8(number(&GROUPS, group)?)?;
            let stages = counts.stages();
            w.u8(stages.len() as u8)?.bytes(stages)?;
        }
    }
    Ok(())
}
