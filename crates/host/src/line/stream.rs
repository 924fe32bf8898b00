//! Streams of bytes to a base station: serial ports, pseudo-terminals and TCP. Reads and writes wait a bounded
//! time. Tests: at the end, and `crates/simnet/tests/all/line/`.

use rustix::fs::{flock, FlockOperation, Mode, OFlags};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long opening a TCP stream takes at most.
const CONNECTING: Duration = Duration::from_secs(2);
/// How long a write waits for room at most.
const WRITING: Duration = Duration::from_millis(50);

/// Both directions of a line.
pub trait Stream: Send {
    /// Reads available bytes into `into`, waiting up to `within`; 0 where none came.
    ///
    /// # Errors
    /// The line is gone.
    fn read(&mut self, into: &mut [u8], within: Duration) -> io::Result<usize>;
    /// Writes the front of `bytes` as far as there is room, and says how much.
    ///
    /// # Errors
    /// The line is gone.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
}

/// Opens a line, and opens it again after it was gone.
pub trait Open: Send {
    /// Its name for people.
    fn address(&self) -> String;
    /// Opens it.
    ///
    /// # Errors
    /// It is not there, or may not be opened; [`ErrorKind::ResourceBusy`] where another program has it.
    fn open(&self) -> io::Result<Box<dyn Stream>>;
}

/// Where a base station is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A serial port or a pseudo-terminal, and its speed in baud.
    Serial(PathBuf, u32),
    /// A TCP stream.
    Tcp(String),
}

/// Why something is no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It is empty.
    #[error("wanted a serial port such as /dev/ttyUSB0, or tcp:HOST:PORT")]
    Empty,
    /// No port behind the host.
    #[error("wanted tcp:HOST:PORT")]
    NoPort,
}

impl Address {
    /// `text` as a path, or behind `tcp:` as host and port; ports at `baud`.
    ///
    /// # Errors
    /// [`AddressError`].
    pub fn parse(text: &str, baud: u32) -> Result<Self, AddressError> {
        match text.strip_prefix("tcp:") {
            _ if text.is_empty() => Err(AddressError::Empty),
            None => Ok(Self::Serial(PathBuf::from(text), baud)),
            Some(address) => {
                let port = address
                    .rsplit_once(':')
                    .map(|(_, port)| port.parse::<u16>());
                match port {
                    Some(Ok(_)) => Ok(Self::Tcp(address.to_owned())),
                    _ => Err(AddressError::NoPort),
                }
            }
        }
    }

    /// Whether it leads to another machine, as far as its text says: a name other than `localhost` may.
    pub fn is_elsewhere(&self) -> bool {
        let Self::Tcp(address) = self else {
            return false;
        };
        let host = address.rsplit_once(':').map_or("", |(host, _)| host);
        let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
        match ip {
            Ok(ip) => !ip.to_canonical().is_loopback(),
            Err(_) => !host.eq_ignore_ascii_case("localhost"),
        }
    }
}

impl Open for Address {
    fn address(&self) -> String {
        match self {
            Self::Serial(path, _) => path.display().to_string(),
            Self::Tcp(address) => address.clone(),
        }
    }
    fn open(&self) -> io::Result<Box<dyn Stream>> {
        match self {
            Self::Serial(path, baud) => {
                let lock = lock(path)?;
                let mut port = serial2::SerialPort::open(path, *baud)?;
                port.set_write_timeout(WRITING)?;
                Ok(Box::new(Serial { port, _lock: lock }))
            }
            Self::Tcp(address) => {
                let nowhere = || io::Error::new(ErrorKind::NotFound, "no such host");
                let place = address.to_socket_addrs()?.next().ok_or_else(nowhere)?;
                let stream = TcpStream::connect_timeout(&place, CONNECTING)?;
                stream.set_nodelay(true)?;
                stream.set_write_timeout(Some(WRITING))?;
                Ok(Box::new(stream))
            }
        }
    }
}

struct Serial {
    port: serial2::SerialPort,
    /// Held while the port is open.
    _lock: OwnedFd,
}

/// Takes the port at `path`, as terminal programs do (`flock`): before it is opened, which may change its speed.
fn lock(path: &Path) -> io::Result<OwnedFd> {
    let how = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let port = rustix::fs::open(path, how, Mode::empty())?;
    match flock(&port, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(port),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let why = "another program has it";
            Err(io::Error::new(ErrorKind::ResourceBusy, why))
        }
        Err(why) => Err(why.into()),
    }
}

impl Stream for Serial {
    fn read(&mut self, into: &mut [u8], within: Duration) -> io::Result<usize> {
        self.port.set_read_timeout(within)?;
        end_as_error(self.port.read(into))
    }
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        timeout_as_zero(self.port.write(bytes))
    }
}

impl Stream for TcpStream {
    fn read(&mut self, into: &mut [u8], within: Duration) -> io::Result<usize> {
        self.set_read_timeout(Some(within.max(Duration::from_millis(1))))?;
        end_as_error(Read::read(self, into))
    }
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        timeout_as_zero(Write::write(self, bytes))
    }
}

/// A read of no bytes is the end of the stream.
fn end_as_error(read: io::Result<usize>) -> io::Result<usize> {
    match read {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        other => timeout_as_zero(other),
    }
}

/// A timeout is no error.
fn timeout_as_zero(done: io::Result<usize>) -> io::Result<usize> {
    use ErrorKind::{Interrupted, TimedOut, WouldBlock};
    match done {
        Err(why) if matches!(why.kind(), TimedOut | WouldBlock | Interrupted) => Ok(0),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_ports_or_tcp() {
        let of = |text| Address::parse(text, 115_200);
        let port = Address::Serial(PathBuf::from("/dev/ttyUSB0"), 115_200);
        assert_eq!(of("/dev/ttyUSB0"), Ok(port));
        assert_eq!(of("tcp:[::1]:99"), Ok(Address::Tcp("[::1]:99".to_owned())));
        assert_eq!(of(""), Err(AddressError::Empty));
        for bad in ["tcp:", "tcp:host", "tcp:host:x", "tcp:host:99999"] {
            assert_eq!(of(bad), Err(AddressError::NoPort), "{bad}");
        }
    }

    #[test]
    fn what_is_not_there_is_not_opened() {
        let nowhere = Address::Serial(PathBuf::from("/dev/no-such-port"), 9_600);
        assert!(nowhere.open().is_err());
    }
}
