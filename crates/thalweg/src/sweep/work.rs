//! Works on a folder's parts, as many at a time as there are threads, beside whoever else does.
//!
//! Who begins a part marks it. Parts that others have marked come last: by then most are there, and whoever marked the rest
//! may have died. So two may run the same part in the end; they write the same bytes. Tests: `folder_tests.rs`.

use super::folder::{Claim, Folder};
use super::task::{Failed, Task};
use crate::lab::checked;
use crate::Error;
use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use thalweg_lab::experiment::Program;

/// Every so many-th part, from one on: what one of several processes or machines does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: NonZeroUsize,
}

impl Default for Shard {
    /// All parts.
    fn default() -> Self {
        Self {
            number: 1,
            of: NonZeroUsize::MIN,
        }
    }
}

impl FromStr for Shard {
    type Err = String;
    /// `3/16`: the third of sixteen.
    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (number, of) = text.split_once('/')?;
            let of: NonZeroUsize = of.trim().parse().ok()?;
            let number = number.trim().parse().ok()?;
            (1..=of.get())
                .contains(&number)
                .then_some(Self { number, of })
        };
        let wanted = "expected NUMBER/COUNT from 1/COUNT to COUNT/COUNT, such as 3/16";
        read().ok_or_else(|| wanted.to_owned())
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl Shard {
    /// Whether part number `part`, from 0, is of it.
    pub const fn has(self, part: usize) -> bool {
        part % self.of.get() + 1 == self.number
    }
}

/// What happens meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// How many of the missing runs are done, by any process.
    Done {
        /// Runs that are done: one point with one seed each.
        runs: usize,
        /// All that were missing.
        of: usize,
    },
    /// A point failed, or a part as a whole; the others go on.
    Failed(&'a Failed),
}

/// Is shown each step, from any thread; may stop the work.
pub type StepObserver<'a> = &'a (dyn Fn(Step<'_>) -> ControlFlow<()> + Sync);

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Outcome {
    /// Parts that were made.
    pub made: usize,
    /// Points that failed, now or earlier, in order.
    pub failed: Vec<Failed>,
}

/// Makes the parts of `shard` that `folder` misses, as `program`, on `jobs` threads.
///
/// # Errors
/// [`Error::Option`] where `jobs` are too many; [`Error::Stopped`] where the observer stopped it; [`Error::Job`] where nothing can be written or read. A point that fails is
/// no error: each outcome names it.
pub fn run(
    folder: &Folder,
    program: &Program,
    shard: Shard,
    jobs: NonZeroUsize,
    observer: StepObserver<'_>,
) -> Result<Outcome, Error> {
    let jobs = checked(jobs)?;
    let missing = (0..folder.parts()).filter(|n| shard.has(*n) && !folder.is_done(*n));
    let missing: VecDeque<usize> = missing.collect();
    let count = missing.len();
    let work = Work {
        folder,
        program,
        observer,
        of: missing.iter().map(|n| folder.runs_of(*n)).sum(),
        runs: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
        queue: Mutex::new(Queue {
            first: missing,
            later: VecDeque::new(),
        }),
    };
    let mut ends: Vec<Result<Made, Error>> = thread::scope(|scope| {
        let workers = (0..jobs.get().min(count)).map(|_| scope.spawn(|| work.some()));
        let workers: Vec<_> = workers.collect();
        let died = |_| Err(Error::Job("a thread has died".to_owned()));
        let ends = workers.into_iter().map(|w| w.join().unwrap_or_else(died));
        ends.collect()
    });
    // What made the others stop comes before them.
    ends.sort_by_key(|end| matches!(end, Err(Error::Stopped)));
    folder.tidy()?;
    let ends: Vec<Made> = ends.into_iter().collect::<Result<_, _>>()?;
    let made = ends.iter().map(|end| end.parts).sum();
    let mut failed: Vec<(usize, Failed)> = ends.into_iter().flat_map(|end| end.failed).collect();
    for n in (0..folder.parts()).filter(|n| shard.has(*n)) {
        let earlier = folder.failed(n)?;
        let _ = earlier
            .iter()
            .try_for_each(|one| observer(Step::Failed(one)));
        failed.extend(earlier.into_iter().map(|one| (n, one)));
    }
    failed.sort_by_key(|(n, _)| *n);
    let failed = failed.into_iter().map(|(_, failed)| failed).collect();
    Ok(Outcome { made, failed })
}

/// What a thread has done.
#[derive(Default)]
struct Made {
    parts: usize,
    /// With their numbers.
    failed: Vec<(usize, Failed)>,
}

/// What threads share.
struct Work<'a> {
    folder: &'a Folder,
    program: &'a Program,
    observer: StepObserver<'a>,
    /// Runs that were missing, and that are done.
    of: usize,
    runs: AtomicUsize,
    stopped: AtomicBool,
    queue: Mutex<Queue>,
}

/// Numbers of parts that are to be done.
struct Queue {
    first: VecDeque<usize>,
    /// Marked by others.
    later: VecDeque<usize>,
}

/// Whether somebody has begun a part.
#[derive(PartialEq)]
enum Marked {
    ByNobody,
    ByOthers,
}

impl Queue {
    fn pop(&mut self) -> Option<(usize, Marked)> {
        let first = self.first.pop_front().map(|n| (n, Marked::ByNobody));
        first.or_else(|| Some((self.later.pop_front()?, Marked::ByOthers)))
    }
}

impl Work<'_> {
    /// Makes parts until none is left.
    fn some(&self) -> Result<Made, Error> {
        let mut made = Made::default();
        while let Some((n, task)) = self.next()? {
            let done = AtomicUsize::new(0);
            let show = |points: usize| {
                let more = points.saturating_sub(done.swap(points, Ordering::Relaxed));
                self.show(more)
            };
            let ran = match task.run(self.folder.path(), self.program, &show) {
                Ok(ran) => task
                    .write(self.folder.path(), &ran)
                    .map(|()| (1, ran.failed)),
                Err(Error::Stopped) => Err(Error::Stopped),
                Err(why) => Ok((0, vec![task.failed("all its points", &why.to_string())])),
            };
            self.folder.release(&task);
            let (parts, failed) =
                ran.inspect_err(|_| self.stopped.store(true, Ordering::Relaxed))?;
            made.parts += parts;
            for failure in failed {
                let _ = (self.observer)(Step::Failed(&failure));
                made.failed.push((n, failure));
            }
            self.flow(task.points.len() - done.load(Ordering::Relaxed))?;
        }
        Ok(made)
    }

    /// The next part that nobody has made.
    fn next(&self) -> Result<Option<(usize, Task)>, Error> {
        loop {
            if self.stopped.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            let Some((n, marked)) = self.queue().pop() else {
                return Ok(None);
            };
            let Some(task) = self.folder.task(n) else {
                continue;
            };
            if self.folder.has(&task) {
                self.flow(task.points.len())?;
            } else if marked == Marked::ByOthers || self.folder.claim(&task)? == Claim::Ours {
                return Ok(Some((n, task)));
            } else {
                self.queue().later.push_back(n);
            }
        }
    }

    /// Reports `more` runs done.
    fn show(&self, more: usize) -> ControlFlow<()> {
        let runs = self.runs.fetch_add(more, Ordering::Relaxed) + more;
        let step = Step::Done { runs, of: self.of };
        match self.stopped.load(Ordering::Relaxed) || (self.observer)(step).is_break() {
            true => {
                self.stopped.store(true, Ordering::Relaxed);
                ControlFlow::Break(())
            }
            false => ControlFlow::Continue(()),
        }
    }

    /// The same; an error where it is to stop.
    fn flow(&self, more: usize) -> Result<(), Error> {
        match self.show(more) {
            ControlFlow::Break(()) => Err(Error::Stopped),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
