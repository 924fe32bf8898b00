//! A job that is watched: what it reports goes to a [`Reporter`].

use std::ops::ControlFlow;
use std::sync::Arc;

use thalweg::{Explain, Maps, Network, Progress, Report, Surveyed};
use thalweg_host::job::wait_text;
use thalweg_host::registry::{Family, Protocol};
use thalweg_sim::Capture as Frames;
use thalweg_simnet::fetch::CollectRequest;
use thalweg_testbeds::Testbed;
use thalweg_units::{Duration as Span, NodeId};

use super::{Reporter, Verbosity};
use crate::failure::Stop;
use crate::interrupt::Interrupt;
use crate::output::{are_silent, plural};

/// Where no bar is drawn, a wait for links that goes on gets a line so often, in the network's time.
const WAITS: Span = Span::from_secs(600);

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
