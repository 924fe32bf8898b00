//! What a node has to seal and to check frames with: keys, a cipher, and numbers that are never used twice.
//!
//! Owns: which floods a node acts on, and its own floods' numbers. A flood is relayed before anybody checks it. Invariants: no
//! flood is acted on whose tag is wrong, or whose number is not above all that this node knows of its initiator; a
//! restart forgets none of them, since [`Seals::kept`] is ahead of what was acted on, and kept before it is ([`Hardware`]);
//! a node without numbers floods nothing. Tests: `tests.rs`, `../mote/tests/sealed.rs`.

mod guard;
mod session;

pub use guard::{Guard, Hardware, Unsealed};
pub use session::{SessionSeal, SessionSeals};

use thalweg_units::NodeId;
use thalweg_wire::flood::{self, Kind};
use thalweg_wire::hop;
use thalweg_wire::seal::cmac::{MacKey as _, Prepared};
use thalweg_wire::seal::frame::{self, MIC_BYTES};
use thalweg_wire::seal::keys::Numbered;
use thalweg_wire::seal::survey::{self, ReportKeys};
use thalweg_wire::seal::{GroupKeys, Key};
use thalweg_wire::{FrameBuf, WireError};

/// How many base stations a node obeys: one more is not heard, since forgetting one would let its old floods in.
pub const STATIONS: usize = 4;
/// Flash is written this far ahead, so once in so many floods.
const AHEAD: u32 = 32;

/// The highest number of a base station's floods that a node has acted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    station: NodeId,
    /// It acts on higher ones.
    number: u32,
    /// After a restart it acts on those above this: it is in flash.
    written: u32,
}

/// What outlives a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kept([Option<Heard>; STATIONS]);

impl Kept {
    /// That floods of each of these base stations up to its highest number are old; of four stations, as no more are obeyed.
    pub fn of(numbers: impl IntoIterator<Item = (NodeId, u32)>) -> Self {
        let mut kept = Self::default();
        for (station, number) in numbers {
            let Some(place) = place_of(&mut kept.0, station) else {
                continue;
            };
            let number = place.map_or(number, |heard| heard.number.max(number));
            *place = Some(Heard {
                station,
                number,
                written: number,
            });
        }
        kept
    }
    /// Each base station, and the number up to which its floods are old.
    pub fn numbers(&self) -> impl Iterator<Item = (NodeId, u32)> + '_ {
        let of = |heard: &Heard| (heard.station, heard.number);
        self.0.iter().flatten().map(of)
    }
}

/// The place of `station`, or one for it.
fn place_of(heard: &mut [Option<Heard>; STATIONS], station: NodeId) -> Option<&mut Option<Heard>> {
    let known = |place: &Option<Heard>| place.is_some_and(|heard| heard.station == station);
    let at = heard.iter().position(known);
    let at = at.or_else(|| heard.iter().position(Option::is_none))?;
    heard.get_mut(at)
}

/// Numbers of floods that a base station may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numbers {
    next: u32,
    left: u16,
}

/// A node's keys and numbers.
#[derive(Debug, Clone)]
pub struct Seals<C> {
    cipher: C,
    group: GroupKeys,
    floods: Key,
    heard: [Option<Heard>; STATIONS],
    own: Option<Numbers>,
    /// The number of the last sealed flood that this node acted on, or began.
    last: u32,
    /// The sink and the number of the transfer that this node was called to last.
    called: Option<Numbered>,
    /// The same of the wake-up that it floods itself.
    own_call: Option<Numbered>,
    /// Of the transfer under way.
    transfer: Option<Prepared>,
    /// The last survey that it took part in, and the key of that one's MICs.
    survey: Option<(Numbered, Key)>,
}

impl<C: Hardware> Seals<C> {
    /// Those of a node with `group`'s keys, which keeps what is `kept` from before its start.
    pub fn new(mut cipher: C, group: GroupKeys, kept: Kept) -> Self {
        Self {
            floods: group.floods(&mut cipher),
            cipher,
            group,
            heard: kept.0,
            own: None,
            last: 0,
            called: None,
            own_call: None,
            transfer: None,
            survey: None,
        }
    }
    /// What is to be in flash before this node acts: after a restart it refuses all floods up to there.
    pub fn kept(&self) -> Kept {
        let after = |heard: Heard| Heard {
            number: heard.written,
            ..heard
        };
        Kept(self.heard.map(|heard| heard.map(after)))
    }

    /// What was kept from before a restart.
    pub const fn restore(&mut self, kept: Kept) {
        self.heard = kept.0;
    }

    /// This node may give its floods the numbers from `from` on, so many of them. Numbers that it has used it
    /// never uses again, whatever is granted.
    pub fn grant(&mut self, from: u32, count: u16) {
        let next = self.own.map_or(from, |own| own.next.max(from));
        let end = from.saturating_add(u32::from(count));
        let left = u16::try_from(end.saturating_sub(next)).unwrap_or(0);
        self.own = Some(Numbers { next, left });
    }
    /// Whether a number is left.
    pub fn has_number(&self) -> bool {
        self.own.is_some_and(|own| own.left > 0)
    }
    /// The `content` of a flood by `node`, which this is, sealed with the next number; none without a number left.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] where it gets too long: the number is not used then.
    pub fn seal_flood(
        &mut self,
        node: NodeId,
        content: &[u8],
    ) -> Result<Option<FrameBuf>, WireError> {
        let Some(own) = self.own.as_mut().filter(|own| own.left > 0) else {
            return Ok(None);
        };
        let number = own.next;
        let sealed = frame::seal_flood(&mut self.cipher, &self.floods, (node, number), content)?;
        (own.next, own.left) = (number.saturating_add(1), own.left - 1);
        self.last = number;
        Ok(Some(sealed))
    }
    /// Whether to act on the `content` of a flood by `initiator`. It is not asked for the same flood twice.
    pub fn obeys(&mut self, initiator: NodeId, content: &[u8]) -> bool {
        let (cipher, key) = (&mut self.cipher, &self.floods);
        let Some(number) = frame::open_flood(cipher, key, initiator, content) else {
            return false;
        };
        let is_new = self.note(initiator, number);
        if is_new {
            self.last = number;
        }
        is_new
    }
    /// It announces a survey, as `node`; not without a number left. All its announcements have that number.
    pub fn begin_survey(&mut self, node: NodeId) -> bool {
        let number = self.take_number();
        if let Some(number) = number {
            self.set_survey((node, number));
        }
        number.is_some()
    }
    fn take_number(&mut self) -> Option<u32> {
        let own = self.own.as_mut().filter(|own| own.left > 0)?;
        let number = own.next;
        (own.next, own.left) = (number.saturating_add(1), own.left - 1);
        Some(number)
    }
    fn set_survey(&mut self, of: Numbered) {
        self.survey = Some((of, self.group.survey(&mut self.cipher, of)));
    }
    /// The `content` of a flood that announces its survey.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] where it gets too long; [`WireError::Malformed`] where it has none.
    pub fn seal_announcement(&mut self, content: &[u8]) -> Result<FrameBuf, WireError> {
        let of = self.survey.as_ref().map(|(of, _)| *of);
        let of = of.ok_or(WireError::Malformed)?;
        frame::seal_flood(&mut self.cipher, &self.floods, of, content)
    }
    /// The same for a node, `by`, that repeats the survey's `announcement`.
    ///
    /// # Errors
    /// As of [`Seals::seal_announcement`].
    pub fn seal_repeat(&mut self, by: NodeId, announcement: &[u8]) -> Result<FrameBuf, WireError> {
        let of = self.survey.as_ref().map(|(of, _)| *of);
        let of = of.ok_or(WireError::Malformed)?;
        survey::seal_repeat(&mut self.cipher, &self.floods, (by, of), announcement)
    }
    /// The announcement of a survey in the flood of `by`, plain, where this node is to act on it: it is new, or of the survey
    /// that is `under_way`.
    pub fn announced(
        &mut self,
        by: NodeId,
        (kind, content): (Kind, &[u8]),
        under_way: bool,
    ) -> Option<FrameBuf> {
        let (cipher, key) = (&mut self.cipher, &self.floods);
        let (plain, of) = match kind {
            Kind::Repeat => survey::open_repeat(cipher, key, by, content)?,
            _ => {
                let number = frame::open_flood(cipher, key, by, content)?;
                let plain = FrameBuf::from_slice(flood::opened_content(content)).ok()?;
                (plain, (by, number))
            }
        };
        let is_known = self.survey.as_ref().is_some_and(|(known, _)| *known == of);
        if is_known && under_way {
            return Some(plain);
        }
        self.note(of.0, of.1).then(|| self.set_survey(of))?;
        Some(plain)
    }
    /// Puts its MIC into a beacon of the survey.
    pub fn seal_beacon(&mut self, beacon: &mut FrameBuf) {
        if let Some((_, key)) = &self.survey {
            survey::seal_beacon(&mut self.cipher, key, beacon);
        }
    }
    /// Whether `beacon` is of the survey.
    pub fn is_beacon_right(&mut self, beacon: &[u8]) -> bool {
        let key = self.survey.as_ref().map(|(_, key)| key);
        key.is_some_and(|key| survey::is_beacon_right(&mut self.cipher, key, beacon))
    }
    /// The `content` by which this node, `node`, reports on the survey.
    ///
    /// # Errors
    /// As of [`Seals::seal_announcement`].
    pub fn seal_report(&mut self, node: NodeId, content: &[u8]) -> Result<FrameBuf, WireError> {
        let (of, tag) = self.survey.as_ref().ok_or(WireError::Malformed)?;
        let stream = &self.group.reports(&mut self.cipher, *of);
        ReportKeys { tag, stream }.seal(&mut self.cipher, node, content)
    }
    /// What `node` reports on the survey, plain; none where its MIC is wrong.
    pub fn open_report(&mut self, node: NodeId, content: &[u8]) -> Option<FrameBuf> {
        let (of, tag) = self.survey.as_ref()?;
        let stream = &self.group.reports(&mut self.cipher, *of);
        ReportKeys { tag, stream }.open(&mut self.cipher, node, content)
    }
    /// Notes a `number` of `station`, if it is above all before, and that outlives a restart.
    fn note(&mut self, station: NodeId, number: u32) -> bool {
        let Some(place) = place_of(&mut self.heard, station) else {
            return false;
        };
        if place.is_some_and(|heard| heard.number >= number) {
            return false;
        }
        let written = match *place {
            Some(heard) if number <= heard.written => heard.written,
            _ => {
                let ahead = number.saturating_add(AHEAD);
                if !self.cipher.keep(station, ahead) {
                    return false;
                }
                ahead
            }
        };
        *place = Some(Heard {
            station,
            number,
            written,
        });
        true
    }

    /// The last flood was the segment `index` of a wake-up by `sink`, for a transfer that this node is to join.
    pub fn note_call(&mut self, sink: NodeId, index: u8) {
        self.called = Some((sink, self.first_number(index)));
    }
    /// The same of a wake-up of its own, whose segment `index` is out: it may hear others' before it begins.
    pub fn note_own_call(&mut self, sink: NodeId, index: u8) {
        self.own_call = Some((sink, self.first_number(index)));
    }
    /// It joins the transfer of its own wake-up.
    pub const fn call_own(&mut self) {
        self.called = self.own_call;
    }
    /// The number of a wake-up's first segment, if the last flood was its segment `index`.
    const fn first_number(&self, index: u8) -> u32 {
        self.last.wrapping_sub(index as u32)
    }
    /// The transfer that it was called to, for [`Seals::begin`].
    pub const fn called(&self) -> Option<Numbered> {
        self.called
    }
    /// Whether to take the place on a route to `sink` that a sealed `call` hop by hop gives: its tag is right, and its
    /// number new. It is noted, as of [`Seals::note_call`].
    pub fn obeys_call(&mut self, sink: NodeId, call: &[u8]) -> bool {
        let Some(number) = frame::call_number(call) else {
            return false;
        };
        let key = self.group.transfer(&mut self.cipher, sink, number);
        let is_right = frame::is_call_right(&mut self.cipher, &key, call);
        let obeys = is_right && self.note(sink, number);
        if obeys {
            self.called = Some((sink, number));
        }
        obeys
    }
    /// It calls the nodes of a route hop by hop, of which it, `node`, is the sink; not without a number left.
    pub fn begin_call(&mut self, node: NodeId) -> bool {
        let number = self.take_number();
        if let Some(number) = number {
            self.called = Some((node, number));
        }
        number.is_some()
    }
    /// That transfer begins.
    pub fn begin(&mut self, called: Option<Numbered>) {
        self.called = called;
        let key = called.map(|(sink, number)| {
            let key = self.group.transfer(&mut self.cipher, sink, number);
            Prepared::new(&mut self.cipher, key)
        });
        self.transfer = key;
    }
}

/// The seal of a transfer's requests and NACKs, as its roles see it.
pub trait ControlSeal {
    /// The MIC of `mpdu`, which has none yet; none outside of a sealed transfer.
    fn mic(&mut self, mpdu: &[u8]) -> Option<[u8; MIC_BYTES as usize]>;
    /// `mpdu` without its MIC; none where that is wrong.
    fn opened<'m>(&mut self, mpdu: &'m [u8]) -> Option<&'m [u8]>;
    /// Seals `frame`, of a transfer hop by hop; it stays as it is, and goes nowhere, outside of a sealed transfer.
    ///
    /// # Errors
    /// [`WireError`] where it has no room, or there is no key.
    fn seal_hop(&mut self, frame: &mut FrameBuf) -> Result<(), WireError>;
    /// A frame of a transfer hop by hop without its MIC, or a call as it is; none where either is wrong.
    fn opened_hop<'m>(&mut self, mpdu: &'m [u8]) -> Option<&'m [u8]>;
}

impl<C: Hardware> ControlSeal for Seals<C> {
    fn mic(&mut self, mpdu: &[u8]) -> Option<[u8; MIC_BYTES as usize]> {
        let key = self.transfer.as_ref()?;
        frame::mic(&mut self.cipher, key, mpdu).ok()
    }
    fn opened<'m>(&mut self, mpdu: &'m [u8]) -> Option<&'m [u8]> {
        let key = self.transfer.as_ref()?;
        frame::open_control(&mut self.cipher, key, mpdu)
    }
    fn seal_hop(&mut self, frame: &mut FrameBuf) -> Result<(), WireError> {
        let (Some(key), Some((_, number))) = (self.transfer.as_ref(), self.called) else {
            return Err(WireError::Malformed);
        };
        if hop::Frame::is_call(frame) {
            return frame::seal_call(&mut self.cipher, key.key(), number, frame);
        }
        let mic = frame::hop_mic(&mut self.cipher, key.key(), frame);
        frame.append(&mic)
    }
    fn opened_hop<'m>(&mut self, mpdu: &'m [u8]) -> Option<&'m [u8]> {
        let key = self.transfer.as_ref()?;
        if hop::Frame::is_call(mpdu) {
            return frame::is_call_right(&mut self.cipher, key.key(), mpdu).then_some(mpdu);
        }
        frame::open_hop(&mut self.cipher, key.key(), mpdu)
    }
}

#[cfg(test)]
mod tests;
