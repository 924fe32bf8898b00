//! Frames as a captured mote makes them: changed, and sealed again with the keys that it holds at that moment.
//!
//! It has the group's key, and with it those of the transfer and the survey that it was called to last; not the keys of other
//! nodes' objects. Tests: `run_tests.rs`.

use thalweg_protocols::seals::{ControlSeal, Seals};
use thalweg_wire::flood::{self, Kind};
use thalweg_wire::seal::frame::{call_number, MIC_BYTES};
use thalweg_wire::seal::SoftwareAes;
use thalweg_wire::{dispatch, mac, FrameBuf, Reader, WireError};

/// Where a frame's body begins, behind the dispatch byte.
const BODY: usize = mac::HEADER_BYTES + 1;

/// `mpdu` with its body changed, under `seals`; none where these have no key for it. What travels without a seal is changed
/// alone. Floods and calls get a number `ahead` of what it was, so that they are new.
pub(crate) fn sealed_again(
    mut seals: Seals<SoftwareAes>,
    mpdu: &FrameBuf,
    ahead: u32,
    change: impl FnOnce(&mut [u8]),
) -> Option<FrameBuf> {
    let called = seals.called();
    seals.begin(called);
    let mut frame = *mpdu;
    match mac::dispatch(mpdu).ok()? {
        dispatch::FLOOD => return flooded_again(&mut seals, mpdu, ahead, change).ok(),
        dispatch::SWEEP => {
            change(frame.get_mut(BODY..)?);
            seals.seal_beacon(&mut frame);
        }
        dispatch::PIPE_REQUEST | dispatch::PIPE_NACK => {
            frame = without_mic(mpdu)?;
            change(frame.get_mut(BODY..)?);
            let mic = seals.mic(&frame)?;
            frame.append(&mic).ok()?;
        }
        dispatch::HOP_CALL => {
            let (sink, _) = called?;
            let number = call_number(mpdu)?.checked_add(ahead)?;
            seals.begin(Some((sink, number)));
            change(frame.get_mut(BODY..)?);
            seals.seal_hop(&mut frame).ok()?;
        }
        dispatch::HOP_CALLED | dispatch::HOP_DATA | dispatch::HOP_POLL | dispatch::HOP_ACK => {
            frame = without_mic(mpdu)?;
            change(frame.get_mut(BODY..)?);
            seals.seal_hop(&mut frame).ok()?;
        }
        _ => change(frame.get_mut(BODY..)?),
    }
    Some(frame)
}

fn without_mic(mpdu: &FrameBuf) -> Option<FrameBuf> {
    let plain = mpdu.len().checked_sub(usize::from(MIC_BYTES))?;
    FrameBuf::from_slice(mpdu.get(..plain)?).ok()
}

/// A flood with its content changed and sealed again. It still names the same initiator.
fn flooded_again(
    seals: &mut Seals<SoftwareAes>,
    mpdu: &FrameBuf,
    ahead: u32,
    change: impl FnOnce(&mut [u8]),
) -> Result<FrameBuf, WireError> {
    let flood = flood::Repr::parse(mpdu)?;
    let (kind, _) = Kind::parse_tag(&mut Reader::new(flood.content))?;
    let content = match kind {
        Kind::Levels | Kind::Report => {
            let plain = seals.open_report(flood.initiator, flood.content);
            let mut plain = plain.ok_or(WireError::Malformed)?;
            change(plain.get_mut(1..).unwrap_or_default());
            seals.seal_report(flood.initiator, &plain)?
        }
        _ => {
            let number = flood.content.len().checked_sub(flood::TRAILER_BYTES);
            let (plain, trailer) = number
                .and_then(|at| flood.content.split_at_checked(at))
                .ok_or(WireError::Truncated)?;
            let number = Reader::new(trailer).u32()?;
            let mut plain = FrameBuf::from_slice(plain)?;
            change(plain.get_mut(1..).unwrap_or_default());
            seals.grant(number.saturating_add(ahead), 1);
            let sealed = seals.seal_flood(flood.initiator, &plain)?;
            sealed.ok_or(WireError::Malformed)?
        }
    };
    let again = flood::Repr {
        content: &content,
        ..flood
    };
    FrameBuf::build(|w| again.emit(w))
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_simnet::security::simulated_keys;
    use thalweg_units::NodeId;
    use thalweg_wire::flood::{Course, Ntx};

    fn flood(initiator: NodeId, content: &[u8]) -> FrameBuf {
        let flood = flood::Repr {
            sequence: 1,
            initiator,
            course: Course::Outwards(Ntx::TWO),
            relay: 0,
            content,
        };
        FrameBuf::build(|w| flood.emit(w)).unwrap()
    }

    /// Others take a changed order for the base station's; without the group's key they do not.
    #[test]
    fn a_flood_is_sealed_again_and_obeyed() {
        let station = NodeId::new(1).unwrap();
        let seals = simulated_keys(1).seals();
        let (mut base, mut other) = (seals.clone(), seals.clone());
        base.grant(7, 1);
        let content = base.seal_flood(station, &[0, 1, 2, 3]).unwrap().unwrap();
        assert!(other.obeys(station, &content));
        let recorded = flood(station, &content);
        let change = |body: &mut [u8]| body[0] = 9;
        let again = sealed_again(seals, &recorded, 1, change).unwrap();
        let heard = flood::Repr::parse(&again).unwrap();
        assert_eq!(flood::opened_content(heard.content)[1..], [9, 2, 3]);
        assert!(other.obeys(station, heard.content));
        let stranger = simulated_keys(2).seals();
        let again = sealed_again(stranger, &again, 1, change).unwrap();
        let heard = flood::Repr::parse(&again).unwrap();
        assert!(!other.obeys(station, heard.content));
    }
}
