//! Messages of RCRT between a source and a sink: what packets of a collection tree carry.
//!
//! [`Up`] goes to the sink, [`Down`] to a source (RCRT, section 3.7). Sequence numbers wrap and are compared
//! as serial numbers (RFC 1982). A data packet takes 7 bytes before its payload, 10 with an echo; the
//! authors' takes 8. Tests: `rcrt_tests.rs`.

use crate::buf::{Reader, WireError, Writer};

/// Payload of a data packet in the paper's experiments, bytes (section 4.1).
pub const PAPER_PAYLOAD_BYTES: usize = 64;
/// Most sequence numbers that a feedback asks for again. The paper does not say; 10 is what its authors'
/// later release takes.
pub const MAX_NACKS: usize = 10;
/// Bytes of a data packet before its payload, with an echo.
pub const DATA_HEADER_BYTES: usize = 10;
/// Of these an echo.
const ECHO_BYTES: usize = 3;
/// Where a message names its flow, before its connection.
pub(crate) const FLOW_AT: usize = 1;

/// A rate of packets in 1/512 of a packet per second: up to 127.998 per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u16);

impl Rate {
    const UNIT: f64 = 512.0;
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The least that is not nothing: a packet in 512 s.
    pub const LEAST: Self = Self(1);
    /// The most.
    pub const MAX: Self = Self(u16::MAX);

    /// The nearest to so many packets per second; what is beyond the ends is brought there, what is no
    /// number is nothing.
    pub fn from_per_s(per_s: f64) -> Self {
        // Casts saturate, and take no number as 0.
        Self((per_s * Self::UNIT + 0.5) as u16)
    }
    /// Packets per second.
    pub fn per_s(self) -> f64 {
        f64::from(self.0) / Self::UNIT
    }
    /// Nanoseconds from packet to packet; none at no rate.
    pub const fn interval_ns(self) -> Option<u64> {
        match self.0 {
            0 => None,
            rate => Some(512_000_000_000 / rate as u64),
        }
    }
    /// As it is sent.
    pub const fn to_wire(self) -> u16 {
        self.0
    }
    /// As it was sent.
    pub const fn from_wire(rate: u16) -> Self {
        Self(rate)
    }
}

/// How long the longest queue was that a packet met on its way up: relays may note it. Two bits, which are 0 where
/// no relay notes anything. Not in the paper (its section 5 leaves it to the future).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Met(u8);

impl Met {
    /// The most.
    pub const MOST: u8 = 3;
    /// Of so many packets, its own among them: 0 up to 1, 1 up to 3, 2 up to 6.
    pub const fn of(packets: u8) -> Self {
        Self(match packets {
            0..=1 => 0,
            2..=3 => 1,
            4..=6 => 2,
            _ => Self::MOST,
        })
    }
    /// 0 to [`Self::MOST`].
    pub const fn level(self) -> u8 {
        self.0
    }
    /// Notes in `message`, if it is a packet of a flow, a queue of so many packets.
    pub fn note(message: &mut [u8], packets: u8) {
        if let Some(kind) = message.first_mut().filter(|kind| **kind & KIND == DATA) {
            let met = Self(*kind >> MET_SHIFT).max(Self::of(packets));
            *kind = (*kind & !MET) | (met.0 << MET_SHIFT);
        }
    }
}

/// Which flow of a source: the sink that it is for and its number among the source's flows there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// The sink, 0 to 15.
    pub sink: u8,
    /// The flow, 0 to 15.
    pub number: u8,
}

impl Flow {
    /// The one that a message of either direction names, sealed or not.
    pub fn of(message: &[u8]) -> Option<Self> {
        message.get(FLOW_AT).copied().map(Self::from_wire)
    }
    const fn to_wire(self) -> u8 {
        self.sink << 4 | self.number & 0xf
    }
    const fn from_wire(byte: u8) -> Self {
        Self {
            sink: byte >> 4,
            number: byte & 0xf,
        }
    }
}

/// DownBody a feedback, so that the sink can measure a round trip without the time that the source waited
/// (section 3.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// The feedback's number.
    pub number: u8,
    /// Milliseconds from its arrival to this packet's departure.
    pub waited_ms: u16,
}

/// Whether a source asks for feedback (section 3.7: its buffer is more than half full, or full).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeedbackRequest {
    /// It does not.
    #[default]
    No,
    /// It does.
    Yes,
}

/// What a source says of the object that its connection brought, so that a sink can prove that it has it whole. Not in
/// the paper, whose flows have no objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    /// Its length in bytes.
    pub len: u32,
    /// A digest of all its bytes, which its users agree on.
    pub digest: [u8; 8],
}

/// A message of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Up<'a> {
    /// The flow.
    pub flow: Flow,
    /// Which of the flow's connections, one after the other.
    pub connection: u8,
    /// Its kind and fields.
    pub what: UpBody<'a>,
}

/// A source's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpBody<'a> {
    /// It wants a connection, or to go on with one.
    Open {
        /// The rate that it wants, d.
        demand: Rate,
        /// The first sequence number that it still has.
        first: u16,
    },
    /// A packet.
    Data {
        /// Its number.
        sequence: u16,
        /// The flow's rate, as the source knows it.
        rate: Rate,
        /// Whether it wants feedback.
        ask: FeedbackRequest,
        /// What it met on its way.
        met: Met,
        /// Of the last feedback.
        echo: Option<Echo>,
        /// What the application sends.
        payload: &'a [u8],
    },
    /// It has sent everything, and ends the connection when all of it has arrived.
    Finish {
        /// The number after the last packet's.
        end: u16,
        /// Of the last feedback.
        echo: Option<Echo>,
        /// Of the object, where the packets were one.
        proof: Option<Proof>,
    },
}

/// A message of a sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Down<'a> {
    /// The flow.
    pub flow: Flow,
    /// Which of its connections.
    pub connection: u8,
    /// Its kind and fields.
    pub what: DownBody<'a>,
}

/// A sink's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DownBody<'a> {
    /// The connection stands (second step of three).
    Accept(Feedback<'a>),
    /// Feedback (section 3.7), complete in itself.
    Feedback(Feedback<'a>),
    /// Everything has arrived; the connection is closed.
    Finished,
    /// There is no such connection here: the source may ask for one.
    Unknown,
    /// No connection is opened.
    Refuse,
}

/// The content of every feedback (section 3.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback<'a> {
    /// Its number, for [`Echo`].
    pub number: u8,
    /// The rate that the sink assigns, r.
    pub rate: Rate,
    /// Everything before this number has arrived.
    pub next: u16,
    /// The mean round trip, milliseconds.
    pub rtt_ms: u16,
    /// What is missing.
    pub nacks: Nacks<'a>,
}

/// Sequence numbers that are missing, at most [`MAX_NACKS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Nacks<'a>(&'a [u8]);

impl<'a> Nacks<'a> {
    /// Nothing is missing.
    pub const NONE: Self = Self(&[]);
    /// Writes `missing` into `bytes`, as many as there is room for.
    pub fn pack(missing: impl Iterator<Item = u16>, bytes: &'a mut [u8; 2 * MAX_NACKS]) -> Self {
        let mut len = 0;
        for (place, number) in bytes.chunks_exact_mut(2).zip(missing) {
            place.copy_from_slice(&number.to_le_bytes());
            len += 2;
        }
        Self(bytes.get(..len).unwrap_or_default())
    }
    /// The numbers.
    pub fn iter(&self) -> impl Iterator<Item = u16> + 'a {
        let pairs = self.0.chunks_exact(2);
        pairs.filter_map(|pair| Some(u16::from_le_bytes(*pair.first_chunk()?)))
    }
}

const OPEN: u8 = 0;
const DATA: u8 = 1;
const FINISH: u8 = 2;
const ACCEPT: u8 = 3;
const FEEDBACK: u8 = 4;
const FINISHED: u8 = 5;
const REFUSE: u8 = 6;
const UNKNOWN: u8 = 7;
const KIND: u8 = 0x0f;
const ASKS: u8 = 0x10;
const ECHOES: u8 = 0x20;
/// Of the end of a connection, which meets nothing.
const PROVES: u8 = 0x40;
const MET: u8 = 0xc0;
const MET_SHIFT: u8 = 6;

/// The first byte of a message without what relays note in it.
pub(crate) const fn without_notes(kind: u8) -> u8 {
    match kind & KIND {
        DATA => kind & !MET,
        _ => kind,
    }
}
/// Where the payload of `message` begins, if it is a packet of a flow; else its end.
pub(crate) fn payload_at(message: &[u8]) -> usize {
    let at = match message.first() {
        Some(kind) if kind & KIND == DATA && kind & ECHOES != 0 => DATA_HEADER_BYTES,
        Some(kind) if kind & KIND == DATA => DATA_HEADER_BYTES - ECHO_BYTES,
        _ => message.len(),
    };
    at.min(message.len())
}

fn emit_echo(w: &mut Writer<'_>, echo: Option<Echo>) -> Result<(), WireError> {
    if let Some(echo) = echo {
        w.u8(echo.number)?.u16(echo.waited_ms)?;
    }
    Ok(())
}
const fn echoes(echo: Option<Echo>) -> u8 {
    match echo {
        Some(_) => ECHOES,
        None => 0,
    }
}

impl<'a> Up<'a> {
    /// Writes the message.
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        let kind = match self.what {
            UpBody::Open { .. } => OPEN,
            UpBody::Data { ask, echo, met, .. } => {
                let asks = if ask == FeedbackRequest::Yes { ASKS } else { 0 };
                DATA | asks | echoes(echo) | (met.0 << MET_SHIFT)
            }
            UpBody::Finish { echo, proof, .. } => {
                let proves = if proof.is_some() { PROVES } else { 0 };
                FINISH | echoes(echo) | proves
            }
        };
        w.u8(kind)?.u8(self.flow.to_wire())?.u8(self.connection)?;
        match self.what {
            UpBody::Open { demand, first } => {
                w.u16(demand.0)?.u16(first)?;
            }
            UpBody::Data {
                sequence,
                rate,
                echo,
                payload,
                ..
            } => {
                w.u16(sequence)?.u16(rate.0)?;
                emit_echo(w, echo)?;
                w.bytes(payload)?;
            }
            UpBody::Finish { end, echo, proof } => {
                w.u16(end)?;
                emit_echo(w, echo)?;
                if let Some(Proof { len, digest }) = proof {
                    w.u32(len)?.bytes(&digest)?;
                }
            }
        }
        Ok(())
    }
    /// Reads a message.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let kind = r.u8()?;
        let (flow, connection) = (Flow::from_wire(r.u8()?), r.u8()?);
        let flags = kind & !KIND;
        let parse_echo = |r: &mut Reader<'_>| match flags & ECHOES {
            0 => Ok(None),
            _ => Ok::<_, WireError>(Some(Echo {
                number: r.u8()?,
                waited_ms: r.u16()?,
            })),
        };
        let what = match kind & KIND {
            OPEN if flags == 0 => {
                let (demand, first) = (Rate(r.u16()?), r.u16()?);
                r.end()?;
                UpBody::Open { demand, first }
            }
            DATA if flags & !(ASKS | ECHOES | MET) == 0 => {
                let (sequence, rate) = (r.u16()?, Rate(r.u16()?));
                let echo = parse_echo(&mut r)?;
                let ask = match flags & ASKS {
                    0 => FeedbackRequest::No,
                    _ => FeedbackRequest::Yes,
                };
                let payload = r.rest();
                UpBody::Data {
                    sequence,
                    rate,
                    ask,
                    met: Met(flags >> MET_SHIFT),
                    echo,
                    payload,
                }
            }
            FINISH if flags & !(ECHOES | PROVES) == 0 => {
                let end = r.u16()?;
                let echo = parse_echo(&mut r)?;
                let proof = match flags & PROVES {
                    0 => None,
                    _ => Some(Proof {
                        len: r.u32()?,
                        digest: *r.bytes(8)?.first_chunk().ok_or(WireError::Truncated)?,
                    }),
                };
                r.end()?;
                UpBody::Finish { end, echo, proof }
            }
            _ => return Err(WireError::Malformed),
        };
        Ok(Self {
            flow,
            connection,
            what,
        })
    }
}

impl<'a> Down<'a> {
    /// Writes the message.
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        let (kind, feedback) = match &self.what {
            DownBody::Accept(feedback) => (ACCEPT, Some(feedback)),
            DownBody::Feedback(feedback) => (FEEDBACK, Some(feedback)),
            DownBody::Finished => (FINISHED, None),
            DownBody::Refuse => (REFUSE, None),
            DownBody::Unknown => (UNKNOWN, None),
        };
        w.u8(kind)?.u8(self.flow.to_wire())?.u8(self.connection)?;
        if let Some(f) = feedback {
            w.u8(f.number)?.u16(f.rate.0)?.u16(f.next)?.u16(f.rtt_ms)?;
            w.bytes(f.nacks.0)?;
        }
        Ok(())
    }
    /// Reads a message.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let kind = r.u8()?;
        let (flow, connection) = (Flow::from_wire(r.u8()?), r.u8()?);
        let what = match kind {
            ACCEPT | FEEDBACK => {
                let feedback = Feedback {
                    number: r.u8()?,
                    rate: Rate(r.u16()?),
                    next: r.u16()?,
                    rtt_ms: r.u16()?,
                    nacks: match r.rest() {
                        odd if odd.len() % 2 == 1 || odd.len() > 2 * MAX_NACKS => {
                            return Err(WireError::Malformed)
                        }
                        numbers => Nacks(numbers),
                    },
                };
                match kind {
                    ACCEPT => DownBody::Accept(feedback),
                    _ => DownBody::Feedback(feedback),
                }
            }
            FINISHED | REFUSE | UNKNOWN => {
                r.end()?;
                match kind {
                    FINISHED => DownBody::Finished,
                    REFUSE => DownBody::Refuse,
                    _ => DownBody::Unknown,
                }
            }
            _ => return Err(WireError::Malformed),
        };
        Ok(Self {
            flow,
            connection,
            what,
        })
    }
}

#[cfg(test)]
#[path = "rcrt_tests.rs"]
mod tests;
