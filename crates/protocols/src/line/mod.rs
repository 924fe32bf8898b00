//! One end of the line between a host and a base station: bytes in and out, messages in order and once.
//!
//! Owns: sessions (two epochs, greeted), numbering, acknowledgement and resending with a window of [`WINDOW`],
//! beats. Time base: a clock of the end's own. Invariants: within a session what is delivered is the beginning
//! of what was sent; an end that leaves a session never enters it again; every wait has an end. Which bytes:
//! [`thalweg_wire::host`]. Not modelled: the speed of the line, which is the owner's. Tests: `tests.rs`.

pub mod desk;
mod protocol;
pub mod station;
#[cfg(test)]
mod tests;

use thalweg_units::{Duration, Instant};
use thalweg_wire::host::{
    cobs, About, End, Frame, Version, DATA_HEADER_BYTES, MAX_FRAME, MAX_MESSAGE, MAX_STUFFED,
    NOTE_HEADER_BYTES,
};

/// The most messages that are sent and not acknowledged.
pub const WINDOW: usize = 4;
/// How long an acknowledgement is waited for. A full window takes 90 ms at 115,200 baud.
pub const RESEND: Duration = Duration::from_millis(250);
/// How often a message is sent again before the session is given up.
pub const TRIES: u8 = 20;
/// How long an end says nothing at most.
pub const BEAT: Duration = Duration::from_millis(500);
/// After how long without a frame of the other end the session is given up.
pub const SILENCE: Duration = Duration::from_secs(3);
/// From one greeting to the next, while there is no session.
pub const GREET: Duration = Duration::from_millis(500);

/// Why a session is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// Nothing was heard for [`SILENCE`].
    Silent,
    /// The other end is there, but acknowledges nothing.
    Unanswered,
    /// The other end has restarted.
    Restarted,
}

/// Events of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEvent<'a> {
    /// A session begins, with a base station that says this of itself, or with a host.
    Up(Option<About>),
    /// The session is over. What was sent in it may not have arrived.
    Down(Lost),
    /// The other end speaks another version: there will be no session until one of them is replaced.
    Foreign(Version),
    /// The next message.
    Message(&'a [u8]),
    /// A note.
    Note(&'a [u8]),
}

/// Why a message is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// There is no session.
    Down,
    /// The window is full: later.
    Full,
    /// It is longer than [`MAX_MESSAGE`].
    TooLong,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The other end's epoch and description, once it was heard.
    Greeting(Option<(u32, Option<About>)>),
    /// The other end speaks another version.
    Foreign(Version),
    /// A session with the other end's epoch.
    Up(u32),
}

/// A message that waits, or is not acknowledged.
#[derive(Debug, Clone, Copy)]
struct Slot {
    bytes: [u8; MAX_MESSAGE],
    len: u8,
}

const EMPTY: Slot = Slot {
    bytes: [0; MAX_MESSAGE],
    len: 0,
};

impl Slot {
    fn of(message: &[u8]) -> Result<Self, SendError> {
        let mut slot = EMPTY;
        let place = slot.bytes.get_mut(..message.len());
        place.ok_or(SendError::TooLong)?.copy_from_slice(message);
        slot.len = message.len() as u8;
        Ok(slot)
    }
    fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// The frame that is coming in.
#[derive(Debug)]
struct Incoming {
    bytes: [u8; MAX_STUFFED],
    /// More than there is room for where it is too long for a frame.
    len: usize,
}

impl Incoming {
    /// Takes bytes up to the end of a frame, and gives that frame, stuffing undone; an error where it was none.
    fn take<'a>(&'a mut self, bytes: &mut &[u8]) -> Option<Result<&'a [u8], ()>> {
        let end = bytes.iter().position(|b| *b == cobs::DELIMITER);
        let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        *bytes = rest.get(usize::from(end.is_some())..).unwrap_or(&[]);
        let until = self.len + part.len();
        if let Some(place) = self.bytes.get_mut(self.len..until) {
            place.copy_from_slice(part);
        }
        self.len = until.min(MAX_STUFFED + 1);
        end?;
        let len = core::mem::take(&mut self.len);
        let frame = match self.bytes.get_mut(..len) {
            // Ends of frames follow each other where a line is quiet.
            Some([]) => return None,
            Some(frame) => cobs::unstuff(frame).ok_or(()),
            None => Err(()),
        };
        Some(frame.map(|len| &self.bytes[..len]))
    }
}

/// One end of a line.
#[derive(Debug)]
pub struct Link {
    incoming: Incoming,
    protocol: Protocol,
}

#[derive(Debug)]
struct Protocol {
    end: End,
    about: Option<About>,
    epoch: u32,
    state: State,
    /// Messages from `base` on, by number modulo the window.
    slots: [Slot; WINDOW],
    /// The first that is not acknowledged, the next to go out, and the number of the next message.
    base: u8,
    going: u8,
    next: u8,
    /// The number that this end waits for.
    wanted: u8,
    resend: Option<Instant>,
    tries: u8,
    note: Slot,
    note_waits: bool,
    /// When the next greeting is due.
    greet: Instant,
    /// When a frame was last heard, and sent.
    last_heard: Instant,
    last_sent: Instant,
    owes_beat: bool,
    resend_request: ResendRequest,
}

/// Whether the other end was asked to send again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResendRequest {
    No,
    Due,
    Sent,
}

impl Link {
    /// The end `end` of a line at `now`; `seed` is another one after each start, and a base station describes
    /// itself.
    pub const fn new(end: End, seed: u32, about: Option<About>, now: Instant) -> Self {
        Self {
            incoming: Incoming {
                bytes: [0; MAX_STUFFED],
                len: 0,
            },
            protocol: Protocol {
                end,
                about,
                epoch: following(seed),
                state: State::Greeting(None),
                slots: [EMPTY; WINDOW],
                base: 0,
                going: 0,
                next: 0,
                wanted: 0,
                resend: None,
                tries: 0,
                note: EMPTY,
                note_waits: false,
                greet: now,
                last_heard: now,
                last_sent: now,
                owes_beat: false,
                resend_request: ResendRequest::No,
            },
        }
    }

    /// Whether there is a session.
    pub const fn is_up(&self) -> bool {
        matches!(self.protocol.state, State::Up(_))
    }
    /// The other end's version, where it is another.
    pub const fn foreign(&self) -> Option<Version> {
        match self.protocol.state {
            State::Foreign(version) => Some(version),
            _ => None,
        }
    }
    /// The other end's description, once a greeting was heard and there is no session yet.
    pub fn peer(&self) -> Option<About> {
        match self.protocol.state {
            State::Greeting(Some((_, about))) => about,
            _ => None,
        }
    }
    /// How many messages are taken now.
    pub fn room(&self) -> usize {
        match self.protocol.state {
            State::Up(_) => {
                WINDOW - usize::from(self.protocol.next.wrapping_sub(self.protocol.base))
            }
            _ => 0,
        }
    }
    /// Whether everything that was sent is acknowledged.
    pub const fn is_clear(&self) -> bool {
        self.protocol.base == self.protocol.next
    }

    /// Sends `message`, to be delivered once and in order as long as the session lasts.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn send(&mut self, message: &[u8]) -> Result<(), SendError> {
        let protocol = &mut self.protocol;
        let State::Up(_) = protocol.state else {
            return Err(SendError::Down);
        };
        let slot = Slot::of(message)?;
        if usize::from(protocol.next.wrapping_sub(protocol.base)) >= WINDOW {
            return Err(SendError::Full);
        }
        protocol.slots[usize::from(protocol.next) % WINDOW] = slot;
        protocol.next = protocol.next.wrapping_add(1);
        Ok(())
    }
    /// Sends `message` with the next frame and never again; it takes the place of a note that waits.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn note(&mut self, message: &[u8]) -> Result<(), SendError> {
        match self.protocol.state {
            State::Up(_) => self.protocol.note = Slot::of(message)?,
            _ => return Err(SendError::Down),
        }
        self.protocol.note_waits = true;
        Ok(())
    }

    /// Takes from the front of `bytes`, which came in at `now`, until there is an event, or none is left: to
    /// be called until it gives none.
    pub fn receive(&mut self, now: Instant, bytes: &mut &[u8]) -> Option<LinkEvent<'_>> {
        while !bytes.is_empty() {
            let received = match self.incoming.take(bytes) {
                None => continue,
                Some(frame) => frame.and_then(|frame| Frame::parse(frame).map_err(|_| ())),
            };
            let received = match received {
                Ok((from, _)) if from == self.protocol.end => continue,
                Ok((_, frame)) => self.protocol.handle(now, frame),
                Err(()) => {
                    self.protocol.request_resend();
                    continue;
                }
            };
            match received {
                None => {}
                Some(Received::Event(event)) => return Some(event),
                Some(Received::Message(len)) => {
                    return Some(LinkEvent::Message(self.message(DATA_HEADER_BYTES, len)));
                }
                Some(Received::Note(len)) => {
                    return Some(LinkEvent::Note(self.message(NOTE_HEADER_BYTES, len)));
                }
            }
        }
        None
    }

    /// The message of the frame that was just taken.
    fn message(&self, header: usize, len: usize) -> &[u8] {
        &self.incoming.bytes[header..header + len]
    }

    /// The next frame to go out at `now`, stuffed and with its end, and how long it is; to be called until it
    /// is 0, as far as there is room in the line.
    pub fn transmit(&mut self, now: Instant, into: &mut [u8; MAX_STUFFED]) -> usize {
        let mut bytes = [0; MAX_FRAME];
        let (end, frame) = (self.protocol.end, self.protocol.frame(now));
        let len = frame.and_then(|frame| frame.emit(end, &mut bytes).ok());
        let stuffed = len.and_then(|len| cobs::stuff(&bytes[..len], into));
        stuffed.map_or(0, |len| {
            self.protocol.last_sent = now;
            into[len] = cobs::DELIMITER;
            len + 1
        })
    }

    /// When [`Link::timeout`] is to be called next.
    pub fn due(&self) -> Instant {
        let protocol = &self.protocol;
        match protocol.state {
            State::Up(_) => {
                let quiet = protocol.last_heard + SILENCE;
                let beat = protocol.last_sent + BEAT;
                protocol.resend.map_or(quiet, |at| at.min(quiet)).min(beat)
            }
            State::Greeting(_) | State::Foreign(_) => protocol.greet,
        }
    }
    /// Does what is due at `now`; frames may be there to go out then.
    pub fn timeout(&mut self, now: Instant) -> Option<LinkEvent<'static>> {
        self.protocol.timeout(now)
    }
    /// Leaves the session, as where the line itself is gone.
    pub fn leave(&mut self, now: Instant) {
        self.protocol.restart(now, State::Greeting(None));
        self.incoming.len = 0;
    }
}

/// The event of a frame; messages by their length.
enum Received {
    Event(LinkEvent<'static>),
    Message(usize),
    Note(usize),
}

/// The epoch after `epoch`: all 2^32 follow each other (Numerical Recipes, section 7.1).
const fn following(epoch: u32) -> u32 {
    epoch.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
}
