//! Progress on standard error: a bar on a terminal, a line for each step elsewhere.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

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
}

impl Reporter {
    /// A reporter to standard error.
    pub(crate) fn to_stderr() -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(15))
        });
        Self {
            bar,
            step: String::new(),
            context: String::new(),
        }
    }

    /// Says which of many jobs is running, such as the node whose turn it is.
    pub(crate) fn set_context(&mut self, context: &str) {
        context.clone_into(&mut self.context);
        self.step.clear();
    }

    /// A step that takes a while, without a count.
    pub(crate) fn step(&mut self, name: &str, detail: &str) {
        self.show(name, detail, None);
    }

    /// A step with a count.
    pub(crate) fn counted(&mut self, name: &str, detail: &str, done: u64, total: u64) {
        self.show(name, detail, Some((done, total)));
    }

    /// A line that stays, on a terminal as elsewhere.
    pub(crate) fn line(&mut self, text: &str) {
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
            // One of many jobs ends in a line of its own; its steps would drown it.
            if new && self.context.is_empty() {
                plain_line(&format!("thalweg: {name}"));
            }
            return;
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
        bar.set_message(format!("{}{detail}", self.context_on_bar()));
    }

    fn context_on_bar(&self) -> String {
        if self.context.is_empty() {
            String::new()
        } else {
            format!("{}  ", self.context)
        }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Writes to standard error; nobody is left to tell when that is closed.
fn plain_line(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
