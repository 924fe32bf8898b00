//! Progress on standard error: a bar on a terminal, a line for each step elsewhere; and jobs that are watched.

mod watch;

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub(crate) use watch::Watch;

const COUNTED: &str = "{prefix:>12} [{bar:32}] {pos}/{len} {msg}";
const SPINNER: &str = "{prefix:>12} {msg}";

/// Shows how far a job is.
#[derive(Debug)]
pub(crate) struct Reporter {
    /// None where standard error is no terminal.
    bar: Option<ProgressBar>,
    /// The step shown last, so that a plain line is written once for each.
    step: String,
    /// Which of many jobs this is; empty where there is one.
    context: String,
    say: Verbosity,
    /// When the last line was written that stays.
    last_line: Instant,
}

/// Where no bar is drawn, a step that goes on gets a line so often.
const LINES: Duration = Duration::from_secs(10);

/// How much progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Verbosity {
    /// Nothing but errors.
    Quiet,
    /// Where the job is.
    #[default]
    Normal,
    /// Every step of every job, as a line.
    Verbose,
}

impl Reporter {
    /// A reporter to standard error.
    pub(crate) fn to_stderr(say: Verbosity) -> Self {
        let has_bar = say == Verbosity::Normal && io::stderr().is_terminal();
        let bar = has_bar.then(|| {
            ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(15))
        });
        Self {
            bar,
            step: String::new(),
            context: String::new(),
            say,
            last_line: Instant::now(),
        }
    }

    /// Names which of many jobs is running, such as its node.
    pub(crate) fn set_context(&mut self, context: &str) {
        context.clone_into(&mut self.context);
        self.step.clear();
    }

    /// A step that takes a while, without a count.
    pub(crate) fn step(&mut self, name: &str, detail: &str) {
        self.show(name, detail, None);
    }

    /// A step that a bar shows, and no line.
    fn on_bar(&mut self, name: &str, detail: &str, count: Option<(u64, u64)>) {
        if self.bar.is_some() {
            self.show(name, detail, count);
        }
    }

    /// A line about one job, where its steps are shown.
    fn job_line(&mut self, text: &str) {
        if self.says_steps() {
            self.line(&format!("thalweg: {}{text}", self.named_context()));
        }
    }

    /// Whether steps of this job are shown: one of many jobs ends in a line of its own, and its steps would drown it.
    fn says_steps(&self) -> bool {
        match self.say {
            Verbosity::Quiet => false,
            Verbosity::Normal => self.context.is_empty(),
            Verbosity::Verbose => true,
        }
    }

    fn named_context(&self) -> String {
        match self.context.as_str() {
            "" => String::new(),
            context => format!("{context}: "),
        }
    }

    /// A step with a count.
    pub(crate) fn counted(&mut self, name: &str, detail: &str, done: u64, total: u64) {
        self.show(name, detail, Some((done, total)));
    }

    /// A line that stays, on a terminal as elsewhere.
    pub(crate) fn line(&mut self, text: &str) {
        if self.say == Verbosity::Quiet {
            return;
        }
        self.last_line = Instant::now();
        match &self.bar {
            Some(bar) => bar.suspend(|| plain_line(text)),
            None => plain_line(text),
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn show(&mut self, name: &str, detail: &str, count: Option<(u64, u64)>) {
        let new = self.step != name;
        if new {
            name.clone_into(&mut self.step);
        }
        let Some(bar) = &self.bar else {
            return self.show_line(new, name, detail, count);
        };
        // Before the style, which draws.
        if let Some((done, total)) = count {
            bar.set_length(total);
            bar.set_position(done.min(total));
        }
        if new {
            let template = if count.is_some() { COUNTED } else { SPINNER };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_prefix(name.to_owned());
        }
        let context = match self.context.as_str() {
            "" => String::new(),
            context => format!("{context}  "),
        };
        bar.set_message(context + detail);
    }

    /// A line for a step that is new, and for one that goes on now and then.
    fn show_line(&mut self, new: bool, name: &str, detail: &str, count: Option<(u64, u64)>) {
        let goes_on = self.last_line.elapsed() >= LINES;
        if !(goes_on || new && self.says_steps()) {
            return;
        }
        let mut line = format!("thalweg: {}{name}", self.named_context());
        if let (true, Some((done, total))) = (goes_on, count) {
            line.push_str(&format!(": {done} of {total}"));
            if !detail.is_empty() {
                line.push_str(&format!(" {detail}"));
            }
        }
        self.line(&line);
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Writes to standard error; if that is closed, the line is lost.
fn plain_line(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
