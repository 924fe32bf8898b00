//! The base station's end of a line: the master of a pseudo-terminal, or a TCP port that one host at a time
//! connects to: others wait until it goes, or is silent for [`SILENT`]. Tests: `tests/all/line/`.

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::{fcntl_getfl, fcntl_setfl, OFlags};
use rustix::pty::{grantpt, openpt, ptsname, unlockpt, OpenptFlags};
use rustix::termios::{tcgetattr, tcsetattr, OptionalActions};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thalweg_host::line::Stream;

/// A host says something every 500 ms; one that does not for so long has gone without a word.
const SILENT: Duration = Duration::from_secs(3);

/// The master of a pseudo-terminal.
#[derive(Debug)]
pub struct Pty {
    master: OwnedFd,
    /// Held open, so that the terminal outlives its hosts and stays raw.
    _terminal: OwnedFd,
    path: PathBuf,
}

impl Pty {
    /// Opens a pseudo-terminal.
    ///
    /// # Errors
    /// The system has none.
    pub fn open() -> io::Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let path = name.into_string().map_err(io::Error::other)?;
        let how = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = rustix::fs::open(&path, how, rustix::fs::Mode::empty())?;
        // Bytes as they are, and no echo before a host has come.
        let mut settings = tcgetattr(&terminal)?;
        settings.make_raw();
        tcsetattr(&terminal, OptionalActions::Now, &settings)?;
        let flags = fcntl_getfl(&master)?;
        fcntl_setfl(&master, flags | OFlags::NONBLOCK)?;
        Ok(Self {
            master,
            _terminal: terminal,
            path: PathBuf::from(path),
        })
    }
    /// Where a host finds it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Waits up to `within` until there is something to read.
fn wait(fd: impl AsFd, within: Duration) -> io::Result<()> {
    let until = Timespec::try_from(within).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&until)) {
        Ok(_) => Ok(()),
        Err(why) if why == rustix::io::Errno::INTR => Ok(()),
        Err(why) => Err(why.into()),
    }
}

impl Stream for Pty {
    fn read(&mut self, into: &mut [u8], within: Duration) -> io::Result<usize> {
        wait(&self.master, within)?;
        nothing(rustix::io::read(&self.master, into).map_err(io::Error::from))
    }
    /// Without a reader it fills up; the next host finds the end of the last session first.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        nothing(rustix::io::write(&self.master, bytes).map_err(io::Error::from))
    }
}

/// A wait that times out is no error.
fn nothing(done: io::Result<usize>) -> io::Result<usize> {
    match done {
        Err(why) if is_wait(&why) => Ok(0),
        other => other,
    }
}
fn is_wait(why: &io::Error) -> bool {
    use ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(why.kind(), TimedOut | WouldBlock | Interrupted)
}

/// A TCP port.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    /// The host that has the line, and when something came from it last.
    host: Option<(TcpStream, Instant)>,
}

impl Listener {
    /// Listens on `address`.
    ///
    /// # Errors
    /// The address is taken, or not this computer's.
    pub fn open(address: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            host: None,
        })
    }
    /// Where it listens.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    fn accept(&mut self) -> io::Result<()> {
        if (self.host.as_ref()).is_some_and(|(_, heard)| heard.elapsed() < SILENT) {
            return Ok(());
        }
        match self.listener.accept() {
            Ok((host, _)) => {
                host.set_nonblocking(true)?;
                host.set_nodelay(true)?;
                self.host = Some((host, Instant::now()));
                Ok(())
            }
            Err(why) if is_wait(&why) => Ok(()),
            Err(why) => Err(why),
        }
    }
}

impl Stream for Listener {
    fn read(&mut self, into: &mut [u8], within: Duration) -> io::Result<usize> {
        self.accept()?;
        let Some((host, heard)) = &mut self.host else {
            wait(&self.listener, within)?;
            return Ok(0);
        };
        wait(&*host, within)?;
        match Read::read(host, into) {
            Ok(0) => self.host = None,
            Ok(len) => {
                *heard = Instant::now();
                return Ok(len);
            }
            Err(why) if is_wait(&why) => {}
            Err(_) => self.host = None,
        }
        Ok(0)
    }
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Without a host bytes are lost, as on an unplugged line.
        let Some((host, _)) = &mut self.host else {
            return Ok(bytes.len());
        };
        match nothing(Write::write(host, bytes)) {
            Ok(len) => Ok(len),
            Err(_) => {
                self.host = None;
                Ok(bytes.len())
            }
        }
    }
}
