//! When frames follow one another: the arithmetic that all stages share.
//!
//! A slot is a frame's air time and the pause until it goes out again; SFDs of one sender are a
//! period apart. All times are between SFDs. The symbols: T_c, data slot; tau_r, request slot; tau_n,
//! NACK slot; s, slots from one frame to the next of the same sender where slots are alike (1, or 2
//! where relays cannot receive while they send); c, copies of a control frame, one per group. The
//! pauses are the board's ([`BoardTiming::relaying`]); where its software overlaps with the air, all
//! are the relay gap.

use super::adaptation::Beat;
use super::session::{Lengths, Session, MIN_NACK_BODY};
use thalweg_engine::{BoardTiming, Passing};
use thalweg_units::Duration;
use thalweg_wire::phy::{air_time, SFD_OFFSET, SYMBOL};
use thalweg_wire::pipeline::{NACK_BODY_BYTES, REQUEST_BODY_BYTES};
use thalweg_wire::route::Groups;

/// The slots of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cadence {
    hops: u8,
    /// Between a frame's last byte in and the first preamble symbol out, where it is copied.
    gap: Duration,
    /// Between its last byte out and the next frame in.
    back: Duration,
    /// Between two frames of a node whose neighbour does not relay them.
    alone: Duration,
    /// How long before an SFD nodes retune.
    ahead: Duration,
    /// Of packets that wait in relays for the next one.
    held: Option<Held>,
    /// How much longer the gap is for requests and NACKs, in symbols: a MIC is checked, or made, meanwhile.
    mic_symbols: u8,
    /// Bytes of a data frame.
    data_bytes: u8,
    /// Bytes of a request.
    request_bytes: u8,
    /// The most bytes of a NACK.
    max_nack_bytes: u8,
    /// The fewest bytes of a NACK.
    min_nack_bytes: u8,
    /// Bytes of a NACK before its vector.
    nack_fixed_bytes: u8,
    groups: Groups,
}

/// What differs where each packet waits in relays until the next has come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    /// From one packet to the next of the same sender.
    period: Duration,
    /// Between the last byte of a request in and its first preamble symbol out: first goes what is
    /// held, and the request follows as the next packet would.
    request_gap: Duration,
    /// How much later than a packet a request begins, so that it does not end sooner: its end sends
    /// on what is held, and the stage after must have passed on the packet before that.
    shorter_by: Duration,
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
        let (hops, payload) = (session.hops, session.payload.bytes());
        let header_bytes = session.format.header_bytes();
        let data_bytes = header_bytes + usize::from(payload);
        let mic_bytes = usize::from(session.mic_bytes);
        let nack_fixed_bytes =
            header_bytes + NACK_BODY_BYTES + usize::from(session.note_bytes) + mic_bytes;
        let alike = session.policy.lengths == Lengths::Equal;
        let at_least = |bytes: usize| match session.policy.lengths {
            Lengths::AsNeeded => bytes,
            // Data frames of a few bytes are no room for control.
            Lengths::Whole => bytes.max(data_bytes),
            Lengths::Equal => data_bytes,
        };
        let request_bytes =
            header_bytes + REQUEST_BODY_BYTES + usize::from(session.count_bytes) + mic_bytes;
        let request_bytes = at_least(request_bytes);
        let max_nack_bytes = header_bytes + usize::from(payload.max(MIN_NACK_BODY));
        let longest = data_bytes.max(request_bytes).max(max_nack_bytes);
        let copied = timing.relaying(longest, Passing::Copied);
        // Two groups take turns in slots that are alike, and so does a grid.
        let (back, alone) = match alike || session.groups == Groups::Two {
            true => (copied.forth, copied.forth),
            false => (copied.back, copied.alone),
        };
        let held = (session.policy.passing == Passing::Conditional && hops > 1).then(|| {
            let period = |bytes| timing.relaying(bytes, Passing::Conditional).period(bytes);
            let forth = timing.relaying(data_bytes, Passing::Conditional).forth;
            let shorter_by = air_time(data_bytes).saturating_sub(air_time(request_bytes));
            Held {
                period: period(data_bytes),
                request_gap: forth + period(data_bytes.max(request_bytes)) + shorter_by,
                shorter_by,
            }
        });
        Self {
            hops,
            gap: copied.forth,
            mic_symbols: 0,
            back,
            alone,
            // Half way between the last byte before and the latest moment to retune.
            ahead: SFD_OFFSET + timing.turnaround + timing.forward_software / 2,
            held,
            data_bytes: data_bytes as u8,
            request_bytes: request_bytes as u8,
            max_nack_bytes: max_nack_bytes as u8,
            min_nack_bytes: at_least(nack_fixed_bytes) as u8,
            nack_fixed_bytes: nack_fixed_bytes as u8,
            groups: session.groups,
        }
    }
    /// The same where requests and NACKs have MICs, over which a node takes so many symbols.
    #[must_use]
    pub const fn with_mics(mut self, symbols: u8) -> Self {
        self.mic_symbols = symbols;
        self
    }
    /// s.
    const fn stride(&self) -> u8 {
        match self.groups {
            Groups::One if self.hops > 1 => 2,
            Groups::One | Groups::Two => 1,
        }
    }

    /// The slot of a request or NACK of `mpdu_bytes` that is copied: air time and the pause before it goes on.
    pub fn slot(&self, mpdu_bytes: usize) -> Duration {
        air_time(mpdu_bytes) + self.control_gap()
    }
    /// From one copied frame of `mpdu_bytes` to the next of the same sender.
    fn period(&self, mpdu_bytes: usize) -> Duration {
        let air = air_time(mpdu_bytes);
        match self.stride() {
            1 => air + self.alone,
            _ => air * 2 + self.gap + self.back,
        }
    }
    /// What an adaptation must know of the schedule of `session`, which this is.
    pub fn beat(&self, session: &Session) -> Beat {
        Beat {
            start: session.start,
            cycle: self.cycle(),
            ahead: self.ahead,
            silence: self.silence(),
        }
    }
    /// How long all stages pause for the destination's NACK to the source, once over each group, and to turn to what
    /// they keep: H tau_n + (c - 1) s tau_n + gap.
    pub fn pause(&self) -> Duration {
        let bytes = self.nack_bytes(0);
        let copies = u64::from(self.copies().saturating_sub(1));
        self.slot(bytes) * u64::from(self.hops)
            + self.nack_period(bytes) * copies
            + self.control_gap()
    }
    /// T_c (P3, section IV-B: a pipeline cycle).
    pub fn cycle(&self) -> Duration {
        air_time(self.data_bytes()) + self.gap
    }
    /// tau_r.
    pub fn request_slot(&self) -> Duration {
        self.slot(self.request_bytes())
    }
    /// Bytes of a data frame.
    pub const fn data_bytes(&self) -> usize {
        self.data_bytes as usize
    }
    /// Bytes that a request is padded to.
    pub const fn request_bytes(&self) -> usize {
        self.request_bytes as usize
    }
    /// Bytes of a NACK with a vector of `vector_bytes`.
    pub fn nack_bytes(&self, vector_bytes: usize) -> usize {
        (usize::from(self.nack_fixed_bytes) + vector_bytes).max(self.min_nack_bytes.into())
    }
    /// Between a copied frame's last byte in and its first preamble symbol out.
    pub const fn gap(&self) -> Duration {
        self.gap
    }
    /// The same of a NACK.
    pub fn control_gap(&self) -> Duration {
        self.gap + self.mic_time()
    }
    fn mic_time(&self) -> Duration {
        SYMBOL * u64::from(self.mic_symbols)
    }
    /// The same of a request.
    pub fn request_gap(&self) -> Duration {
        self.held
            .map_or(self.control_gap(), |held| held.request_gap)
    }
    /// From a request's SFD at a relay to its SFD at the next stage.
    fn request_hop(&self) -> Duration {
        air_time(self.request_bytes()) + self.request_gap()
    }
    /// From now to the SFD of a frame that is ordered now, at least: gap and preamble.
    pub fn lead(&self) -> Duration {
        self.gap + SFD_OFFSET
    }
    /// c.
    pub const fn copies(&self) -> u8 {
        match self.groups {
            Groups::One => 1,
            Groups::Two => 2,
        }
    }
    /// From one data frame to the next of the same sender: s T_c where slots are alike.
    pub fn data_period(&self) -> Duration {
        let held = self.held.map(|held| held.period);
        held.unwrap_or_else(|| self.period(self.data_bytes()))
    }
    /// From one data frame to the next that a relay forwards: two slots with one group and with two.
    pub fn relay_period(&self) -> Duration {
        match self.stride() {
            1 => self.cycle() * 2,
            _ => self.data_period(),
        }
    }
    /// From one NACK frame to the next, where frames have `mpdu_bytes`: s tau_n where slots are alike.
    pub fn nack_period(&self, mpdu_bytes: usize) -> Duration {
        self.period(mpdu_bytes) + self.mic_time()
    }

    /// How much later than the next data frame a request begins so that it never catches up with
    /// the data ahead of it, which is slower: (H - s) (T_c - tau_r). It arrives at the
    /// destination in the very slot after the data all the same. Where packets are held, it stays
    /// as far behind as it begins, and ends when a packet would.
    pub fn request_delay(&self) -> Duration {
        if let Some(held) = self.held {
            return held.shorter_by;
        }
        let catch_up = self.cycle().saturating_sub(self.request_slot());
        catch_up * u64::from(self.hops.saturating_sub(self.stride()))
    }

    /// The NACKs of a transfer of `packets`.
    pub fn nack_shape(&self, packets: u16) -> NackShape {
        let all = usize::from(packets.div_ceil(8).max(1));
        let room = usize::from(self.max_nack_bytes - self.nack_fixed_bytes);
        let vector_bytes = all.min(room);
        NackShape {
            vector_bytes,
            segments: all.div_ceil(vector_bytes) as u16,
        }
    }

    /// From the SFD of the first copy of a request to the end of the slot of the last NACK frame,
    /// at the source, where every segment of a transfer of `packets` is sent:
    /// (H - 1 + c) tau_r + (H - 1) tau_n + (F - 1) s tau_n + tau_n, F = c times the segments; relays
    /// that hold packets take longer over a request than tau_r.
    pub fn answer_within(&self, packets: u16) -> Duration {
        self.answer_of(packets, self.nack_shape(packets).segments)
    }
    /// The same of so many of its segments as say that it is on its way.
    pub fn answer_begins_within(&self, packets: u16) -> Duration {
        self.answer_of(packets, self.nack_shape(packets).segments.min(2))
    }
    fn answer_of(&self, packets: u16, segments: u16) -> Duration {
        let shape = self.nack_shape(packets);
        let nack_bytes = self.nack_bytes(shape.vector_bytes);
        let (hops, copies) = (u64::from(self.hops), u64::from(self.copies()));
        let frames = u64::from(segments) * copies;
        self.request_hop() * (hops - 1)
            + self.request_slot() * copies
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
    /// The same of the source's release, which it sends instead: to when stage `away` has sent on its last copy.
    pub fn released_after(&self, mpdu_bytes: usize, away: u8, following: u8) -> Duration {
        let copies = u64::from(self.copies());
        self.round_after(mpdu_bytes, away, following, 1)
            + self.request_hop() * u64::from(away.max(1) - 1)
            + self.request_slot() * (copies + 1)
    }
    /// The longest silence of an undisturbed exchange before a NACK, and a few cycles more: a request to
    /// the destination and the answer. A NACK tells when the next packet is due.
    fn silence(&self) -> Duration {
        let hops = u64::from(self.hops);
        self.request_slot() * (hops + 2)
            + self.slot(self.max_nack_bytes.into()) * hops
            + self.cycle() * 4
    }

    /// From the SFD of the source's release to the end of the slot of its last copy at the destination.
    pub fn release(&self) -> Duration {
        let (hops, copies) = (u64::from(self.hops), u64::from(self.copies()));
        self.request_hop() * (hops - 1) + self.request_slot() * copies
    }
    /// From the last data frame's SFD of a round to the first of the next, where the first NACK
    /// frames are heard and `nack_bytes` long in `frames` frames.
    pub fn exchange(&self, nack_bytes: usize, frames: u64) -> Duration {
        let (hops, copies) = (u64::from(self.hops), u64::from(self.copies()));
        self.data_period()
            + self.request_delay()
            + self.request_hop() * (hops - 1)
            + self.request_slot() * copies
            + self.slot(nack_bytes) * hops
            + self.nack_period(nack_bytes) * (frames - 1)
    }
}
