//! Radio operations and events: the level at which bulk protocols win or lose. Frames are MAC frames without FCS.
//!
//! A radio is in one *mode*, set by the last [`RadioOp::Listen`] or [`RadioOp::Sleep`], and may hold one *pending*
//! transmission. At its time the radio leaves the mode (aborting a reception in progress), sends, and returns to the
//! mode by itself after [`crate::BoardTiming::turnaround`]. So a relay says `Listen` once, and `Stream` once a frame.
//! It may also hold one *conditional* transmission (CIT, section 4), which waits for a reception however many frames
//! are sent meanwhile. Refused operations leave the mode as it was. A [`Channel`] is one of the radio's own band: on a
//! 900 MHz radio it stands for the band's channel at its place ([`thalweg_units::Tuning`]); there are ten of them.

use thalweg_units::{Channel, Dbm, Duration, Instant};

/// Which radio of a node, 0 for its first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RadioId(pub u8);

/// An operation's name, chosen by the engine, to match its answer. Engines that do not need to
/// distinguish operations may use one name for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct OpId(pub u16);

/// A transmit buffer of a radio; the CC2420 has one, slot 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TxSlot(pub u8);

/// When a transmission begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// As soon as the radio can: after the strobe and the turnaround.
    Now,
    /// So that the frame's SFD *ends* on the air at this instant of the node's clock.
    At(Instant),
    /// So that the first preamble symbol follows the last byte of the good frame most recently
    /// received by this radio after this time: armed in hardware (a capture of the end of frame
    /// and a compare that strobes), free of software jitter. It must be submitted soon enough for
    /// the turnaround, else it is refused as late.
    AfterRx(Duration),
}

/// What a transmission does about a busy channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cca {
    /// Send without looking.
    Skip,
    /// Look just before calibrating for transmission; refuse with [`Refusal::ChannelBusy`].
    Require,
}

/// What a received frame must begin with for a conditional transmission to go out: these bytes,
/// `offset` bytes into the frame. Typically protocol and previous hop (CIT, figure 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition<'a> {
    /// Bytes of the frame in front of those compared.
    pub offset: u8,
    /// What must stand there; at most [`Condition::MAX_BYTES`].
    pub bytes: &'a [u8],
}

impl Condition<'_> {
    /// The most bytes that are compared: an interrupt handler reads them one by one.
    pub const MAX_BYTES: usize = 8;

    /// Whether a frame that begins with `head` meets it.
    pub fn holds(&self, head: &[u8]) -> bool {
        head.get(usize::from(self.offset)..)
            .is_some_and(|rest| rest.starts_with(self.bytes))
    }
}

/// What an engine wants of a radio. Each is answered by exactly one [`RadioEvent::Done`],
/// [`RadioEvent::Sent`], [`RadioEvent::Sensed`] or [`RadioEvent::Refused`] with the request's [`OpId`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RadioOp<'a> {
    /// Copies a frame into a transmit buffer: `load_base + len * load_byte` of bus time. `Done`
    /// when copied.
    Load {
        /// The buffer.
        slot: TxSlot,
        /// The frame, without FCS.
        mpdu: &'a [u8],
    },
    /// Sends what is in a buffer, which stays loaded and may be sent again. `Sent` after the last
    /// symbol.
    Transmit {
        /// The buffer; [`Refusal::Empty`] where nothing was loaded.
        slot: TxSlot,
        /// On which channel.
        channel: Channel,
        /// When.
        when: When,
        /// Whether to look first.
        cca: Cca,
    },
    /// Strobes first and copies the frame while the radio calibrates and sends (P3, section IV-G;
    /// Glossy): like `Load` and `Transmit` in one, without the bus time in front. `Sent` after the
    /// last symbol; the buffer of slot 0 holds the frame afterwards.
    Stream {
        /// The frame, without FCS.
        mpdu: &'a [u8],
        /// On which channel.
        channel: Channel,
        /// When.
        when: When,
        /// Whether to look first.
        cca: Cca,
    },
    /// Sends what is in a buffer as soon as a good frame has been received that meets `condition`:
    /// from the interrupt handler that follows its last byte, while that frame is still in the
    /// receive buffer; it is handed over as usual afterwards (conditional immediate transmission,
    /// CIT, section 4). Waits behind operations asked for before it. `Sent` after the last symbol.
    ///
    /// There is one at a time: another takes its place, and [`RadioOp::Cancel`] and
    /// [`RadioOp::Sleep`] end it; the one that was is answered `Refused(Superseded)`. Other frames
    /// may be loaded and sent while it waits: they overwrite the buffer, and the driver writes
    /// this one again once they are sent. A driver that does not copy ahead is correct, and slower.
    Conditional {
        /// The buffer; [`Refusal::Empty`] where nothing was loaded.
        slot: TxSlot,
        /// What a frame must begin with. [`Refusal::BadLength`] where it is too long.
        condition: Condition<'a>,
        /// On which channel.
        channel: Channel,
        /// Whether to look first.
        cca: Cca,
    },
    /// Of each frame received from now on, at most its first `bytes` are read out of the receive
    /// buffer, and the rest is flushed unread: [`RadioEvent::Frame`] gives no more. Everything is
    /// read until this says otherwise. `Done` at once.
    Readout {
        /// How many bytes.
        bytes: u8,
    },
    /// Sets the mode to receiving on `channel`; a reception in progress is aborted, even on the
    /// same channel. `Done` when the receiver is on (during a transmission: at once; the mode
    /// holds after it), `Refused(Superseded)` instead where the mode is sleeping by then.
    Listen {
        /// On which channel.
        channel: Channel,
        /// After how many bytes of a frame [`RadioEvent::Head`] is wanted; 0 for never.
        head_bytes: u8,
    },
    /// Sets the mode to sleeping and cancels pending and conditional transmissions. `Done` at once.
    Sleep,
    /// Cancels the pending and the conditional transmission, which are answered
    /// `Refused(Superseded)`; one already on the air goes on. `Done` at once.
    Cancel,
    /// Measures the power in the channel that the radio listens to, now: answered by
    /// [`RadioEvent::Sensed`].
    Sense,
    /// Carrier sense: measures as [`RadioOp::Sense`] does until the channel is clear, but not for
    /// ever. [`RadioEvent::Sensed`] gives the last reading. There is one at a time: another takes its
    /// place, and [`RadioOp::Cancel`] and [`RadioOp::Sleep`] end it; the one that was is answered
    /// `Refused(Superseded)`.
    Assess(Assessment),
    /// Sends an acknowledgement of the good frame received last, in the form and after the gap that
    /// the radio gives acknowledgements, without carrier sense. `Sent` after the last symbol;
    /// [`Refusal::Late`] where the gap has passed.
    Acknowledge {
        /// The acknowledgement, without FCS.
        mpdu: &'a [u8],
    },
    /// Which frames to report from now on: hardware address recognition. `Done` at once.
    Hear(Hear),
    /// From now on, so many preamble bytes go before every frame (low-power listening wants more
    /// than usual). `Done` at once.
    Preamble {
        /// How many.
        bytes: u16,
    },
    /// Who the radio is to good frames that ask for an acknowledgement: hardware, or the driver as
    /// soon as it has read the frame, acknowledges by itself. `Done` when it holds. Withholding is
    /// how a full queue pushes back (FastForward, section III-E).
    Answer(Answering),
}

impl<'a> RadioOp<'a> {
    /// Its frame, or what its condition compares; empty where it has neither.
    pub const fn bytes(&self) -> &'a [u8] {
        match *self {
            Self::Load { mpdu, .. } | Self::Stream { mpdu, .. } | Self::Acknowledge { mpdu } => {
                mpdu
            }
            Self::Conditional { condition, .. } => condition.bytes,
            _ => &[],
        }
    }

    /// The same operation with these bytes instead: for hosts that keep what waits for their software.
    pub const fn with_bytes(self, bytes: &[u8]) -> RadioOp<'_> {
        match self {
            Self::Load { slot, .. } => RadioOp::Load { slot, mpdu: bytes },
            Self::Transmit {
                slot,
                channel,
                when,
                cca,
            } => RadioOp::Transmit {
                slot,
                channel,
                when,
                cca,
            },
            Self::Stream {
                channel, when, cca, ..
            } => RadioOp::Stream {
                mpdu: bytes,
                channel,
                when,
                cca,
            },
            Self::Conditional {
                slot,
                condition,
                channel,
                cca,
            } => RadioOp::Conditional {
                slot,
                condition: Condition {
                    offset: condition.offset,
                    bytes,
                },
                channel,
                cca,
            },
            Self::Readout { bytes } => RadioOp::Readout { bytes },
            Self::Listen {
                channel,
                head_bytes,
            } => RadioOp::Listen {
                channel,
                head_bytes,
            },
            Self::Sleep => RadioOp::Sleep,
            Self::Cancel => RadioOp::Cancel,
            Self::Sense => RadioOp::Sense,
            Self::Assess(assessment) => RadioOp::Assess(assessment),
            Self::Acknowledge { .. } => RadioOp::Acknowledge { mpdu: bytes },
            Self::Hear(hear) => RadioOp::Hear(hear),
            Self::Preamble { bytes } => RadioOp::Preamble { bytes },
            Self::Answer(answering) => RadioOp::Answer(answering),
        }
    }
}

/// The samples of the channel that [`RadioOp::Assess`] takes. It ends at the first that is clear, at the first that
/// finds the receiver synchronised on a frame, and after the last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assessment {
    /// Samples at most; none counts as one.
    pub samples: u8,
    /// From one to the next.
    pub between: Duration,
    /// A sample of so much or less is clear.
    pub clear: Dbm,
}

/// Whether a radio acknowledges frames that ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Answering {
    /// It does not. Frames are reported all the same.
    #[default]
    Withheld,
    /// It does where they are addressed to this node ([`crate::Wants::address`]).
    Clear,
}

/// An operation, its name and the radio it is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request<'a> {
    /// Which of the node's radios.
    pub radio: RadioId,
    /// The operation's name.
    pub id: OpId,
    /// The operation.
    pub op: RadioOp<'a>,
}

impl<'a> Request<'a> {
    /// `op` for the first radio, under the name `id`.
    pub const fn new(id: OpId, op: RadioOp<'a>) -> Self {
        Self {
            radio: RadioId(0),
            id,
            op,
        }
    }
}

/// Why an operation was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Its time had passed, or could not be met any more, by this much.
    Late {
        /// How much too late.
        by: Duration,
    },
    /// The channel was busy and [`Cca::Require`] was asked for.
    ChannelBusy,
    /// Nothing was loaded, or nothing received that [`When::AfterRx`] could refer to.
    Empty,
    /// Another transmission, `Sleep` or `Cancel` took its place.
    Superseded,
    /// The frame is longer than [`thalweg_wire::phy::MAX_MPDU`], or empty.
    BadLength,
    /// This node has no such radio, buffer or channel, or the radio does not do it: what the engine
    /// did not name among its [`crate::Wants`], such as a channel of a later order.
    NoSuch,
}

/// Which frames a radio reports to its engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hear {
    /// All that are received: overhearing.
    #[default]
    Everything,
    /// Those addressed to the node or to all, and acknowledgements of its own frames.
    Addressed,
}

/// What a receiver is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It listens, or is off.
    Idle,
    /// It is synchronised on a frame.
    Receiving {
        /// When it synchronised.
        since: Instant,
    },
}

/// What a radio reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RadioEvent<'a> {
    /// The operation is done.
    Done {
        /// Which.
        op: OpId,
    },
    /// The frame is on its way: its last symbol has been sent.
    Sent {
        /// Which operation.
        op: OpId,
        /// When its SFD ended on the air.
        sfd: Instant,
    },
    /// What [`RadioOp::Sense`] or [`RadioOp::Assess`] measured.
    Sensed {
        /// Which operation.
        op: OpId,
        /// Power in the channel, noise included, as the chip's register gives it.
        power: Dbm,
        /// What the receiver is doing.
        activity: Activity,
    },
    /// The operation was not done.
    Refused {
        /// Which.
        op: OpId,
        /// Why.
        why: Refusal,
    },
    /// The first bytes of a frame that is still being received. Answer with `Listen` to abort it.
    Head {
        /// As many as [`RadioOp::Listen`] asked for, fewer where the frame is shorter.
        bytes: &'a [u8],
        /// When its SFD ended.
        sfd: Instant,
    },
    /// A frame was received and its FCS was right; what [`RadioOp::Readout`] asked for of it.
    Frame {
        /// The frame, without FCS.
        mpdu: &'a [u8],
        /// When its SFD ended.
        sfd: Instant,
        /// When its last byte ended.
        end: Instant,
        /// Received signal strength, 1 dB steps.
        rssi: Dbm,
        /// Link quality indication, as the chip gives it (CC2420: mean correlation, 50 to 110).
        lqi: u8,
    },
    /// A frame was received whose FCS was wrong, or its end was lost.
    Corrupt {
        /// When its SFD ended.
        sfd: Instant,
    },
}

impl RadioEvent<'_> {
    /// The operation that this event answers, if it answers one.
    pub const fn answers(&self) -> Option<OpId> {
        match self {
            Self::Done { op }
            | Self::Sent { op, .. }
            | Self::Sensed { op, .. }
            | Self::Refused { op, .. } => Some(*op),
            Self::Head { .. } | Self::Frame { .. } | Self::Corrupt { .. } => None,
        }
    }
}
