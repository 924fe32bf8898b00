//! One frame of the line, before it is stuffed: who sends it and what it is, then its fields, then a CRC-32.
//!
//! Invariant: the first eight bytes of a greeting are the same in all versions, so that ends of different
//! versions recognise each other. Tests: `frame_tests.rs`.

use super::cobs::stuffed_len;
use super::crc::crc32;
use crate::{Reader, WireError, Writer};
use thalweg_units::NodeId;

/// The version of frames, messages, orders and events that this code speaks.
pub const VERSION: Version = Version(4);
/// The most bytes of a frame, its CRC included: one block of stuffing.
pub const MAX_FRAME: usize = 254;
/// The most bytes of a frame on the line, its delimiter included.
pub const MAX_STUFFED: usize = stuffed_len(MAX_FRAME) + 1;
/// The most bytes of a message.
pub const MAX_MESSAGE: usize = MAX_FRAME - DATA_HEADER_BYTES - CRC_BYTES;

/// Bytes of [`Frame::Data`] in front of its message.
pub const DATA_HEADER_BYTES: usize = 7;
/// Bytes of [`Frame::Note`] in front of its message.
pub const NOTE_HEADER_BYTES: usize = 5;
const CRC_BYTES: usize = 4;
const STATION_BIT: u8 = 0x80;
const MAGIC: [u8; 2] = *b"TW";
const HELLO: u8 = 1;
const DATA: u8 = 2;
const BEAT: u8 = 3;
const NOTE: u8 = 4;
const AGAIN: u8 = 5;
/// What a greeting has beside its epoch.
const HAS_ECHO: u8 = 0x01;
const HAS_ABOUT: u8 = 0x02;

/// A version of the line's protocol. Ends of different versions exchange greetings and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version(pub u8);

impl core::fmt::Display for Version {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

/// The two ends of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The computer.
    Host,
    /// The base station's node.
    Station,
}

impl End {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Host => Self::Station,
            Self::Station => Self::Host,
        }
    }
}

/// At most `MAX` printable ASCII characters; without more said, the name of a board.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name<const MAX: usize = 24> {
    bytes: [u8; MAX],
    len: u8,
}

/// What a program said as it ended.
pub type LastWords = Name<116>;

impl<const MAX: usize> Name<MAX> {
    /// The most characters, below 256.
    pub const MAX: usize = MAX;
    /// No character.
    pub const EMPTY: Self = Self {
        bytes: [0; MAX],
        len: 0,
    };

    /// `text`; `None` where it is longer, or has other characters.
    pub fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; MAX];
        let printable = text.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
        let place = bytes.get_mut(..text.len()).filter(|_| printable)?;
        place.copy_from_slice(text.as_bytes());
        let len = text.len() as u8;
        Some(Self { bytes, len })
    }
    /// As much of what is `told` as there is room for; a space for what is not printable.
    pub fn lossy(told: core::fmt::Arguments<'_>) -> Self {
        let mut name = Self::EMPTY;
        // What does not fit is left out.
        let _cut = core::fmt::write(&mut name, told);
        name
    }
    /// The characters.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or("")
    }
}

impl<const MAX: usize> core::fmt::Write for Name<MAX> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for c in text.chars() {
            let place = self.bytes.get_mut(usize::from(self.len));
            *place.ok_or(core::fmt::Error)? = match c {
                ' '..='~' => c as u8,
                _ => b' ',
            };
            self.len += 1;
        }
        Ok(())
    }
}

impl<const MAX: usize> core::fmt::Debug for Name<MAX> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// What a base station has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most nodes that an order may name.
    pub nodes: u16,
    /// The most bytes of an order.
    pub order_bytes: u16,
    /// Bytes of an object that it keeps while the line is slower than the air.
    pub object_bytes: u32,
}

/// What a base station's network carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// Surveys, and transfers over pipelines.
    Pipelines,
    /// These, and sessions of RCRT.
    PipelinesAndSessions,
}

/// A base station's description of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Another one after each start, a counter or a random number.
    pub boot: u32,
    /// Its node.
    pub node: NodeId,
    /// What its network carries.
    pub carries: Carries,
    /// Its board.
    pub board: Name,
    /// What it has room for.
    pub limits: Limits,
    /// What its program said as it ended before this start; empty where it said nothing.
    pub last_words: LastWords,
}

/// A greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// What the sender speaks.
    pub version: Version,
    /// The sender's number of the session that it wants: another one for each.
    pub epoch: u32,
    /// The other end's, where it was heard.
    pub echo: Option<u32>,
    /// Of a base station. Not read where the version is another.
    pub about: Option<About>,
}

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A greeting.
    Hello(Hello),
    /// A message that is delivered once, in order.
    Data {
        /// The session: both epochs, XORed.
        session: u32,
        /// Its number in the session, modulo 256.
        number: u8,
        /// The number that the sender waits for: all before are acknowledged.
        wanted: u8,
        /// The message, at most [`MAX_MESSAGE`] bytes.
        message: &'a [u8],
    },
    /// Says that the line is alive.
    Beat {
        /// As of [`Frame::Data`].
        session: u32,
        /// As of [`Frame::Data`].
        wanted: u8,
    },
    /// Says that a frame was damaged, or one before it is missing: send again from `wanted` on.
    Again {
        /// As of [`Frame::Data`].
        session: u32,
        /// As of [`Frame::Data`].
        wanted: u8,
    },
    /// A message that is worth nothing later: neither numbered nor sent again.
    Note {
        /// As of [`Frame::Data`].
        session: u32,
        /// The message, at most [`MAX_MESSAGE`] bytes.
        message: &'a [u8],
    },
}

impl<'a> Frame<'a> {
    /// Reads a whole frame, stuffing undone: who sent it, and what it is.
    ///
    /// # Errors
    /// [`WireError`], also where the CRC is another.
    pub fn parse(bytes: &'a [u8]) -> Result<(End, Self), WireError> {
        let at = bytes
            .len()
            .checked_sub(CRC_BYTES)
            .ok_or(WireError::Truncated)?;
        if bytes.len() > MAX_FRAME {
            return Err(WireError::Malformed);
        }
        let (frame, crc) = bytes.split_at(at);
        if Reader::new(crc).u32()? != crc32(frame) {
            return Err(WireError::Malformed);
        }
        let mut r = Reader::new(frame);
        let first = r.u8()?;
        let from = match first & STATION_BIT {
            0 => End::Host,
            _ => End::Station,
        };
        let frame = match first & !STATION_BIT {
            HELLO => Self::Hello(Hello::parse(r)?),
            DATA => Self::Data {
                session: r.u32()?,
                number: r.u8()?,
                wanted: r.u8()?,
                message: r.rest(),
            },
            kind @ (BEAT | AGAIN) => {
                let (session, wanted) = (r.u32()?, r.u8()?);
                r.end()?;
                match kind {
                    BEAT => Self::Beat { session, wanted },
                    _ => Self::Again { session, wanted },
                }
            }
            NOTE => Self::Note {
                session: r.u32()?,
                message: r.rest(),
            },
            _ => return Err(WireError::Malformed),
        };
        match frame {
            Self::Data { message, .. } | Self::Note { message, .. }
                if message.len() > MAX_MESSAGE =>
            {
                Err(WireError::Malformed)
            }
            frame => Ok((from, frame)),
        }
    }

    /// Writes the frame as `from` sends it, to the front of `into`, and says how long it is.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Malformed`] for messages beyond [`MAX_MESSAGE`].
    pub fn emit(&self, from: End, into: &mut [u8]) -> Result<usize, WireError> {
        let mut w = Writer::new(into);
        let station = match from {
            End::Host => 0,
            End::Station => STATION_BIT,
        };
        match self {
            Self::Hello(hello) => hello.emit(w.u8(HELLO | station)?)?,
            Self::Data { message, .. } | Self::Note { message, .. }
                if message.len() > MAX_MESSAGE =>
            {
                return Err(WireError::Malformed);
            }
            Self::Data {
                session,
                number,
                wanted,
                message,
            } => {
                w.u8(DATA | station)?.u32(*session)?.u8(*number)?;
                w.u8(*wanted)?.bytes(message)?;
            }
            Self::Beat { session, wanted } => {
                w.u8(BEAT | station)?.u32(*session)?.u8(*wanted)?;
            }
            Self::Again { session, wanted } => {
                w.u8(AGAIN | station)?.u32(*session)?.u8(*wanted)?;
            }
            Self::Note { session, message } => {
                w.u8(NOTE | station)?.u32(*session)?.bytes(message)?;
            }
        }
        let len = w.len();
        let crc = crc32(&into[..len]).to_le_bytes();
        let place = into.get_mut(len..len + CRC_BYTES);
        place.ok_or(WireError::NoRoom)?.copy_from_slice(&crc);
        Ok(len + CRC_BYTES)
    }
}

impl Hello {
    fn parse(mut r: Reader<'_>) -> Result<Self, WireError> {
        let magic = r.bytes(MAGIC.len())?;
        let version = Version(r.u8()?);
        let epoch = r.u32()?;
        if magic != MAGIC {
            return Err(WireError::Malformed);
        }
        let mut hello = Self {
            version,
            epoch,
            echo: None,
            about: None,
        };
        if version != VERSION {
            return Ok(hello);
        }
        let has = r.u8()?;
        if has & !(HAS_ECHO | HAS_ABOUT) != 0 {
            return Err(WireError::Malformed);
        }
        if has & HAS_ECHO != 0 {
            hello.echo = Some(r.u32()?);
        }
        if has & HAS_ABOUT != 0 {
            hello.about = Some(About::parse(&mut r)?);
        }
        r.end()?;
        Ok(hello)
    }
    fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        w.bytes(&MAGIC)?.u8(self.version.0)?.u32(self.epoch)?;
        if self.version != VERSION {
            return Ok(());
        }
        let echo = self.echo.map_or(0, |_| HAS_ECHO);
        w.u8(echo | self.about.map_or(0, |_| HAS_ABOUT))?;
        if let Some(echo) = self.echo {
            w.u32(echo)?;
        }
        self.about.map_or(Ok(()), |about| about.emit(w))
    }
}

impl About {
    fn parse(r: &mut Reader<'_>) -> Result<Self, WireError> {
        fn name<const MAX: usize>(r: &mut Reader<'_>) -> Result<Name<MAX>, WireError> {
            let len = usize::from(r.u8()?);
            let text = core::str::from_utf8(r.bytes(len)?).ok();
            text.and_then(Name::new).ok_or(WireError::Malformed)
        }
        let (boot, node) = (r.u32()?, r.node()?);
        let limits = Limits {
            nodes: r.u16()?,
            order_bytes: r.u16()?,
            object_bytes: r.u32()?,
        };
        let carries = match r.u8()? {
            0 => Carries::Pipelines,
            1 => Carries::PipelinesAndSessions,
            _ => return Err(WireError::Malformed),
        };
        Ok(Self {
            boot,
            node,
            carries,
            board: name(r)?,
            limits,
            last_words: name(r)?,
        })
    }
    fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        let Limits {
            nodes,
            order_bytes,
            object_bytes,
        } = self.limits;
        w.u32(self.boot)?.u16(self.node.get())?;
        w.u16(nodes)?.u16(order_bytes)?.u32(object_bytes)?;
        w.u8(match self.carries {
            Carries::Pipelines => 0,
            Carries::PipelinesAndSessions => 1,
        })?;
        let (board, last_words) = (self.board.as_str(), self.last_words.as_str());
        w.u8(self.board.len)?.bytes(board.as_bytes())?;
        w.u8(self.last_words.len)?.bytes(last_words.as_bytes())?;
        Ok(())
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
