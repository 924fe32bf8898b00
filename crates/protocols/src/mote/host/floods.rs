//! Events of floods, surveys and their collection, as a line carries them.

use super::{
    duration, instant, number, numbered, whole_dbm, BATTERY, COLLECTED, COLLECTING, FLOODED,
    FLOODS_BUSY, FLOODS_RADIO, FLOODS_REFUSED, FLOODS_SILENT, FLOODS_TOO_LONG, FLOODS_UNNUMBERED,
    FLOOD_DONE, FLOOD_FINISHED, LATE, LINK, MEASURED, MISSING, PROBING, REFUSALS, RESTARTED,
};
use crate::collection::{LinkReport, Missing};
use crate::floodnet;
use thalweg_engine::Refusal;
use thalweg_units::{BatteryLevel, Channel, Dbm, Restarts};
use thalweg_wire::{Reader, WireError, Writer};

pub(super) fn parse_floods(kind: u8, r: &mut Reader<'_>) -> Result<floodnet::Event, WireError> {
    use floodnet::Event;
    Ok(match kind {
        FLOODED => Event::Flooded {
            initiator: r.node()?,
            sequence: r.u8()?,
            relay: r.u8()?,
            reference: instant(r)?,
        },
        FLOOD_FINISHED => Event::FloodFinished {
            initiator: r.node()?,
            sequence: r.u8()?,
            sent: r.u8()?,
            heard: r.u8()?,
        },
        FLOOD_DONE => Event::FloodDone {
            reference: instant(r)?,
            quiet: instant(r)?,
        },
        PROBING => Event::Probing {
            node: r.node()?,
            turn: r.u16()?,
            of: r.u16()?,
        },
        MEASURED => Event::Measured {
            nodes: r.u16()?,
            time: duration(r)?,
        },
        LINK => Event::Link(LinkReport {
            from: r.node()?,
            to: r.node()?,
            channel: Channel::new(r.u8()?).map_err(|_| WireError::Malformed)?,
            received: r.u8()?,
            rssi: Dbm(f64::from(i8::from_le_bytes([r.u8()?]))),
        }),
        BATTERY => Event::Battery {
            node: r.node()?,
            level: BatteryLevel::of_code(r.u8()?),
        },
        RESTARTED => Event::Restarted {
            node: r.node()?,
            restarts: Restarts::of_code(r.u8()?).ok_or(WireError::Malformed)?,
        },
        COLLECTING => Event::Progress {
            complete: r.u16()?,
            of: r.u16()?,
        },
        MISSING => Event::Missing(parse_missing(r)?),
        COLLECTED => Event::Collected {
            complete: r.u16()?,
            missing: r.u16()?,
            time: duration(r)?,
        },
        FLOODS_REFUSED => Event::Refused(parse_refused(r)?),
        _ => return Err(WireError::Malformed),
    })
}

fn parse_missing(r: &mut Reader<'_>) -> Result<Missing, WireError> {
    Ok(Missing {
        node: r.node()?,
        received: r.u8()?,
        frames: match r.u8()? {
            0 => None,
            1 => Some(r.u8()?),
            _ => return Err(WireError::Malformed),
        },
    })
}

fn parse_refused(r: &mut Reader<'_>) -> Result<floodnet::Refused, WireError> {
    use floodnet::Refused;
    Ok(match r.u8()? {
        FLOODS_BUSY => Refused::Busy,
        FLOODS_TOO_LONG => Refused::TooLong,
        FLOODS_SILENT => Refused::Silent,
        FLOODS_UNNUMBERED => Refused::NoNumber,
        FLOODS_RADIO => Refused::Radio(match r.u8()? {
            LATE => Refusal::Late { by: duration(r)? },
            other => numbered(&REFUSALS, &mut Reader::new(&[other]))?,
        }),
        _ => return Err(WireError::Malformed),
    })
}

pub(super) fn emit_floods(event: &floodnet::Event, w: &mut Writer<'_>) -> Result<(), WireError> {
    use floodnet::Event;
    match *event {
        Event::Flooded {
            initiator,
            sequence,
            relay,
            reference,
        } => {
            w.u8(FLOODED)?.u16(initiator.get())?.u8(sequence)?;
            w.u8(relay)?.u64(reference.as_nanos())?;
        }
        Event::FloodFinished {
            initiator,
            sequence,
            sent,
            heard,
        } => {
            w.u8(FLOOD_FINISHED)?.u16(initiator.get())?;
            w.u8(sequence)?.u8(sent)?.u8(heard)?;
        }
        Event::FloodDone { reference, quiet } => {
            w.u8(FLOOD_DONE)?.u64(reference.as_nanos())?;
            w.u64(quiet.as_nanos())?;
        }
        Event::Probing { node, turn, of } => {
            w.u8(PROBING)?.u16(node.get())?.u16(turn)?.u16(of)?;
        }
        Event::Measured { nodes, time } => {
            w.u8(MEASURED)?.u16(nodes)?.u64(time.as_nanos())?;
        }
        Event::Link(link) => {
            w.u8(LINK)?.u16(link.from.get())?.u16(link.to.get())?;
            w.u8(link.channel.number())?.u8(link.received)?;
            w.bytes(&whole_dbm(link.rssi).to_le_bytes())?;
        }
        Event::Battery { node, level } => {
            w.u8(BATTERY)?.u16(node.get())?.u8(level.code())?;
        }
        Event::Restarted { node, restarts } => {
            w.u8(RESTARTED)?.u16(node.get())?.u8(restarts.code())?;
        }
        Event::Progress { complete, of } => {
            w.u8(COLLECTING)?.u16(complete)?.u16(of)?;
        }
        Event::Missing(missing) => emit_missing(missing, w)?,
        Event::Collected {
            complete,
            missing,
            time,
        } => {
            w.u8(COLLECTED)?.u16(complete)?.u16(missing)?;
            w.u64(time.as_nanos())?;
        }
        Event::Refused(why) => emit_refused(why, w)?,
    }
    Ok(())
}

fn emit_missing(missing: Missing, w: &mut Writer<'_>) -> Result<(), WireError> {
    w.u8(MISSING)?.u16(missing.node.get())?;
    w.u8(missing.received)?;
    match missing.frames {
        None => w.u8(0)?,
        Some(frames) => w.u8(1)?.u8(frames)?,
    };
    Ok(())
}

fn emit_refused(why: floodnet::Refused, w: &mut Writer<'_>) -> Result<(), WireError> {
    use floodnet::Refused;
    w.u8(FLOODS_REFUSED)?;
    match why {
        Refused::Busy => w.u8(FLOODS_BUSY)?,
        Refused::TooLong => w.u8(FLOODS_TOO_LONG)?,
        Refused::Silent => w.u8(FLOODS_SILENT)?,
        Refused::NoNumber => w.u8(FLOODS_UNNUMBERED)?,
        Refused::Radio(Refusal::Late { by }) => w.u8(FLOODS_RADIO)?.u8(LATE)?.u64(by.as_nanos())?,
        Refused::Radio(why) => w.u8(FLOODS_RADIO)?.u8(number(&REFUSALS, &why)?)?,
    };
    Ok(())
}
