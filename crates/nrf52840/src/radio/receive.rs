//! Receptions: a frame's beginning, its end, and what the driver does before the engine hears of it.

use super::{count, Mode, Radio, State, Unread, ADDRESSED, BYTE, RX_CHAIN};
use crate::clock::{instant, Clock, CC_END, CC_FRAME};
use crate::registers::radio;
use crate::Registers;
use thalweg_engine::{Answering, Hear, RadioEvent};
use thalweg_units::{Channel, Dbm};
use thalweg_wire::addressed::{self, Ack, Congestion, Header};
use thalweg_wire::phy::FCS_BYTES;
use thalweg_wire::Reader;

/// A PSDU's length, 7 bits of the length byte (IEEE 802.15.4-2006, 6.3.3).
const LENGTH: u8 = 0x7F;

/// What is reported about a frame that has ended.
enum Ended {
    Good {
        bytes: usize,
        end: u64,
    },
    Corrupt,
    /// It is none of this node's.
    Unheard,
}

impl Radio {
    /// Turns the receiver on (RADIO 6.20.12.9).
    pub(super) fn receive_on(&mut self, r: &mut impl Registers, channel: Channel, head: u8) {
        use radio::short::{FRAMESTART_BCSTART, PHYEND_DISABLE, RXREADY_START};
        r.write(radio::FREQUENCY, super::transmit::frequency(channel));
        r.write(radio::PACKETPTR, self.rx.address());
        let mut shorts = RXREADY_START | PHYEND_DISABLE;
        let wanted = self.wanted_early(head);
        if wanted > 0 {
            // So many bytes and the length, counted from the SFD's end. Where the count begins a byte later the match does.
            r.write(radio::BCC, 8 * (1 + u32::from(wanted)));
            shorts |= FRAMESTART_BCSTART;
        }
        r.write(radio::SHORTS, shorts);
        for event in [
            radio::DISABLED,
            radio::BCMATCH,
            radio::FRAMESTART,
            radio::RXREADY,
        ] {
            r.write(event, 0);
        }
        r.write(radio::RXEN, 1);
        self.state = State::Receiving;
    }

    /// How many bytes of a frame are looked at before its end.
    fn wanted_early(&self, head: u8) -> u8 {
        match self.hear {
            Hear::Everything => head,
            Hear::Addressed => head.max(ADDRESSED),
        }
    }

    /// What the receiver has to tell.
    pub(super) fn received(
        &mut self,
        r: &mut impl Registers,
        clock: &mut Clock,
    ) -> Option<RadioEvent<'_>> {
        let has_ended = self.state == State::Receiving && r.read(radio::DISABLED) != 0;
        let was_kept = self.take_unread() == Unread::Frame;
        if has_ended {
            r.write(radio::DISABLED, 0);
            r.write(radio::BCMATCH, 0);
            self.state = State::Off;
        }
        if !has_ended && !was_kept {
            return self.beginning(r, clock);
        }
        match self.ended(r, clock) {
            Ended::Unheard => None,
            Ended::Corrupt => {
                count(&mut self.counters.corrupt);
                let sfd = instant(self.frame_start(r, clock));
                Some(RadioEvent::Corrupt { sfd })
            }
            Ended::Good { bytes, end } => {
                let sfd = instant(end - BYTE * (1 + (bytes + FCS_BYTES) as u64));
                let rssi = self.strength(r);
                // The byte behind the payload, in the check sequence's place (RADIO 6.20.12.7).
                let lqi = self.frame.get(1 + bytes).copied().unwrap_or_default();
                let told = bytes.min(usize::from(self.readout));
                let mpdu = self.frame.get(1..1 + told).unwrap_or_default();
                let end = instant(end);
                Some(RadioEvent::Frame {
                    mpdu,
                    sfd,
                    end,
                    rssi,
                    lqi,
                })
            }
        }
    }

    /// Reads a frame that has ended, and does what does not wait for the engine.
    fn ended(&mut self, r: &mut impl Registers, clock: &mut Clock) -> Ended {
        let phy_end = clock.captured(r, CC_END);
        let is_good = r.read(radio::CRCSTATUS) & 1 != 0;
        let psdu = usize::from(self.rx.byte(r, 0) & LENGTH);
        let bytes = match psdu.checked_sub(FCS_BYTES) {
            Some(bytes @ 1..) if is_good => bytes,
            _ => return Ended::Corrupt,
        };
        // With the link quality behind it.
        let room = self.frame.get_mut(..2 + bytes).unwrap_or_default();
        self.rx.read(r, 0, room);
        let end = phy_end.saturating_sub(RX_CHAIN);
        self.unlearned = Some(end.saturating_sub(BYTE * (1 + psdu as u64)));
        count(&mut self.counters.received);
        self.last_end = Some(end);
        if !self.is_for_us(bytes) {
            return Ended::Unheard;
        }
        self.answer(r, clock, bytes, end);
        self.fire(r, clock, bytes);
        Ended::Good { bytes, end }
    }

    /// Acknowledges the frame where it asks for that and is this node's.
    fn answer(&mut self, r: &mut impl Registers, clock: &mut Clock, bytes: usize, end: u64) {
        if self.answering == Answering::Withheld || self.address.is_none() {
            return;
        }
        let mpdu = self.frame.get(1..1 + bytes).unwrap_or_default();
        let Ok(header) = Header::parse(&mut Reader::new(mpdu)) else {
            return;
        };
        if header.to == self.address {
            let (sequence, congestion) = (header.sequence, Congestion::Clear);
            let ack = Ack {
                sequence,
                congestion,
            };
            self.acknowledge_itself(r, clock, (&ack.bytes(), end));
        }
    }

    /// Whether the frame is one that the engine wants to hear of.
    fn is_for_us(&self, bytes: usize) -> bool {
        let mpdu = self.frame.get(1..1 + bytes).unwrap_or_default();
        if self.hear == Hear::Everything {
            return true;
        }
        if let Ok(ack) = Ack::parse(mpdu) {
            return self.awaited == Some(ack.sequence);
        }
        let to = addressed::destination(mpdu);
        to.is_none() || to == self.address
    }

    /// A frame's first bytes: left if they are another's, reported if they are wanted.
    fn beginning(&mut self, r: &mut impl Registers, clock: &mut Clock) -> Option<RadioEvent<'_>> {
        let Mode::Listen { channel, head } = self.mode else {
            return None;
        };
        if self.state != State::Receiving || r.read(radio::BCMATCH) == 0 {
            return None;
        }
        r.write(radio::BCMATCH, 0);
        let wanted = usize::from(self.wanted_early(head));
        let room = self.frame.get_mut(..1 + wanted).unwrap_or_default();
        self.rx.read(r, 0, room);
        let length = self.frame.first().map_or(0, |length| length & LENGTH);
        let bytes = usize::from(length).saturating_sub(FCS_BYTES);
        if self.hear == Hear::Addressed && self.is_others(bytes.min(wanted)) {
            self.stop(r);
            if self.unread == Unread::Nothing {
                self.receive_on(r, channel, head);
            }
            return None;
        }
        let sfd = instant(self.frame_start(r, clock));
        let told = bytes.min(usize::from(head));
        let bytes = self.frame.get(1..1 + told).filter(|_| head > 0)?;
        Some(RadioEvent::Head { bytes, sfd })
    }

    /// Whether a frame that begins so is surely for others: a data frame of ours with another's address.
    fn is_others(&self, bytes: usize) -> bool {
        let Some(&[control, _, _, pan_low, pan_high, low, high]) = self
            .frame
            .get(1..1 + bytes)
            .and_then(|mpdu| mpdu.first_chunk::<{ ADDRESSED as usize }>())
        else {
            return false;
        };
        // Data with an acknowledgement wanted, short addresses, one PAN: as `Header` has it where it is for one node.
        let is_ours = control == 0x61 && u16::from_le_bytes([pan_low, pan_high]) == addressed::PAN;
        let to = u16::from_le_bytes([low, high]);
        is_ours && self.address.map(|own| own.get()) != Some(to)
    }

    /// Learns from the last good frame how long FRAMESTART came after its SFD.
    pub(super) fn learn(&mut self, r: &mut impl Registers, clock: &mut Clock) {
        if let Some(sfd) = self.unlearned.take() {
            let began = clock.captured(r, CC_FRAME);
            if let Ok(delay @ 1..=2_000) = u32::try_from(began.saturating_sub(sfd)) {
                self.frame_start.measure(delay);
            }
        }
    }

    /// When the SFD ended, by FRAMESTART.
    pub(super) fn frame_start(&self, r: &mut impl Registers, clock: &mut Clock) -> u64 {
        let began = clock.captured(r, CC_FRAME);
        began.saturating_sub(u64::from(self.frame_start.ticks()))
    }

    /// The last sample of signal strength (RADIO 6.20.14, RSSISAMPLE: -dBm).
    pub(super) fn strength(&self, r: &mut impl Registers) -> Dbm {
        Dbm(-f64::from(r.read(radio::RSSISAMPLE) & 0x7F))
    }
}
