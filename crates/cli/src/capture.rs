//! The file of `--pcap`: whole or not there, and no write error is lost on the way.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg_sim::{Capture as Frames, CaptureError, Pcapng, Scope};
use thalweg_testbeds::Node;

use crate::failure::Failure;
use crate::output::{cannot_write, WholeFile};

/// A capture file that is being written.
#[derive(Debug)]
pub(crate) struct Capture {
    path: PathBuf,
    whole: WholeFile,
    sink: Arc<Mutex<Sink>>,
}

#[derive(Debug)]
struct Sink {
    writer: BufWriter<File>,
    /// The first error; the writer is handed to a simulation that may not pass it on.
    error: Option<io::Error>,
}

/// What the simulation writes its frames to.
#[derive(Debug)]
struct Handle(Arc<Mutex<Sink>>);

impl Capture {
    /// A capture that will be named `path`.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let whole = WholeFile::create(path)?;
        let sink = Sink {
            writer: whole.writer()?,
            error: None,
        };
        Ok(Self {
            path: path.to_owned(),
            whole,
            sink: Arc::new(Mutex::new(sink)),
        })
    }
    /// What the frames of `nodes` go to.
    pub(crate) fn frames(&self, nodes: &[Node]) -> Result<Box<dyn Frames>, CaptureError> {
        // Receptions too: only they have a signal strength.
        self.within(Scope::Receptions, nodes)
    }
    /// What the transmissions of `nodes` go to.
    pub(crate) fn transmissions(&self, nodes: &[Node]) -> Result<Box<dyn Frames>, CaptureError> {
        self.within(Scope::Transmissions, nodes)
    }
    fn within(&self, scope: Scope, nodes: &[Node]) -> Result<Box<dyn Frames>, CaptureError> {
        let names = nodes.iter().map(|node| node.id);
        Ok(Box::new(Pcapng::named(self.writer(), names, scope)?))
    }
    fn writer(&self) -> Handle {
        Handle(Arc::clone(&self.sink))
    }
    /// The failure that the file met, if it met one.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let sink = locked(&self.sink);
        Some(cannot_write(&self.path, sink.error.as_ref()?))
    }
    /// Gives the file its name.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        // Its result is the first error's, which `failure` tells.
        let _ = self.writer().flush();
        match self.failure() {
            Some(failure) => Err(failure),
            None => self.whole.finish(),
        }
    }
}

/// The sink; a panic elsewhere leaves it as it was.
fn locked(sink: &Mutex<Sink>) -> MutexGuard<'_, Sink> {
    sink.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Handle {
    fn attempt<T>(
        &self,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut sink = locked(&self.0);
        if let Some(error) = &sink.error {
            return Err(error.kind().into());
        }
        write(&mut sink.writer).map_err(|error| {
            let kind = error.kind();
            if kind != io::ErrorKind::Interrupted {
                sink.error = Some(error);
            }
            kind.into()
        })
    }
}

impl Write for Handle {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(|writer| writer.write(bytes))
    }
    fn flush(&mut self) -> io::Result<()> {
        self.attempt(Write::flush)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_the_writer_swallowed_is_told_at_the_end() {
        let capture = Capture::create(Path::new("/dev/full")).unwrap();
        let mut writer = capture.writer();
        let _ = writer.write_all(&[0; 100]);
        drop(writer);
        let Err(Failure::Job(line)) = capture.finish() else {
            panic!()
        };
        assert_eq!(line, "/dev/full: cannot write: No space left on device");
    }

    #[test]
    fn an_unfinished_capture_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("air.pcapng");
        let capture = Capture::create(&path).unwrap();
        capture.writer().write_all(b"frames").unwrap();
        drop(capture);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let capture = Capture::create(&path).unwrap();
        capture.writer().write_all(b"frames").unwrap();
        capture.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"frames");
    }
}
