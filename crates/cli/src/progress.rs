//! Progress on standard error: a bar on a terminal, a line for each step elsewhere; and jobs that are watched.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use thalweg::{Explain, Maps, Network, Progress, Report, Surveyed};
use thalweg_host::job::wait_text;
use thalweg_host::registry::{Family, Protocol};
use thalweg_sim::Capture as Frames;
use thalweg_simnet::fetch::CollectRequest;
use thalweg_testbeds::Testbed;
use thalweg_units::{Duration as Span, NodeId};

use crate::failure::Stop;
use crate::interrupt::Interrupt;
use crate::output::{are_silent, plural};

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
/// And so a wait for links, in the network's time.
const WAITS: Span = Span::from_secs(600);

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

/// A running job: where its progress goes, and what stops it.
pub(crate) struct Watch {
    pub(crate) reporter: Reporter,
    pub(crate) interrupt: Interrupt,
    /// What carries the object.
    protocol: &'static Protocol,
    /// Packets of the object.
    pub(crate) packets: u64,
    testbed: Arc<Testbed>,
    /// The silent nodes of the last report.
    silent: Vec<NodeId>,
    /// The node whose object is wanted, and for how long it is tried where it is silent; none once that was said.
    pub(crate) sought: Option<(NodeId, Span)>,
    /// The node that is waited for, and for how long by the last report.
    waits: Option<(NodeId, Span)>,
}

impl Watch {
    /// Of a job in `testbed` that has not begun.
    pub(crate) fn new(protocol: &'static Protocol, testbed: &Arc<Testbed>, say: Verbosity) -> Self {
        Self {
            reporter: Reporter::to_stderr(say),
            interrupt: Interrupt::on_signals(),
            protocol,
            packets: 0,
            testbed: testbed.clone(),
            silent: Vec::new(),
            sought: None,
            waits: None,
        }
    }

    /// Switches the network on and has it measure its links.
    pub(crate) fn survey(&mut self, network: &Network) -> Result<Surveyed, Stop> {
        Ok(network.survey(&mut |label, progress| self.note(label, progress))?)
    }

    /// Plans and fetches one object.
    pub(crate) fn fetch(
        &mut self,
        network: &Surveyed,
        request: &CollectRequest,
        capture: Option<Box<dyn Frames>>,
        explain: Explain,
    ) -> Result<(Report, Option<Maps>), Stop> {
        let mut observer = |label: &str, progress| self.note(label, progress);
        let fetched = network.fetch(request, capture, explain, &mut observer);
        Ok(fetched.map_err(thalweg::Error::from)?)
    }

    /// Shows how far `label`, a protocol or a band, is.
    pub(crate) fn note(&mut self, label: &str, progress: Progress) -> ControlFlow<()> {
        match progress {
            Progress::Measuring { turn, of } => {
                self.note_survey(label, "measuring links", ("nodes", turn, of));
            }
            // It is over in a few seconds of the network's time, which a simulation skips.
            Progress::Sweeping { .. } => {}
            Progress::Collecting { complete, of } => {
                self.note_survey(label, "collecting link tables", ("tables", complete, of));
            }
            Progress::Silent { nodes, of } => self.note_silent(nodes, of),
            Progress::OutOfReach {
                node,
                pause,
                waited,
            } => self.note_wait(node, pause, waited),
            progress => self.note_transfer(label, progress),
        }
        match self.interrupt.is_set() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// A survey, at band `label`, has done so many of so many. Those of a wait are no news.
    fn note_survey(&mut self, label: &str, what: &str, (noun, done, of): (&str, u16, u16)) {
        let name = match label {
            "" => what.to_owned(),
            band => format!("{what} at {band}"),
        };
        let count = Some((u64::from(done), u64::from(of)));
        match self.waits {
            None => self.reporter.show(&name, noun, count),
            Some(_) => self.reporter.on_bar(&name, noun, count),
        }
    }

    /// The sink has heard nothing of `nodes`, reported if they are others than before.
    fn note_silent(&mut self, nodes: Vec<NodeId>, of: usize) {
        if nodes != self.silent {
            let (silent, named) = (nodes.len(), self.testbed.listed(&nodes));
            let line = format!("{}: {named}", are_silent(silent, of));
            self.reporter.job_line(&line);
            self.silent = nodes;
        }
        if let Some((node, time)) = self.sought.filter(|(node, _)| self.silent.contains(node)) {
            let (named, time) = (self.testbed.named(node), wait_text(time));
            self.reporter.job_line(&format!(
                "node {named} does not answer; it is tried for {time} (--patience), and Ctrl-C ends that"
            ));
            self.sought = None;
        }
    }

    /// Links will be measured again for `node`, for which so much of the patience is over. A line tells so at first, and
    /// now and then.
    fn note_wait(&mut self, node: NodeId, pause: Span, (waited, of): (Span, Span)) {
        let line = format!("node {} is out of reach", self.testbed.named(node));
        let detail = format!(
            "links are measured again in {}; {} of {} (--patience)",
            wait_text(pause),
            wait_text(waited),
            wait_text(of)
        );
        self.reporter.on_bar(&line, &detail, None);
        let is_told = |(last, at): (NodeId, Span)| last == node && waited < at + WAITS;
        if !self.waits.is_some_and(is_told) {
            self.waits = Some((node, waited));
            if self.reporter.bar.is_none() {
                self.reporter.job_line(&format!("{line}: {detail}"));
            }
        }
    }

    /// A transfer by protocol `label` goes on.
    fn note_transfer(&mut self, label: &str, progress: Progress) {
        self.waits = None;
        let reporter = &mut self.reporter;
        match progress {
            Progress::Planned { packets, .. } => {
                let line = planned(&progress, &self.testbed).unwrap_or_default();
                reporter.step(&line, "");
                self.packets = u64::from(packets);
            }
            Progress::WakingUp => {
                let name = match label {
                    "" => "waking up".to_owned(),
                    protocol => format!("{}: waking up", protocol.to_uppercase()),
                };
                reporter.step(&name, "");
            }
            Progress::Packets {
                round,
                received,
                rate,
                ..
            } => {
                let (name, on_air) = match self.protocol.family {
                    Family::Pipeline(_) => {
                        let name = format!("{} round {round}", label.to_uppercase());
                        (name.trim_start().to_owned(), "")
                    }
                    _ => ("stream".to_owned(), " on the air"),
                };
                let detail = format!("packets, {:.1} kbit/s{on_air}", rate.kbps());
                reporter.counted(&name, &detail, u64::from(received), self.packets);
            }
            Progress::Wave {
                number,
                transfers,
                left,
            } => {
                let transfers = plural(transfers, "transfer", "transfers");
                let line = format!("wave {}: {transfers}", number + 1);
                reporter.step(&line, &format!("{} left", plural(left, "node", "nodes")));
            }
            // Of surveys, and waits for one.
            _ => {}
        }
    }
}

/// What is foreseen of a transfer, behind what is planned: one time, or the ends of what is likely where these are more than
/// a tenth apart.
fn forecast((least, most): (Span, Span)) -> String {
    let [from, to] = [least, most].map(Span::as_secs_f64);
    let (unit, by) = match to {
        ..120.0 => ("s", 1.0),
        ..7_200.0 => ("min", 60.0),
        _ => ("h", 3_600.0),
    };
    let in_unit = |seconds: f64| match seconds / by {
        time @ ..10.0 => format!("{time:.1}"),
        time => format!("{time:.0}"),
    };
    match to > 1.1 * from {
        true => format!(", {} to {} {unit} expected", in_unit(from), in_unit(to)),
        false => format!(", about {} {unit} expected", in_unit(to)),
    }
}

/// The line about a transfer that was planned.
fn planned(progress: &Progress, testbed: &Testbed) -> Option<String> {
    let Progress::Planned {
        source,
        sink,
        paths,
        hops,
        part,
        expected,
        ..
    } = *progress
    else {
        return None;
    };
    let [source, sink] = [source, sink].map(|node| testbed.named(node));
    let (paths, hops) = (plural(paths, "path", "paths"), plural(hops, "hop", "hops"));
    let part = match part {
        (_, 1) => String::new(),
        (part, of) => format!("part {part} of {of}: "),
    };
    let expected = expected.map(forecast).unwrap_or_default();
    Some(format!(
        "{part}node {source} to {sink}: {paths} of {hops}{expected}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_has_two_ends_where_these_are_apart() {
        let said = |least: f64, most: f64| {
            forecast((Span::from_secs_f64(least), Span::from_secs_f64(most)))
        };
        assert_eq!(said(2.27, 2.27), ", about 2.3 s expected");
        assert_eq!(said(14.0, 75.2), ", 14 to 75 s expected");
        assert_eq!(said(600.0, 5_400.0), ", 10 to 90 min expected");
        assert_eq!(said(7_200.0, 86_400.0), ", 2.0 to 24 h expected");
    }
}
