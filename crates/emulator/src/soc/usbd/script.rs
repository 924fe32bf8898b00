//! What a host asks of a new device (USB 2.0, 9.1.2 and 9.4; CDC 1.2 and PSTN 1.2 for the serial port), and learns.

use super::Way;

/// The device's address.
const ADDRESS: u8 = 5;
const DEVICE: u8 = 1;
const CONFIGURATION: u8 = 2;
const STRING: u8 = 3;
const INTERFACE: u8 = 4;
const ENDPOINT: u8 = 5;
/// 1,000,000 baud, one stop bit, no parity, eight bits (PSTN 1.2, 6.3.10).
const CODING: [u8; 7] = [0x40, 0x42, 0x0f, 0, 0, 0, 8];

/// What a device says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// Vendor and product by number.
    pub numbers: (u16, u16),
    /// The same by name, and its serial number.
    pub names: [String; 3],
}

/// All that is learned.
#[derive(Debug, Clone, Default)]
pub(super) struct Learned {
    pub(super) identity: Identity,
    strings: [u8; 3],
    total: u16,
    /// The serial port: its control interface, and endpoints in and out.
    control: u8,
    pub(super) bulk: Option<(usize, usize)>,
}

/// A step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Device(u16),
    Address,
    Head,
    Configuration,
    Languages,
    String(usize),
    Configure,
    Coding,
    /// DTR and RTS.
    Lines(u8),
}

/// The steps of enumeration. After the first the bus is reset again, as Linux does.
pub(super) const STEPS: [Step; 10] = [
    Step::Device(64),
    Step::Address,
    Step::Device(18),
    Step::Head,
    Step::Configuration,
    Step::Languages,
    Step::String(0),
    Step::String(1),
    Step::String(2),
    Step::Configure,
];

impl Step {
    /// The eight bytes that begin it, and data that go to the device.
    pub(super) fn setup(self, learned: &Learned) -> ([u8; 8], &'static [u8]) {
        let describe = |kind, index, language: u16, length: u16| {
            let ([a, b], [c, d]) = (language.to_le_bytes(), length.to_le_bytes());
            [0x80, 6, index, kind, a, b, c, d]
        };
        let of_port =
            |request, value, length| [0x21, request, value, 0, learned.control, 0, length, 0];
        match self {
            Self::Device(length) => (describe(DEVICE, 0, 0, length), &[]),
            Self::Address => ([0, 5, ADDRESS, 0, 0, 0, 0, 0], &[]),
            Self::Head => (describe(CONFIGURATION, 0, 0, 9), &[]),
            Self::Configuration => (describe(CONFIGURATION, 0, 0, learned.total), &[]),
            Self::Languages => (describe(STRING, 0, 0, 255), &[]),
            Self::String(n) => (describe(STRING, learned.strings[n], 0x409, 255), &[]),
            Self::Configure => ([0, 9, 1, 0, 0, 0, 0, 0], &[]),
            Self::Coding => (of_port(0x20, 0, CODING.len() as u8), &CODING),
            Self::Lines(lines) => (of_port(0x22, lines, 0), &[]),
        }
    }

    /// What came of it; an error says what is wrong with it.
    pub(super) fn learn(self, data: &[u8], learned: &mut Learned) -> Result<(), &'static str> {
        let word = |at: usize| {
            let word = data.get(at..at + 2).and_then(|two| two.try_into().ok());
            word.map(u16::from_le_bytes).ok_or("a short descriptor")
        };
        match self {
            Self::Device(_) => {
                learned.identity.numbers = (word(8)?, word(10)?);
                let strings = data.get(14..17).and_then(|three| three.try_into().ok());
                learned.strings = strings.ok_or("a short descriptor of the device")?;
            }
            Self::Head => learned.total = word(2)?,
            Self::Configuration if data.len() < usize::from(learned.total) => {
                return Err("a short configuration");
            }
            Self::Configuration => learned.configure(data)?,
            Self::String(n) => {
                let halves = data.get(2..).unwrap_or(&[]).chunks_exact(2);
                let halves: Vec<u16> = halves.map(|c| u16::from_le_bytes([c[0], c[1]])).collect();
                learned.identity.names[n] = String::from_utf16_lossy(&halves);
            }
            Self::Address | Self::Languages | Self::Configure | Self::Coding | Self::Lines(_) => (),
        }
        Ok(())
    }
}

impl Learned {
    fn configure(&mut self, mut data: &[u8]) -> Result<(), &'static str> {
        let (mut class, mut bulk) = ((0, 0), [None; 2]);
        while let [length, kind, rest @ ..] = data {
            match (*kind, rest) {
                (INTERFACE, [number, _, _, of, sub, ..]) => {
                    class = (*of, *sub);
                    if class == (2, 2) {
                        self.control = *number;
                    }
                }
                // Bulk, of the interface with the serial port's data.
                (ENDPOINT, [address, 2, ..]) if class.0 == 10 => {
                    let way = if address & 0x80 != 0 {
                        Way::ToHost
                    } else {
                        Way::FromHost
                    };
                    bulk[way as usize] = Some(usize::from(address & 7));
                }
                _ => (),
            }
            let behind = data.get(usize::from(*length).max(2)..);
            data = behind.ok_or("a descriptor that does not end")?;
        }
        let [to_host, from_host] = bulk;
        self.bulk = Some(to_host.zip(from_host).ok_or("no serial port")?);
        Ok(())
    }
}
