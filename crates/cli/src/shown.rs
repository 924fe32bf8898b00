//! The report of `thalweg collect` as text.

use thalweg_host::collector::{Details, Report};
use thalweg_host::outcome::Outcome;
use thalweg_host::registry::Pipelined;
use thalweg_host::survey::{IdleCost, Restarted, SurveyCost};
use thalweg_planner::Prediction;
use thalweg_simnet::fetch;
use thalweg_simnet::streams::{Collected, DualSurveyCost, Stream};
use thalweg_testbeds::Testbed;

use crate::output::plural;
use crate::plan;
use crate::table::{folded, number, Align, Table, NARROW};

/// A transfer of any family in a testbed, by protocol `asked`; `ends` are the lines that say why its nodes are those.
pub(crate) fn report(report: &fetch::Report, asked: &str, ends: (&Testbed, &str)) -> String {
    match report {
        fetch::Report::Pipeline(report) => pipeline(report, asked, ends),
        fetch::Report::Stream(report) => stream(report, ends),
    }
}

/// A time in the largest unit of which it has two.
fn span(seconds: f64) -> String {
    let units = [(86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")];
    let fitting = units.into_iter().find(|(unit, _)| seconds >= 2.0 * unit);
    fitting.map_or(format!("{seconds:.0} s"), |(unit, name)| {
        format!("{:.0} {name}", seconds / unit)
    })
}

/// What a survey took; `age` says how old it is.
fn survey_lines(survey: &SurveyCost, age: &str) -> String {
    let (measuring_s, collecting_s) = (survey.measuring_s, survey.collecting_s);
    let idle = survey.idle.map_or_else(String::new, |idle| {
        let IdleCost {
            rested_s,
            node_energy_j,
            rousing_s,
        } = idle;
        format!(
            "nodes rested for {} ({node_energy_j:.2} J each), roused in {rousing_s:.1} s\n",
            span(rested_s)
        )
    });
    let restarted = Restarted::lines(&survey.restarted);
    let restarted: String = restarted.iter().map(|line| format!("{line}\n")).collect();
    format!("{idle}links measured in {measuring_s:.1} s, their tables collected in {collecting_s:.1} s{age}\n{restarted}")
}

/// A transfer over a pipeline beside what the planner had expected, and PIP where it ran.
fn pipeline(report: &Report, asked: &str, (testbed, ends): (&Testbed, &str)) -> String {
    let o = &report.outcome.summary;
    let mut channels: Vec<String> = report.channels.iter().map(ToString::to_string).collect();
    if let (Some(last), Some(even)) = (channels.last_mut(), report.last_even) {
        last.push_str(&format!("/{even}"));
    }
    let age = match report.links_age_s {
        age_s if age_s >= 1.0 => format!(", {age_s:.0} s before the transfer"),
        _ => String::new(),
    };
    let survey = report.survey.as_ref();
    let survey = survey.map_or_else(String::new, |survey| survey_lines(survey, &age));
    let hops = match report.tried.is_empty() {
        true => o.hops as usize,
        false => channels.len().saturating_sub(1),
    };
    let head = format!(
        "{}, seed {}: node {} to node {}, {}, channels {}",
        o.testbed,
        o.seed,
        testbed.named(o.source),
        testbed.named(o.sink),
        plural(hops, "hop", "hops"),
        channels.join(" "),
    );
    let head = folded(&head, NARROW);
    let course = course(report, asked);
    let text = format!("{head}\n{ends}{survey}{course}\n");
    let mut heading = vec![
        (String::new(), Align::Left),
        (o.protocol.to_uppercase(), Align::Right),
        ("expected".to_owned(), Align::Right),
    ];
    heading.extend(
        report
            .baseline
            .as_ref()
            .map(|b| (b.summary.protocol.to_uppercase(), Align::Right)),
    );
    let mut table = Table::new(heading);
    for (name, measured, expected) in ROWS {
        let mut row = vec![
            (*name).to_owned(),
            measured(&report.outcome),
            expected(&report.predicted),
        ];
        row.extend(report.baseline.as_ref().map(measured));
        table.row(row);
    }
    let parts = match report.parts {
        1 => String::new(),
        parts => format!("\nfetched in {parts} parts\n"),
    };
    text + &table.render() + &parts
}

/// Another protocol that carried the object in the end; nothing if it was the requested one.
fn course(report: &Report, asked: &str) -> String {
    let (o, tried) = (&report.outcome.summary, &report.tried);
    // Links that are dead for long take many plans.
    let mut runs = tried.chunk_by(|one, next| one == next);
    let line = match runs.next() {
        Some(first) => told(first, runs),
        None if asked != HOP_BY_HOP && o.protocol == HOP_BY_HOP => {
            "hop by hop from the start: no pipeline is expected to be as quick\n".to_owned()
        }
        None if asked != P3_BEST && o.protocol == P3_BEST => {
            "by p3-best from the start: links are expected to lose much, and its rounds repair that\n"
                .to_owned()
        }
        None => return String::new(),
    };
    folded(&line, NARROW)
}

/// The protocols that were tried, in runs of the same one, of which the last carried the object or was the last resort.
fn told<'a>(first: &[&'static str], runs: impl Iterator<Item = &'a [&'static str]>) -> String {
    let name = first.first().copied().unwrap_or_default();
    let over = |name: &str, plans: usize| match plans {
        1 => name.to_owned(),
        plans => format!("{name} over {plans} plans"),
    };
    let more: Vec<String> = runs
        .map(|run| over(spoken(run.first().copied().unwrap_or_default()), run.len()))
        .collect();
    let said = match (more.is_empty(), first.len()) {
        (true, plans) => over(spoken(name), plans),
        (false, 1) => format!("{name} broke off, then {}", more.join(", then ")),
        (false, plans) => format!(
            "{name} broke off on {plans} plans, then {}",
            more.join(", then ")
        ),
    };
    format!("{said}; hops, channels and \"expected\" are of the first plan\n")
}

/// A protocol as people say it.
fn spoken(name: &'static str) -> &'static str {
    match name {
        HOP_BY_HOP => "hop by hop",
        name => name,
    }
}

const HOP_BY_HOP: &str = Pipelined::HOP_BY_HOP.name;
const P3_BEST: &str = Pipelined::P3_BEST.name;

/// A row's name, its value of an outcome, and what the planner had expected.
type Row = (
    &'static str,
    fn(&Outcome<Details>) -> String,
    fn(&Prediction) -> String,
);

const ROWS: &[Row] = &[
    (
        "goodput, kbit/s",
        |o| number(Some(o.summary.goodput_kbps), 1.0, 1),
        plan::goodput,
    ),
    (
        "effective utilisation, %",
        |o| number(o.summary.utilisation, 100.0, 1),
        |_| String::new(),
    ),
    ("rounds", |o| o.summary.rounds.to_string(), plan::rounds),
    (
        "first-round reliability, %",
        |o| number(o.summary.first_round_reliability, 100.0, 1),
        plan::first_round,
    ),
    (
        "retransmitted, %",
        |o| number(o.details.retransmitted, 100.0, 1),
        |_| String::new(),
    ),
    ("paths", |o| o.summary.paths.to_string(), |_| String::new()),
    (
        "active nodes",
        |o| o.summary.active_nodes.to_string(),
        |p| p.active_nodes.to_string(),
    ),
    (
        "energy, J",
        |o| number(o.summary.energy_j, 1.0, 2),
        plan::energy,
    ),
    (
        "energy of all nodes, survey included, J",
        |o| number(o.summary.network_energy_j, 1.0, 1),
        |_| String::new(),
    ),
    (
        "time, s",
        |o| number(Some(o.summary.duration_s), 1.0, 2),
        plan::time,
    ),
    (
        "time with the survey, s",
        |o| number(o.summary.cold.map(|cold| cold.cold_s), 1.0, 2),
        |_| String::new(),
    ),
    (
        "goodput with the survey, kbit/s",
        |o| number(o.summary.cold.map(|cold| cold.cold_goodput_kbps), 1.0, 1),
        |_| String::new(),
    ),
    (
        "arrived whole",
        |o| if o.summary.verified { "yes" } else { "no" }.to_owned(),
        |_| String::new(),
    ),
];

/// A stream and its links.
fn stream(c: &Collected, (testbed, ends): (&Testbed, &str)) -> String {
    let (r, survey, c) = (&c.outcome.summary, &c.survey, &c.outcome.details);
    let (s, joules) = (&c.stream, c.stream.joules.unwrap_or_default());
    let path: Vec<String> = c.path.iter().map(u16::to_string).collect();
    let mut text = format!(
        "{}, seed {}: {} from node {} to node {} over {}\n\
         {ends}\
         {}\n\
         set up in {:.2} s; {} of {} packets in {:.2} s, {}; on the air {:.1} kbit/s, goodput {:.1}\n\
         {:.2} J, {:.2} uJ a bit; all nodes and the survey {} J, with which goodput is {} kbit/s\n\n",
        r.testbed,
        r.seed,
        r.protocol,
        testbed.named(r.source),
        testbed.named(r.sink),
        path.join(" "),
        survey_line(survey),
        s.setup_seconds,
        s.received,
        s.packets,
        s.seconds,
        plural(s.rounds, "round", "rounds"),
        c.throughput_kbps,
        r.goodput_kbps,
        joules,
        1e6 * joules / (8.0 * r.bytes as f64),
        number(r.network_energy_j, 1.0, 1),
        number(r.cold.map(|cold| cold.cold_goodput_kbps), 1.0, 1)
    );
    text.push_str(&link_table(s));
    text
}

/// What each link did.
fn link_table(s: &Stream) -> String {
    let mut table = Table::new([
        ("link", Align::Left),
        ("on", Align::Left),
        ("sent", Align::Right),
        ("again", Align::Right),
        ("given up", Align::Right),
        ("withheld", Align::Right),
        ("overflows", Align::Right),
        ("queue, mean", Align::Right),
        ("most", Align::Right),
    ]);
    for link in &s.links {
        table.row([
            format!("{}-{}", link.from, link.to),
            link.on.clone(),
            link.sent.to_string(),
            link.retransmissions.to_string(),
            link.unacknowledged.to_string(),
            link.withheld.to_string(),
            link.overflows.to_string(),
            format!("{:.1}", link.queue_mean),
            link.queue_peak.to_string(),
        ]);
    }
    table.render()
}

/// What the survey took, in a line.
fn survey_line(survey: &DualSurveyCost) -> String {
    let of = |cost: &SurveyCost| {
        format!(
            "measured in {:.1} s, tables collected in {:.1} s",
            cost.measuring_s, cost.collecting_s
        )
    };
    let mut line = format!("links at 2.4 GHz {}", of(&survey.ghz2_4));
    if let Some(cost) = &survey.mhz900 {
        line.push_str(&format!("; at 900 MHz {}", of(cost)));
    }
    let missing: usize = std::iter::once(&survey.ghz2_4)
        .chain(&survey.mhz900)
        .map(|cost| cost.missing.len())
        .sum();
    if missing > 0 {
        line.push_str(&format!("; {missing} tables did not come in"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_tried_is_told_once_each() {
        let said = |tried: &[&'static str]| {
            let mut runs = tried.chunk_by(|one, next| one == next);
            let first = runs.next().unwrap();
            told(first, runs).split(';').next().unwrap().to_owned()
        };
        assert_eq!(said(&["p3", HOP_BY_HOP]), "p3 broke off, then hop by hop");
        assert_eq!(said(&[HOP_BY_HOP; 3]), "hop by hop over 3 plans");
        let long = ["thalweg", "thalweg", P3_BEST, HOP_BY_HOP, HOP_BY_HOP];
        assert_eq!(
            said(&long),
            "thalweg broke off on 2 plans, then p3-best, then hop by hop over 2 plans"
        );
    }
}
