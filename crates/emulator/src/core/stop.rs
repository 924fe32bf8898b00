//! Why an instruction failed, and where: a fault, whose handler runs, or an instruction that stops the interpreter.

use std::fmt;

/// What went wrong in an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No such instruction on an ARMv7E-M with FPv4-SP; its half-words, the first one on top of a wide one.
    Undefined {
        /// The instruction.
        word: u32,
    },
    /// An instruction that the architecture has, and this interpreter does not: say so rather than guess.
    Unsupported {
        /// The instruction.
        word: u32,
    },
    /// An access that must be aligned and is not (ARMv7-M ARM, A3.2.1).
    Unaligned {
        /// The address.
        address: u32,
    },
    /// Nothing answers at this address.
    Bus {
        /// The address.
        address: u32,
    },
    /// The memory protection unit forbids the access: a stack guard was met.
    Protected {
        /// The address.
        address: u32,
    },
    /// A branch to an address without the Thumb bit (B1.4.7).
    NotThumb {
        /// The address.
        address: u32,
    },
    /// A floating-point instruction while `CPACR` has the unit off (B3.2.20).
    FloatOff,
    /// `BKPT`.
    Breakpoint {
        /// Its number.
        number: u8,
    },
    /// An exception return that the present state does not allow (B1.5.8).
    BadReturn {
        /// The value that was branched to.
        value: u32,
    },
    /// An exception that cannot be taken at the present priority, and would be a HardFault (B1.5.14).
    Escalated {
        /// The exception's number.
        exception: u16,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Undefined { word } => write!(f, "undefined instruction {word:#x}"),
            Self::Unsupported { word } => write!(f, "instruction {word:#x} is not modelled"),
            Self::Unaligned { address } => write!(f, "unaligned access at {address:#010x}"),
            Self::Bus { address } => write!(f, "nothing answers at {address:#010x}"),
            Self::Protected { address } => write!(f, "protected memory at {address:#010x}"),
            Self::NotThumb { address } => write!(f, "branch to {address:#010x}, not Thumb"),
            Self::FloatOff => f.write_str("the floating-point unit is off"),
            Self::Breakpoint { number } => write!(f, "breakpoint {number}"),
            Self::BadReturn { value } => write!(f, "no exception return by {value:#010x}"),
            Self::Escalated { exception } => write!(f, "exception {exception} cannot be taken"),
        }
    }
}

/// An instruction that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// Address of the instruction.
    pub pc: u32,
    /// Why.
    pub fault: Fault,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by the instruction at {:#010x}", self.fault, self.pc)
    }
}
impl std::error::Error for Stop {}
