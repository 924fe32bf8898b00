//! What the store is made to do while it is recorded: objects, jobs, parts, messages, sessions, deletions.
//!
//! After each call that returned, a line tells what must be there from then on ([`Promise`]). Time base: none.

use super::promise::{record, Promise, NETWORK};
use rand::seq::IndexedRandom;
use rand::Rng;
use std::io::{self, Write};
use std::path::Path;
use thalweg_host::object::info;
use thalweg_host::segments::Segment;
use thalweg_host::store::{
    JobId, JobState, Message, NewJob, NewTransfer, Retention, Store, StoreError, TransferId, Work,
};
use thalweg_medium::random::{stream, Stream};
use thalweg_units::NodeId;

/// The workload could not be done.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Standard output failed.
    #[error("standard output: {0}")]
    Output(#[from] io::Error),
}

/// Does `steps` things to the store in `folder`, as `seed` draws them, and tells each on `out`.
///
/// # Errors
/// [`WorkloadError`].
pub fn workload(
    folder: &Path,
    (seed, steps): (u64, u32),
    out: &mut impl Write,
) -> Result<(), WorkloadError> {
    let mut work = Workload {
        store: Store::open(folder)?,
        rng: stream(seed, "power", &[]),
        out,
        jobs: Vec::new(),
        kept: Vec::new(),
        messages: Vec::new(),
    };
    for _ in 0..steps {
        work.step()?;
        // Now and then the process restarts, and its log goes into the database.
        if work.rng.random_ratio(1, 12) {
            work.store = Store::open(folder)?;
        }
    }
    Ok(())
}

struct Workload<'a, W> {
    store: Store,
    rng: Stream,
    out: &'a mut W,
    /// Jobs that run, each with how many bytes of parts it has.
    jobs: Vec<(JobId, u32)>,
    kept: Vec<TransferId>,
    messages: Vec<i64>,
}

impl<W: Write> Workload<'_, W> {
    fn promise(&mut self, promise: &Promise) -> io::Result<()> {
        // One line, one call.
        self.out.write_all(format!("{promise}\n").as_bytes())?;
        self.out.flush()
    }
    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let len = self.rng.random_range(1..=most);
        let mut bytes = vec![0; len];
        rand::RngCore::fill_bytes(&mut self.rng, &mut bytes);
        bytes
    }

    fn step(&mut self) -> Result<(), WorkloadError> {
        match self.rng.random_range(0..10) {
            0 | 1 => self.submit(),
            2 => self.part(),
            3..=5 => self.keep(),
            6 => self.delete(),
            7 => self.queue(),
            8 => self.acknowledge(),
            _ => self.end(),
        }
    }
    fn submit(&mut self) -> Result<(), WorkloadError> {
        let work = Work::Fetch {
            from: node(self.rng.random_range(2..20)),
        };
        let job = NewJob {
            network: NETWORK,
            work,
            priority: 0,
        };
        for id in self.store.submit(&[job], u32::MAX)? {
            self.promise(&Promise::Job(id.0))?;
            self.store.begin_job(id)?;
            self.jobs.push((id, 0));
        }
        Ok(())
    }
    fn part(&mut self) -> Result<(), WorkloadError> {
        let Some(at) = self.some_job() else {
            return Ok(());
        };
        let (job, offset) = self.jobs[at];
        let object = info(&[0; 1 << 20]);
        let bytes = self.bytes(20_000);
        let len = bytes.len() as u32;
        self.store
            .keep_part(job, offset, &Segment { bytes, object })?;
        self.jobs[at].1 += len;
        self.promise(&Promise::Part(job.0, offset + len))?;
        Ok(())
    }
    fn some_job(&mut self) -> Option<usize> {
        let all: Vec<usize> = (0..self.jobs.len()).collect();
        all.choose(&mut self.rng).copied()
    }
    fn keep(&mut self) -> Result<(), WorkloadError> {
        let job = self.some_job().map(|at| self.jobs.remove(at).0);
        let object = self.bytes(30_000);
        let record = record(node(self.rng.random_range(2..20)), object.len() as u64);
        let new = NewTransfer {
            record: &record,
            baseline: None,
            report: "{}",
            campaign: None,
            job,
            file: None,
        };
        let message = |text: String| Message {
            topic: "thalweg/objects".to_owned(),
            payload: text,
            keep: Retention::All,
        };
        let kept = (self.store).keep_and_queue(&new, &object, |stored| {
            vec![message(format!("{{\"id\":{}}}", stored.id.0))]
        })?;
        self.kept.push(kept.transfer);
        self.promise(&Promise::Kept(kept.transfer.0, kept.digest))?;
        if let Some(job) = job {
            self.promise(&Promise::Done(job.0))?;
        }
        self.note_messages()?;
        Ok(())
    }
    fn delete(&mut self) -> Result<(), WorkloadError> {
        let Some(id) = self.kept.choose(&mut self.rng).copied() else {
            return Ok(());
        };
        self.kept.retain(|kept| *kept != id);
        self.promise(&Promise::Deleting(id.0))?;
        self.store.delete_object(id)?;
        self.promise(&Promise::Deleted(id.0))?;
        Ok(())
    }
    fn queue(&mut self) -> Result<(), WorkloadError> {
        let number: u32 = self.rng.random();
        let message = Message {
            topic: format!("thalweg/{}", number % 5),
            payload: format!("{{\"n\":{number}}}"),
            keep: Retention::All,
        };
        self.store.queue_messages(&[message])?;
        self.note_messages()?;
        Ok(())
    }
    fn note_messages(&mut self) -> Result<(), WorkloadError> {
        for waiting in self.store.waiting(u32::MAX)? {
            if !self.messages.contains(&waiting.id) {
                self.messages.push(waiting.id);
                self.promise(&Promise::Message(waiting.id))?;
            }
        }
        Ok(())
    }
    fn acknowledge(&mut self) -> Result<(), WorkloadError> {
        let most = self.messages.len().min(3);
        let ids: Vec<i64> = self.messages.drain(..most).collect();
        for id in &ids {
            self.promise(&Promise::Acknowledging(*id))?;
        }
        self.store.remove_messages(&ids)?;
        Ok(())
    }
    fn end(&mut self) -> Result<(), WorkloadError> {
        let Some(at) = self.some_job() else {
            return Ok(());
        };
        let (job, _) = self.jobs.remove(at);
        self.promise(&Promise::Ending(job.0))?;
        let why = Some("no route");
        self.store.end_job(job, JobState::Failed, None, why)?;
        Ok(())
    }
}

fn node(n: u16) -> NodeId {
    NodeId::new(n).unwrap_or(NodeId::MAX)
}
