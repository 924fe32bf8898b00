//! Sweeps, the short way to measure links: every node beacons in a slot of its own, all follow one table of times.
//!
//! An [`Announcement`] is the content of a flood: [`Parameters`], the time left until the first slot, and who is in
//! which slot. A [`Beacon`] repeats the parameters, so that a node that missed the flood can join. [`crate::levels`]
//! has the reports. Times are in steps of 0.1 ms. Tests: at the end.

use crate::beacon::{steps, TIME_STEP};
use crate::buf::{Reader, WireError, Writer};
use crate::flood::{Campaign, Kind, MAX_CONTENT};
use crate::{dispatch, mac, phy};
use thalweg_units::{Channel, ChannelSet, Duration, NodeId};

/// The longest that a sweep's beacons may take: no node waits longer for its end.
pub const MAX_MEASURING: Duration = Duration::from_secs(60);

/// Reports that go inwards follow each other after so many slots of a hop: the one in front is three hops out of the
/// next one's interference.
pub const HOPS_APART: u64 = 4;
/// So many sweeps, those of most surveys, take channels upwards.
const USUAL_SWEEPS: usize = 2;
/// A flag beside the number of sweeps: reports go inwards.
const INWARDS_BIT: u8 = 0x80;

/// How reports come to the sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reports {
    /// Each is flooded to all before the next one begins.
    Flooded,
    /// Each goes inwards, and many are under way at a time: they begin so that they arrive a slot apart.
    Inwards,
}

/// What all nodes know of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Which measurement it is.
    pub campaign: Campaign,
    /// The lowest address that has a slot.
    pub first: NodeId,
    /// How far the highest address that has a slot is above it.
    pub span: u16,
    /// How many nodes have a slot, lowest address first; at least one, at most `span + 1`.
    pub slots: u16,
    /// On which channels all nodes beacon, in [`Self::channel`]'s order; at least one.
    pub channels: ChannelSet,
    /// How often each node beacons on each channel, 1 to 15.
    pub sweeps: u8,
    /// The slot of one beacon, a multiple of [`TIME_STEP`] up to 25.5 ms.
    pub slot: Duration,
    /// Between the end of one sweep and the next, a multiple of [`TIME_STEP`].
    pub pause: Duration,
    /// The slot of one report, a multiple of [`TIME_STEP`].
    pub report: Duration,
    /// How they come to the sink.
    pub reports: Reports,
    /// The most bytes of a report.
    pub report_bytes: u8,
    /// Neighbours are reported that were received at this level or above on some channel, in dBm.
    pub floor: i8,
}

impl Parameters {
    /// Bytes of them, campaign not included.
    pub const BYTES: usize = 16;

    fn parse(campaign: Campaign, r: &mut Reader<'_>) -> Result<Self, WireError> {
        let (first, span, slots) = (r.node()?, r.u16()?, r.u16()?);
        let (channels, sweeps) = (ChannelSet::from_bits(r.u16()?), r.u8()?);
        let parameters = Self {
            campaign,
            first,
            span,
            slots,
            channels,
            sweeps: sweeps & !INWARDS_BIT,
            reports: match sweeps & INWARDS_BIT {
                0 => Reports::Flooded,
                _ => Reports::Inwards,
            },
            slot: TIME_STEP * u64::from(r.u8()?),
            pause: TIME_STEP * u64::from(r.u16()?),
            report: TIME_STEP * u64::from(r.u16()?),
            report_bytes: r.u8()?,
            floor: r.u8()? as i8,
        };
        match parameters.is_possible() {
            true => Ok(parameters),
            false => Err(WireError::Malformed),
        }
    }
    fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        if !self.is_possible() {
            return Err(WireError::Malformed);
        }
        let slot = u8::try_from(steps(self.slot)?).map_err(|_| WireError::Malformed)?;
        w.u16(self.first.get())?.u16(self.span)?.u16(self.slots)?;
        let inwards = match self.reports {
            Reports::Flooded => 0,
            Reports::Inwards => INWARDS_BIT,
        };
        w.u16(self.channels.bits())?
            .u8(self.sweeps | inwards)?
            .u8(slot)?;
        w.u16(steps(self.pause)?)?.u16(steps(self.report)?)?;
        w.u8(self.report_bytes)?.u8(self.floor as u8)?;
        Ok(())
    }
    /// Whether they can be kept.
    pub fn is_possible(&self) -> bool {
        let last = self.first.get().checked_add(self.span);
        let addresses = last.is_some_and(|last| last <= NodeId::MAX.get());
        let slots = self.slots > 0 && u32::from(self.slots) <= u32::from(self.span) + 1;
        let beacons = !self.channels.is_empty() && (1..=15).contains(&self.sweeps);
        addresses
            && slots
            && beacons
            && !self.slot.is_zero()
            && !self.report.is_zero()
            && self.measuring() <= MAX_MEASURING
    }
    /// One channel in one sweep: a slot's time to change to it, and the slots of all nodes.
    pub fn stretch(&self) -> Duration {
        self.slot * (u64::from(self.slots) + 1)
    }
    /// How many channels are visited, over all sweeps.
    pub fn stretches(&self) -> u16 {
        u16::from(self.sweeps) * self.channels.len() as u16
    }
    /// When stretch number `stretch` begins, from the first one's beginning.
    pub fn begin(&self, stretch: u16) -> Duration {
        let sweep = u64::from(stretch) / self.channels.len().max(1) as u64;
        self.stretch() * u64::from(stretch) + self.pause * sweep
    }
    /// From the first stretch's beginning to the end of the last.
    pub fn measuring(&self) -> Duration {
        self.begin(self.stretches().saturating_sub(1)) + self.stretch()
    }
    /// Of reports that go inwards: from a node's transmission to that of the next, one hop closer.
    pub fn hop(&self) -> Duration {
        self.report / HOPS_APART
    }
    /// The channel of stretch number `stretch`: lowest first, and highest first in every other sweep from the fourth on. A
    /// node that looks for others meets them as the channels go by, so a sweep finds several hops of a row that lies in its
    /// order, and one of a row that lies against it.
    pub fn channel(&self, stretch: u16) -> Option<Channel> {
        let channels = self.channels.len().max(1);
        let (sweep, place) = (
            usize::from(stretch) / channels,
            usize::from(stretch) % channels,
        );
        let is_downwards = sweep >= USUAL_SWEEPS && sweep % 2 == 1;
        let place = if is_downwards {
            channels - 1 - place
        } else {
            place
        };
        self.channels.iter().nth(place)
    }
    /// The slot of `node` where that follows from its address alone: where no address is left out.
    pub fn slot_of(&self, node: NodeId) -> Option<u16> {
        let place = node.get().checked_sub(self.first.get())?;
        let dense = u32::from(self.slots) == u32::from(self.span) + 1;
        (dense && place < self.slots).then_some(place)
    }
}

/// A flood that announces a sweep, and the slots of some of its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announcement<'a> {
    /// What all know.
    pub parameters: Parameters,
    /// From the flood's reference time to the first stretch, in steps of [`TIME_STEP`].
    pub until: Duration,
    /// The address that the first bit of `nodes` stands for.
    pub from: NodeId,
    /// That address's slot.
    pub rank: u16,
    /// One bit for each address from `from` on, lowest bits first: whether it has a slot, the next one.
    pub nodes: &'a [u8],
}

impl<'a> Announcement<'a> {
    /// Bytes in front of the bits, tag included.
    pub const BYTES: usize = 1 + Parameters::BYTES + 6;
    /// The most addresses that one announcement spans.
    pub const ADDRESSES: usize = (MAX_CONTENT - Self::BYTES) * 8;

    /// Reads the content of a flood.
    pub fn parse(content: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(content);
        let campaign = Kind::Sweep.parse(&mut r)?;
        Ok(Self {
            parameters: Parameters::parse(campaign, &mut r)?,
            until: TIME_STEP * u64::from(r.u16()?),
            from: r.node()?,
            rank: r.u16()?,
            nodes: r.rest(),
        })
    }
    /// Writes the content of a flood.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Malformed`] for parameters that are none.
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        Kind::Sweep.emit(self.parameters.campaign, w)?;
        self.parameters.emit(w)?;
        w.u16(steps(self.until)?)?.u16(self.from.get())?;
        w.u16(self.rank)?.bytes(self.nodes)?;
        Ok(())
    }
    /// The slot of `node`, if this announcement has it.
    pub fn slot_of(&self, node: NodeId) -> Option<u16> {
        let at = usize::from(node.get().checked_sub(self.from.get())?);
        let (byte, bit) = (at / 8, at % 8);
        let own = *self.nodes.get(byte)?;
        if own & 1 << bit == 0 {
            return None;
        }
        let before = self.nodes[..byte].iter().map(|b| b.count_ones());
        let before = before.sum::<u32>() + (own & ((1 << bit) - 1)).count_ones();
        let slot = u32::from(self.rank) + before;
        (slot < u32::from(self.parameters.slots)).then_some(slot as u16)
    }
}

/// A node's broadcast in its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beacon {
    /// Who sends it.
    pub from: NodeId,
    /// What all know: a listener that does not joins.
    pub parameters: Parameters,
    /// In which stretch it is sent: it gives the channel and, with the slot, the time.
    pub stretch: u8,
    /// Its sender's slot.
    pub slot: u16,
}

impl Beacon {
    /// Bytes of one without filler.
    pub const BYTES: usize = mac::HEADER_BYTES + 1 + 2 + 1 + Parameters::BYTES + 2;

    /// Reads a beacon and ignores its filler.
    pub fn parse(mpdu: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(mpdu);
        let stretch = mac::parse(&mut r)?;
        r.expect(dispatch::SWEEP)?;
        let from = r.node()?;
        let campaign = Campaign::new(r.u8()?);
        let beacon = Self {
            from,
            parameters: Parameters::parse(campaign, &mut r)?,
            stretch,
            slot: r.u16()?,
        };
        match beacon.is_possible() {
            true => Ok(beacon),
            false => Err(WireError::Malformed),
        }
    }
    fn is_possible(&self) -> bool {
        u16::from(self.stretch) < self.parameters.stretches() && self.slot < self.parameters.slots
    }
    /// Writes a beacon, filled up to `bytes` where it is shorter.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Malformed`] for a stretch or slot that is none of its parameters'.
    pub fn emit(&self, w: &mut Writer<'_>, bytes: usize) -> Result<(), WireError> {
        if !self.is_possible() {
            return Err(WireError::Malformed);
        }
        mac::emit(self.stretch, w)?;
        w.u8(dispatch::SWEEP)?.u16(self.from.get())?;
        w.u8(self.parameters.campaign.number())?;
        self.parameters.emit(w)?;
        w.u16(self.slot)?;
        // Not all zeros: the chips of real payloads are mixed.
        while w.len() < bytes.min(phy::MAX_MPDU) {
            w.u8((w.len() as u8).wrapping_mul(0x5d))?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::FrameBuf;
    use proptest::prelude::*;

    prop_compose! {
        pub(crate) fn parameters()(
            campaign: u8, first in 0u16..1000, slots in 1u16..300, gaps in 0u16..500, bits in 1u16..,
            sweeps in 1u8..=3, slot in 1u64..=20, pause in 0u64..2000, report in 1u64..=0xffff,
            report_bytes: u8, floor: i8, inwards: bool,
        ) -> Parameters {
            Parameters {
                campaign: Campaign::new(campaign),
                first: NodeId::new(first).unwrap(),
                span: slots - 1 + gaps,
                slots,
                channels: ChannelSet::from_bits(bits),
                sweeps,
                slot: TIME_STEP * slot,
                pause: TIME_STEP * pause,
                report: TIME_STEP * report,
                reports: if inwards { Reports::Inwards } else { Reports::Flooded },
                report_bytes,
                floor,
            }
        }
    }

    proptest! {
        #[test]
        fn an_announcement_round_trips_and_lists_slots_in_order(
            parameters in parameters(), until: u16, from in 0u16..1000, rank in 0u16..50,
            nodes in prop::collection::vec(any::<u8>(), 0..=MAX_CONTENT - Announcement::BYTES),
        ) {
            let from = NodeId::new(from).unwrap();
            let until = TIME_STEP * u64::from(until);
            let announcement = Announcement { parameters, until, from, rank, nodes: &nodes };
            let content = FrameBuf::build(|w| announcement.emit(w)).unwrap();
            prop_assert_eq!(content.len(), Announcement::BYTES + nodes.len());
            prop_assert_eq!(Announcement::parse(&content), Ok(announcement));
            let mut slot = rank;
            for n in 0..nodes.len() * 8 {
                let id = NodeId::new(from.get() + n as u16).unwrap();
                let has = nodes[n / 8] >> (n % 8) & 1 == 1;
                let expected = (has && slot < parameters.slots).then_some(slot);
                prop_assert_eq!(announcement.slot_of(id), expected);
                slot += u16::from(has);
            }
        }

        #[test]
        fn a_sweep_beacon_round_trips_with_any_filler(
            parameters in parameters(), id in 0..=NodeId::MAX.get(), stretch: u8, slot: u16,
            bytes in 0..=phy::MAX_MPDU,
        ) {
            let from = NodeId::new(id).unwrap();
            let stretch = stretch % parameters.stretches() as u8;
            let beacon = Beacon { from, parameters, stretch, slot: slot % parameters.slots };
            let frame = FrameBuf::build(|w| beacon.emit(w, bytes)).unwrap();
            prop_assert_eq!(frame.len(), bytes.max(Beacon::BYTES));
            prop_assert_eq!(Beacon::parse(&frame), Ok(beacon));
        }

        #[test]
        fn any_bytes_are_parsed_without_panic(
            mut bytes in prop::collection::vec(any::<u8>(), 0..=130), cast in any::<bool>(),
        ) {
            // As beacons too, which nearly all bytes are not.
            let head = [0x01, 0x20, 0, dispatch::SWEEP];
            if let (true, Some(front)) = (cast, bytes.get_mut(..head.len())) {
                front.copy_from_slice(&head);
            }
            let _ = Beacon::parse(&bytes);
            if let Some(tag) = bytes.first_mut() {
                *tag = *tag & 0xf0 | Kind::Sweep as u8;
            }
            if let Ok(announcement) = Announcement::parse(&bytes) {
                let _ = announcement.slot_of(NodeId::MAX);
                prop_assert!(announcement.parameters.measuring() <= MAX_MEASURING);
                if bytes.len() <= MAX_CONTENT {
                    let content = FrameBuf::build(|w| announcement.emit(w)).unwrap();
                    prop_assert_eq!(&*content, &bytes[..]);
                }
            }
        }
    }

    pub(crate) fn four_channels() -> Parameters {
        let channel = |n| Channel::new(n).unwrap();
        Parameters {
            campaign: Campaign::new(1),
            first: NodeId::new(1).unwrap(),
            span: 138,
            slots: 139,
            channels: [15, 20, 25, 26].map(channel).into_iter().collect(),
            sweeps: 2,
            slot: Duration::from_millis(2),
            pause: Duration::from_millis(100),
            report: Duration::from_millis(24),
            reports: Reports::Flooded,
            report_bytes: 64,
            floor: -86,
        }
    }

    #[test]
    fn sweeps_that_cannot_be_are_refused() {
        let beacon = Beacon {
            from: NodeId::new(7).unwrap(),
            parameters: four_channels(),
            stretch: 7,
            slot: 138,
        };
        let good = FrameBuf::build(|w| beacon.emit(w, 0)).unwrap();
        assert_eq!(Beacon::parse(&good), Ok(beacon));
        for (at, bytes, why) in [
            (3, &[dispatch::BEACON][..], "another frame"),
            (7, &[0xff, 0xff], "no first address"),
            (9, &[0xfe, 0xff], "addresses beyond the last"),
            (11, &[0, 0], "no slot"),
            (11, &[140, 0], "more slots than addresses"),
            (13, &[0, 0], "no channel"),
            (15, &[0], "no sweep"),
            (15, &[16], "sixteen sweeps"),
            (16, &[0], "slots of no time"),
            (16, &[255, 0xff, 0xff], "longer than a minute"),
            (19, &[0, 0], "reports in no time"),
            (2, &[8], "a stretch behind the last"),
            (23, &[139, 0], "a slot behind the last"),
        ] {
            let mut bad = good;
            bad[at..at + bytes.len()].copy_from_slice(bytes);
            if why == "longer than a minute" {
                bad[15] = 15;
            }
            assert_eq!(Beacon::parse(&bad), Err(WireError::Malformed), "{why}");
        }
        for short in 0..good.len() {
            let parsed = Beacon::parse(&good[..short]);
            assert_eq!(parsed, Err(WireError::Truncated), "{short}");
        }
        let emitted = |beacon: Beacon| FrameBuf::build(|w| beacon.emit(w, 0)).map(drop);
        let slots = Parameters {
            slots: 140,
            ..beacon.parameters
        };
        for bad in [
            Beacon {
                stretch: 8,
                ..beacon
            },
            Beacon {
                slot: 139,
                ..beacon
            },
            Beacon {
                parameters: slots,
                ..beacon
            },
        ] {
            assert_eq!(emitted(bad), Err(WireError::Malformed));
        }
        let announcement = Announcement {
            parameters: slots,
            until: Duration::ZERO,
            from: beacon.from,
            rank: 0,
            nodes: &[],
        };
        let emitted = FrameBuf::build(|w| announcement.emit(w)).map(drop);
        assert_eq!(emitted, Err(WireError::Malformed));
    }

    #[test]
    fn stretches_follow_each_other_and_sweeps_pause() {
        let channel = |n| Channel::new(n).unwrap();
        let parameters = four_channels();
        assert_eq!(parameters.stretch(), Duration::from_millis(280));
        assert_eq!(parameters.begin(4), Duration::from_millis(4 * 280 + 100));
        assert_eq!(parameters.measuring(), Duration::from_millis(8 * 280 + 100));
        assert_eq!(parameters.channel(5), Some(channel(20)));
        // Upwards, and from the third sweep on there and back.
        assert_eq!(parameters.channel(9), Some(channel(20)));
        let back = [12, 13, 14, 15].map(|stretch| parameters.channel(stretch).unwrap().number());
        assert_eq!(back, [26, 25, 20, 15]);
        let id = |n| NodeId::new(n).unwrap();
        assert_eq!(parameters.slot_of(id(1)), Some(0));
        assert_eq!(
            (parameters.slot_of(id(0)), parameters.slot_of(id(140))),
            (None, None)
        );
        let sparse = Parameters {
            span: 200,
            ..parameters
        };
        assert_eq!(sparse.slot_of(id(1)), None);
        assert!(!Parameters {
            slots: 140,
            ..parameters
        }
        .is_possible());
        assert!(!Parameters {
            sweeps: 0,
            ..parameters
        }
        .is_possible());
    }
}
