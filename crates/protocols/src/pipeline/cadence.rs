//! When frames follow one another: the arithmetic that all stages share.
//!
//! A slot is a frame's air time and the relay gap; SFDs of one sender are whole slots apart. All
//! times are between SFDs. The symbols: T_c, data slot; tau_r, request slot; tau_n, NACK slot;
//! s, slots from one frame to the next of the same sender (1, or 2 where relays cannot receive
//! while they send); c, copies of a control frame, one per group.

use super::session::Session;
use crate::blocks::Blocks;
use thalweg_engine::BoardTiming;
use thalweg_units::Duration;
use thalweg_wire::phy::{air_time, SFD_OFFSET};
use thalweg_wire::pipeline::{NACK_BODY_BYTES, REQUEST_BODY_BYTES};
use thalweg_wire::route::{Groups, Hopping, Recovery};

/// NACKs of transfers with a smaller payload than this are as long as if it were so large: a
/// vector of a few bits would make trains of hundreds of frames.
const MIN_NACK_BODY: usize = 32;

/// The slots of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cadence {
    hops: u8,
    /// Between a frame's last byte in and the first preamble symbol out.
    gap: Duration,
    /// Bytes of a data frame.
    data_bytes: usize,
    /// Bytes of a request.
    request_bytes: usize,
    /// The most bytes of a NACK.
    max_nack_bytes: usize,
    /// The fewest bytes of a NACK.
    min_nack_bytes: usize,
    /// Bytes of a NACK before its vector.
    nack_fixed_bytes: usize,
    /// What NACKs tell of what is missing.
    recovery: Recovery,
    /// s.
    stride: u8,
    /// c.
    copies: u8,
}

/// The NACKs of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NackShape {
    /// Bytes of the vector in each segment.
    pub vector_bytes: usize,
    /// How many segments cover all packets.
    pub segments: u16,
}

impl Cadence {
    /// The slots of `session` on boards of `timing`.
    pub fn new(session: &Session, timing: &BoardTiming) -> Self {
        let payload = usize::from(session.payload.bytes());
        let header_bytes = session.format.header_bytes();
        let data_bytes = header_bytes + payload;
        let directive = usize::from(session.directs());
        let nack_fixed_bytes = header_bytes + NACK_BODY_BYTES + directive;
        let hopping = session.policy.hopping == Hopping::EveryCyclePair;
        let hops = session.hops();
        Self {
            hops,
            gap: timing.relay_gap(),
            data_bytes,
            // With hopping, every frame keeps to the grid of data cycles.
            request_bytes: if hopping {
                data_bytes
            } else {
                header_bytes + REQUEST_BODY_BYTES
            },
            max_nack_bytes: header_bytes + payload.max(MIN_NACK_BODY),
            min_nack_bytes: if hopping {
                data_bytes
            } else {
                nack_fixed_bytes
            },
            nack_fixed_bytes,
            recovery: session.recovery,
            stride: if session.groups == Groups::One && hops > 1 {
                2
            } else {
                1
            },
            copies: if session.groups == Groups::One { 1 } else { 2 },
        }
    }

    /// The slot of a frame of `mpdu_bytes`: air time and relay gap.
    pub fn slot(&self, mpdu_bytes: usize) -> Duration {
        air_time(mpdu_bytes) + self.gap
    }
    /// T_c (P3, section IV-B: a pipeline cycle).
    pub fn cycle(&self) -> Duration {
        self.slot(self.data_bytes)
    }
    /// tau_r.
    pub fn request_slot(&self) -> Duration {
        self.slot(self.request_bytes)
    }
    /// Bytes of a data frame.
    pub const fn data_bytes(&self) -> usize {
        self.data_bytes
    }
    /// Bytes that a request is padded to.
    pub const fn request_bytes(&self) -> usize {
        self.request_bytes
    }
    /// Bytes that a NACK is padded to at least.
    pub const fn min_nack_bytes(&self) -> usize {
        self.min_nack_bytes
    }
    /// The relay gap.
    pub const fn gap(&self) -> Duration {
        self.gap
    }
    /// From now to the SFD of a frame that is ordered now, at least: relay gap and preamble.
    pub fn lead(&self) -> Duration {
        self.gap + SFD_OFFSET
    }
    /// c.
    pub const fn copies(&self) -> u8 {
        self.copies
    }
    /// From one data frame to the next of the same sender: s T_c.
    pub fn data_period(&self) -> Duration {
        self.cycle() * u64::from(self.stride)
    }
    /// From one data frame to the next that a relay forwards: 2 T_c with one group and with two.
    pub fn relay_period(&self) -> Duration {
        self.cycle() * 2
    }
    /// From one NACK frame to the next, where frames have `mpdu_bytes`: s tau_n.
    pub fn nack_period(&self, mpdu_bytes: usize) -> Duration {
        self.slot(mpdu_bytes) * u64::from(self.stride)
    }

    /// How much later than the next data frame a request begins so that it never catches up with
    /// the data ahead of it, which is slower: (H - s) (T_c - tau_r). It arrives at the
    /// destination in the very slot after the data all the same.
    pub fn request_delay(&self) -> Duration {
        let catch_up = self.cycle().saturating_sub(self.request_slot());
        catch_up * u64::from(self.hops.saturating_sub(self.stride))
    }

    /// The NACKs of a transfer of `packets`.
    pub fn nack_shape(&self, packets: u16) -> NackShape {
        let all = match self.recovery {
            Recovery::Rounds => packets.div_ceil(8),
            Recovery::Blocks { most, .. } => Blocks::new(packets, most).count(),
            Recovery::Fountain { .. } => {
                return NackShape {
                    vector_bytes: 0,
                    segments: 1,
                };
            }
        };
        let room = self.max_nack_bytes - self.nack_fixed_bytes;
        let all = usize::from(all.max(1));
        let vector_bytes = all.min(room);
        NackShape {
            vector_bytes,
            segments: all.div_ceil(vector_bytes) as u16,
        }
    }

    /// From the SFD of the first copy of a request to the end of the slot of the last NACK frame,
    /// at the source, where every segment of a transfer of `packets` is sent:
    /// (H - 1 + c) tau_r + (H - 1) tau_n + (F - 1) s tau_n + tau_n, F = c times the segments.
    pub fn answer_within(&self, packets: u16) -> Duration {
        let shape = self.nack_shape(packets);
        let nack_bytes = (self.nack_fixed_bytes + shape.vector_bytes).max(self.min_nack_bytes);
        let (hops, copies) = (u64::from(self.hops), u64::from(self.copies));
        let frames = u64::from(shape.segments) * copies;
        self.request_slot() * (hops - 1 + copies)
            + self.slot(nack_bytes) * hops
            + self.nack_period(nack_bytes) * (frames - 1)
    }

    /// From the SFD of a NACK frame of `mpdu_bytes`, which is `away` hops from the source's ears and has
    /// `following` more behind it, to that of the next round's first data frame at `stage`.
    pub fn round_after(&self, mpdu_bytes: usize, away: u8, following: u8, stage: u8) -> Duration {
        self.slot(mpdu_bytes) * (u64::from(away) + 1)
            + self.nack_period(mpdu_bytes) * u64::from(following)
            + self.cycle() * u64::from(stage.max(1) - 1)
    }
    /// The longest silence of an undisturbed exchange, and a few cycles more.
    pub fn silence(&self) -> Duration {
        let hops = u64::from(self.hops);
        self.request_slot() * (hops + 2) + self.slot(self.max_nack_bytes) * hops + self.cycle() * 4
    }

    /// How many packets could be sent in the time of an exchange in a transfer of `packets`.
    pub fn cycles_of_exchange(&self, packets: u16) -> u16 {
        let shape = self.nack_shape(packets);
        let nack_bytes = self.nack_fixed_bytes + shape.vector_bytes;
        let frames = u64::from(shape.segments) * u64::from(self.copies);
        let exchange = self.exchange(nack_bytes, frames).as_nanos();
        u16::try_from(exchange / self.data_period().as_nanos()).unwrap_or(u16::MAX)
    }

    /// From the last data frame's SFD of a round to the first of the next, where the first NACK
    /// frames are heard and `nack_bytes` long in `frames` frames.
    pub fn exchange(&self, nack_bytes: usize, frames: u64) -> Duration {
        let (hops, copies) = (u64::from(self.hops), u64::from(self.copies));
        self.data_period()
            + self.request_delay()
            + self.request_slot() * (hops - 1 + copies)
            + self.slot(nack_bytes) * hops
            + self.nack_period(nack_bytes) * (frames - 1)
    }
}
