//! Why the node was reset, how often since power came, and what the program before left: a panic's message, a fault's place.
//!
//! What is left lies in RAM that no start-up code clears, behind a magic word and a check sum: what power brings there at
//! random is not taken for a message. A boot loader may overwrite it: then the reason is reported, and counting begins again.

use crate::checksum::crc32;
use crate::dma::Region;
use crate::registers::clock::RESETREAS;
use crate::Registers;
use core::fmt;
use thalweg_units::{Cause, Restarts};

/// Why the chip was reset (POWER 5.3.7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Power came, or fell too low.
    PowerOn,
    /// The reset pin.
    Pin,
    /// The watchdog.
    Watchdog,
    /// The program asked for it.
    Software,
    /// The processor locked up: a fault within a fault.
    Lockup,
    /// Woken from being off, by a pin, a comparator, NFC or USB power.
    Wakened,
    /// A debugger.
    Debugger,
}

impl Reason {
    /// Reads why, and clears it for the next time. The register gathers bits; the gravest counts.
    pub fn take(r: &mut impl Registers) -> Self {
        let bits = r.read(RESETREAS);
        r.write(RESETREAS, bits);
        let is = |bit: u32| bits & 1 << bit != 0;
        match () {
            () if is(1) => Self::Watchdog,
            () if is(3) => Self::Lockup,
            () if is(2) => Self::Software,
            () if is(0) => Self::Pin,
            () if is(18) => Self::Debugger,
            () if is(16) || is(17) || is(19) || is(20) => Self::Wakened,
            () => Self::PowerOn,
        }
    }
}

/// Words of the block: the number of restarts and its complement; magic, check sum, length and kind, message.
pub const BLOCK_WORDS: u32 = COUNT_WORDS + 3 + MESSAGE_BYTES as u32 / 4;
const COUNT_WORDS: u32 = 2;
/// The most of a message that is kept.
pub const MESSAGE_BYTES: usize = 116;
const MAGIC: u32 = 0x7468_6C21;

/// How the program before ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It panicked.
    Panic,
    /// Its stack ran over.
    StackOverflow,
    /// The processor refused an access or an instruction.
    Fault,
}

/// What a program finds at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Before {
    /// Why it starts.
    pub reason: Reason,
    /// What the one before left.
    pub remains: Option<Remains>,
    /// Starts since power came, but for the first.
    count: u32,
}

impl Before {
    /// Takes it, once, and counts this start in `block`.
    pub fn take(r: &mut impl Registers, block: Region) -> Self {
        let reason = Reason::take(r);
        let words = [0, 4].map(|offset| r.read(block.address() + offset));
        let count = match (reason, words) {
            (Reason::PowerOn, _) => 0,
            (_, [count, check]) if check == !count => count.saturating_add(1),
            _ => 1,
        };
        r.write(block.address(), count);
        r.write(block.address() + 4, !count);
        let remains = Remains::take(r, block);
        Self {
            reason,
            remains,
            count,
        }
    }
    /// How often the node has restarted since power came, or that it came.
    pub fn restarts(&self) -> Option<Restarts> {
        let cause = match (self.reason, self.remains.map(|remains| remains.kind)) {
            (Reason::PowerOn, _) => Cause::PowerOn,
            (Reason::Watchdog, _) => Cause::Watchdog,
            (Reason::Lockup, _) => Cause::Lockup,
            (Reason::Pin, _) => Cause::Pin,
            (Reason::Wakened, _) => Cause::Wakened,
            (_, Some(Kind::Panic)) => Cause::Panic,
            (_, Some(Kind::StackOverflow)) => Cause::StackOverflow,
            (_, Some(Kind::Fault)) => Cause::Fault,
            (Reason::Software | Reason::Debugger, None) => Cause::Asked,
        };
        Restarts::new(cause, self.count)
    }
}

/// What the program before left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remains {
    /// How it ended.
    pub kind: Kind,
    message: Message,
}

impl Remains {
    /// A message that fits what it is told of, cut where it is too long.
    pub fn new(kind: Kind, told: fmt::Arguments<'_>) -> Self {
        let mut message = Message::EMPTY;
        // What does not fit is left out.
        let _cut = fmt::write(&mut message, told);
        Self { kind, message }
    }
    /// Its message, in full characters.
    pub fn message(&self) -> &str {
        let kept = self.message.bytes.get(..usize::from(self.message.len));
        core::str::from_utf8(kept.unwrap_or_default()).unwrap_or_default()
    }

    /// Leaves it in `block` for the program after the reset.
    pub fn leave(&self, r: &mut impl Registers, block: Region) {
        let kind = match self.kind {
            Kind::Panic => 1,
            Kind::StackOverflow => 2,
            Kind::Fault => 3,
        };
        let Some((_, block)) = block.split(COUNT_WORDS) else {
            return;
        };
        let what = [kind, self.message.len, 0, 0];
        block.write(r, 8, &what);
        block.write(r, 12, &self.message.bytes);
        block.write(r, 4, &sum(what, &self.message.bytes).to_le_bytes());
        block.write(r, 0, &MAGIC.to_le_bytes());
    }

    /// Takes what the program before left in `block`, once.
    fn take(r: &mut impl Registers, block: Region) -> Option<Self> {
        let (_, block) = block.split(COUNT_WORDS)?;
        let mut head = [0; 12];
        block.read(r, 0, &mut head);
        block.write(r, 0, &[0; 4]);
        let [m0, m1, m2, m3, s0, s1, s2, s3, kind, len, zero0, zero1] = head;
        let mut bytes = [0; MESSAGE_BYTES];
        block.read(r, 12, &mut bytes);
        let is_whole = u32::from_le_bytes([m0, m1, m2, m3]) == MAGIC
            && u32::from_le_bytes([s0, s1, s2, s3]) == sum([kind, len, zero0, zero1], &bytes);
        let kind = match kind {
            1 => Kind::Panic,
            2 => Kind::StackOverflow,
            3 => Kind::Fault,
            _ => return None,
        };
        is_whole.then_some(Self {
            kind,
            message: Message { bytes, len },
        })
    }
}

fn sum(what: [u8; 4], message: &[u8; MESSAGE_BYTES]) -> u32 {
    let [a, b, c, d] = crc32(message).to_le_bytes();
    let [kind, len, e, f] = what;
    crc32(&[a, b, c, d, kind, len, e, f])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Message {
    bytes: [u8; MESSAGE_BYTES],
    len: u8,
}

impl Message {
    const EMPTY: Self = Self {
        bytes: [0; MESSAGE_BYTES],
        len: 0,
    };
}

impl fmt::Write for Message {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        for c in s.chars() {
            let at = usize::from(self.len);
            let room = self
                .bytes
                .get_mut(at..at + c.len_utf8())
                .ok_or(fmt::Error)?;
            self.len += c.encode_utf8(room).len() as u8;
        }
        Ok(())
    }
}
