//! How often a node's program has begun again since power came, and why it did so last, as a node reports it in one byte.
//! Tests: at the end.

use core::fmt;

/// Why a program began again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The reset pin.
    Pin,
    /// The watchdog was not fed.
    Watchdog,
    /// A fault within a fault.
    Lockup,
    /// It panicked.
    Panic,
    /// The processor met an access or an instruction that it refuses.
    Fault,
    /// Its stack ran over.
    StackOverflow,
    /// It was asked to: by itself, a boot loader or a debugger.
    Asked,
    /// It was woken from being off.
    Wakened,
    /// Power came, or fell too low: the first start of those that are counted.
    PowerOn,
}

impl Cause {
    /// By code, those that a count goes with.
    const ALL: [Self; 8] = [
        Self::Pin,
        Self::Watchdog,
        Self::Lockup,
        Self::Panic,
        Self::Fault,
        Self::StackOverflow,
        Self::Asked,
        Self::Wakened,
    ];
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pin => "reset pin",
            Self::Watchdog => "watchdog",
            Self::Lockup => "lock-up",
            Self::Panic => "panic",
            Self::Fault => "fault",
            Self::StackOverflow => "stack overflow",
            Self::Asked => "asked to",
            Self::Wakened => "woken",
            Self::PowerOn => "power came",
        })
    }
}

/// Restarts of a node since power came, or that it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Restarts {
    last: Cause,
    count: u8,
}

impl Restarts {
    /// The most that are reported; stands for all above, too.
    pub const MOST: u8 = 31;

    /// Power came, and nothing since.
    pub const POWER_ON: Self = Self {
        last: Cause::PowerOn,
        count: 0,
    };

    /// `count` restarts, the last by `last`; none where there was none.
    pub const fn new(last: Cause, count: u32) -> Option<Self> {
        match count {
            _ if matches!(last, Cause::PowerOn) => Some(Self::POWER_ON),
            0 => None,
            1..=31 => Some(Self {
                last,
                count: count as u8,
            }),
            _ => Some(Self {
                last,
                count: Self::MOST,
            }),
        }
    }
    /// Why the last one was.
    pub const fn last(self) -> Cause {
        self.last
    }
    /// How many, 1 to [`Self::MOST`]; 0 of [`Self::POWER_ON`].
    pub const fn count(self) -> u8 {
        self.count
    }
    /// The byte that a report has.
    pub const fn code(self) -> u8 {
        match self.last {
            Cause::PowerOn => 0,
            last => (last as u8) << 5 | self.count,
        }
    }
    /// The restarts that `code` is of; none with a count of 0, but for 0.
    pub const fn of_code(code: u8) -> Option<Self> {
        if code == 0 {
            return Some(Self::POWER_ON);
        }
        Self::new(Cause::ALL[(code >> 5) as usize], (code & Self::MOST) as u32)
    }
}

impl fmt::Display for Restarts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { last, count } = self;
        match *count {
            0 => last.fmt(f),
            1 => write!(f, "{last}, 1 restart"),
            Self::MOST => write!(f, "{last}, {count} restarts or more"),
            _ => write!(f, "{last}, {count} restarts"),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn every_code_is_of_restarts_or_of_none() {
        for code in 0..=u8::MAX {
            let restarts = Restarts::of_code(code);
            assert_eq!(restarts.is_none(), code % 32 == 0 && code > 0);
            assert!(restarts.is_none_or(|restarts| restarts.code() == code));
        }
        let told = |cause, count| Restarts::new(cause, count).map(|restarts| restarts.to_string());
        assert_eq!(told(Cause::Panic, 0), None);
        assert_eq!(told(Cause::PowerOn, 0).as_deref(), Some("power came"));
        assert_eq!(
            told(Cause::Watchdog, 3).as_deref(),
            Some("watchdog, 3 restarts")
        );
        assert_eq!(told(Cause::Panic, 1).as_deref(), Some("panic, 1 restart"));
        assert_eq!(
            told(Cause::Pin, 99).as_deref(),
            Some("reset pin, 31 restarts or more")
        );
    }
}
