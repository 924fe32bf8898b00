//! `thalweg fault`: scenarios in which everything goes wrong, and the store when power fails.
//! Tests: `tests/all/fault.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::num::{NonZeroU64, NonZeroUsize};
use std::ops::ControlFlow;
use std::path::Path;
use std::thread::available_parallelism;

use serde::Serialize;
use thalweg_fault::campaign::{campaign, guarded, AfterBreach, Campaign, Tally};
use thalweg_fault::power::{points_of, record, try_points, workload, Points};
use thalweg_fault::{draw, shrink, Breach, BreachKind, Ran, Script, Whom};
use thalweg_host::store::plain;

use crate::args::FaultArgs;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{plural, print, print_json};
use crate::progress::{Reporter, Verbosity};

/// Scenarios without --scenarios, and points of --power.
const SCENARIOS: NonZeroU64 = NonZeroU64::new(2_000).unwrap();
const POINTS: NonZeroU64 = NonZeroU64::new(10_000).unwrap();
/// What the store is made to do while it is recorded.
const STEPS: u32 = 150;
/// As many breaches are listed.
const FEW: usize = 20;

/// Runs `thalweg fault`.
pub(crate) fn run(args: &FaultArgs) -> Result<(), Failure> {
    if let Some(folder) = &args.power_workload {
        return workload(folder, (args.first, STEPS), &mut io::stdout().lock())
            .map_err(Failure::job);
    }
    if args.power {
        return power(args);
    }
    let whom = match args {
        _ if args.outsider => Whom::Outsider,
        _ if args.secure => Whom::OutsiderWithoutKeys,
        _ if args.captured => Whom::CapturedMote,
        _ => Whom::Nature,
    };
    match (args.seed, &args.replay) {
        (Some(seed), _) if args.script => print(&draw(seed, whom).to_text()),
        (Some(seed), _) => one(args, &draw(seed, whom), Some(seed)),
        (None, Some(file)) => one(args, &read(file)?, None),
        (None, None) => many(args, whom),
    }
}

fn read(file: &Path) -> Result<Script, Failure> {
    let cannot = |why: &io::Error| {
        let why = plain(why);
        Failure::Input(format!("{}: cannot read: {why}", file.display()))
    };
    let mut text = String::new();
    match file == Path::new("-") {
        true => drop(
            io::stdin()
                .read_to_string(&mut text)
                .map_err(|why| cannot(&why))?,
        ),
        false => text = fs::read_to_string(file).map_err(|why| cannot(&why))?,
    }
    Script::parse(&text).map_err(|why| Failure::Input(format!("{}: {why}", file.display())))
}

/// What `--json` prints of one scenario.
#[derive(Serialize)]
struct One<'a> {
    seed: Option<u64>,
    held: bool,
    breach: Option<BreachKind>,
    why: Option<String>,
    jobs: Option<u32>,
    jobs_done: Option<u32>,
    delivered: Option<u32>,
    out_of_reach: Option<u32>,
    network_s: Option<f64>,
    script: Option<&'a str>,
}

/// Runs one scenario.
fn one(args: &FaultArgs, script: &Script, seed: Option<u64>) -> Result<(), Failure> {
    let (ran, breach) = match guarded(script) {
        Ok(ran) => (Some(ran), None),
        Err(breach) => (None, Some(breach)),
    };
    // A script is shown as it is; a seed's scenario is shrunk first, since most of it does not matter.
    let smallest = match (seed, &breach) {
        (Some(_), Some(_)) => shrink(script, |script| guarded(script).err()),
        (_, breach) => breach.clone().map(|breach| (script.clone(), breach)),
    };
    let text = smallest.as_ref().map(|(script, _)| script.to_text());
    if args.json {
        print_json(&One {
            seed,
            held: breach.is_none(),
            breach: breach.as_ref().map(Breach::kind),
            why: breach.as_ref().map(ToString::to_string),
            jobs: ran.map(|ran| ran.jobs),
            jobs_done: ran.map(|ran| ran.done),
            delivered: ran.map(|ran| ran.delivered),
            out_of_reach: ran.map(|ran| ran.out_of_reach),
            network_s: ran.map(|ran| ran.time.as_secs_f64()),
            script: text.as_deref(),
        })?;
    } else if let Some(ran) = ran {
        print(&format!("{}\n", held(&ran)))?;
    } else if let (Some(text), Some(_)) = (&text, seed) {
        print(text)?;
    }
    match breach {
        Some(breach) => Err(Failure::Job(broke(&breach, seed))),
        None => Ok(()),
    }
}

/// What a scenario came to in which everything held.
fn held(ran: &Ran) -> String {
    format!(
        "everything held: {} of {} done while things went wrong, {} afterwards{}, {:.1} s of the network's time",
        ran.done,
        plural(ran.jobs, "job", "jobs"),
        match ran.delivered {
            1 => "1 object arrived".to_owned(),
            more => format!("{more} objects arrived"),
        },
        match ran.out_of_reach {
            0 => String::new(),
            some => format!(", {some} without a strong path"),
        },
        ran.time.as_secs_f64()
    )
}

fn broke(breach: &Breach, seed: Option<u64>) -> String {
    let invariant = breach.kind().invariant();
    match seed {
        Some(seed) => format!("seed {seed} breaks \"{invariant}\": {breach}"),
        None => format!("it breaks \"{invariant}\": {breach}"),
    }
}

/// What `--json` prints of a campaign.
#[derive(Serialize)]
struct Many<'a> {
    first: u64,
    scenarios: u64,
    per_second: f64,
    jobs: u64,
    jobs_done: u64,
    delivered: u64,
    events: u64,
    network_s: f64,
    slowest_s: f64,
    slowest_seed: u64,
    broke: BTreeMap<BreachKind, u64>,
    seeds: Vec<u64>,
    unsecured: BTreeMap<BreachKind, u64>,
    unsecured_seeds: Vec<u64>,
    script: Option<&'a str>,
}

/// Runs a campaign.
fn many(args: &FaultArgs, whom: Whom) -> Result<(), Failure> {
    let interrupt = Interrupt::on_signals();
    let mut reporter = reporter(args);
    let scenarios = args.scenarios.unwrap_or(SCENARIOS).get();
    let cores = || available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let asked = Campaign {
        first: args.first,
        scenarios,
        whom,
        jobs: args.jobs.unwrap_or_else(cores),
        after_breach: match args.go_on {
            true => AfterBreach::GoOn,
            false => AfterBreach::Stop,
        },
    };
    let tally = campaign(&asked, &mut |tally| {
        let broken = plural(tally.breaches.len() as u64, "breach", "breaches");
        let rate = format!("{:.0} a second, {broken}", tally.rate());
        reporter.counted("fault", &rate, tally.scenarios, scenarios);
        match interrupt.is_set() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    drop(reporter);
    let first = tally.breaches.iter().next();
    let smallest = first.and_then(|(seed, _)| {
        let (script, _) = shrink(&draw(*seed, whom), |script| guarded(script).err())?;
        Some(script.to_text())
    });
    match args.json {
        true => print_json(&in_json(args, &tally, smallest.as_deref()))?,
        false => print(&in_words(&tally, smallest.as_deref()))?,
    }
    match first {
        Some((seed, breach)) => Err(Failure::Job(format!(
            "{}; again: thalweg fault{} --seed {seed}",
            broke(breach, Some(*seed)),
            match whom {
                Whom::Nature => "",
                Whom::Outsider => " --outsider",
                Whom::OutsiderWithoutKeys => " --secure",
                Whom::CapturedMote => " --captured",
            }
        ))),
        None if interrupt.is_set() => Err(Failure::Job("interrupted".to_owned())),
        None => Ok(()),
    }
}

fn reporter(args: &FaultArgs) -> Reporter {
    Reporter::to_stderr(match args.quiet {
        true => Verbosity::Quiet,
        false => Verbosity::Normal,
    })
}

fn in_json<'a>(args: &FaultArgs, tally: &Tally, script: Option<&'a str>) -> Many<'a> {
    Many {
        first: args.first,
        scenarios: tally.scenarios,
        per_second: tally.rate(),
        jobs: tally.jobs,
        jobs_done: tally.done,
        delivered: tally.delivered,
        events: tally.events,
        network_s: tally.network_s,
        slowest_s: tally.slowest.0,
        slowest_seed: tally.slowest.1,
        broke: Tally::by_kind(&tally.breaches),
        seeds: tally.breaches.keys().copied().collect(),
        unsecured: Tally::by_kind(&tally.unsecured),
        unsecured_seeds: tally.unsecured.keys().copied().collect(),
        script,
    }
}

fn in_words(tally: &Tally, script: Option<&str>) -> String {
    let mut text = format!(
        "{} in {:.1} s, {:.0} a second: {} of {} done while things went wrong; {} arrived afterwards, the slowest after {:.1} s (seed {})\n",
        plural(tally.scenarios, "scenario", "scenarios"),
        tally.wall.as_secs_f64(),
        tally.rate(),
        tally.done,
        plural(tally.jobs, "job", "jobs"),
        plural(tally.delivered, "object", "objects"),
        tally.slowest.0,
        tally.slowest.1,
    );
    list(&mut text, "broken", &tally.breaches);
    let unsecured = "broken, which a key prevents or a captured mote may do,";
    list(&mut text, unsecured, &tally.unsecured);
    if let Some(script) = script {
        text.push_str(&format!(
            "\nthe smallest script of the first of them:\n\n{script}"
        ));
    }
    text
}

/// Adds how often each invariant broke, and by which seeds first.
fn list(text: &mut String, broken: &str, breaches: &BTreeMap<u64, Breach>) {
    for (kind, count) in Tally::by_kind(breaches) {
        let times = plural(count, "time", "times");
        text.push_str(&format!("{broken} {times}: {}\n", kind.invariant()));
    }
    for (seed, breach) in breaches.iter().take(FEW) {
        text.push_str(&format!("seed {seed}: {breach}\n"));
    }
    if let more @ 1.. = breaches.len().saturating_sub(FEW) {
        text.push_str(&format!("and {more} more\n"));
    }
}

/// What `--json` prints of power failures.
#[derive(Serialize)]
struct Power {
    points: u64,
    calls: usize,
    lost: Vec<String>,
}

/// Records the store, and lets power fail.
fn power(args: &FaultArgs) -> Result<(), Failure> {
    let interrupt = Interrupt::on_signals();
    let mut reporter = reporter(args);
    let wanted = args.scenarios.unwrap_or(POINTS).get();
    let work = tempfile::tempdir().map_err(Failure::job)?;
    let place = work.path().canonicalize().map_err(Failure::job)?;
    let (folder, scratch) = (place.join("recorded"), place.join("after"));
    fs::create_dir(&folder).map_err(Failure::job)?;
    let program = std::env::current_exe().map_err(Failure::job)?;
    let (name, first) = (folder.to_string_lossy(), args.first.to_string());
    let arguments = ["fault", "--power-workload", &name, "--first", &first];
    let recording =
        record(&program, &arguments, (&folder, &place.join("log"))).map_err(Failure::job)?;
    let of = points_of(&recording, wanted);
    let points = try_points(
        (&recording, &folder),
        (wanted, args.first),
        &scratch,
        &mut |tried| {
            if tried % 50 == 0 {
                reporter.counted("power", "failures", tried, of);
            }
            match interrupt.is_set() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        },
    );
    let points = points.map_err(Failure::job)?;
    drop(reporter);
    tell_power(args, &points)?;
    match (points.lost.first(), interrupt.is_set()) {
        (Some(lost), _) => Err(Failure::Job(lost.to_string())),
        (None, true) => Err(Failure::Job("interrupted".to_owned())),
        (None, false) => Ok(()),
    }
}

fn tell_power(args: &FaultArgs, points: &Points) -> Result<(), Failure> {
    if args.json {
        return print_json(&Power {
            points: points.tried,
            calls: points.calls,
            lost: points.lost.iter().map(ToString::to_string).collect(),
        });
    }
    let mut text = format!(
        "power failed at {} of {} that change the store: {}\n",
        plural(points.tried, "point", "points"),
        plural(points.calls as u64, "call", "calls"),
        match points.lost.len() as u64 {
            0 => "each time it opened, had all that was told, and went on".to_owned(),
            lost => plural(lost, "time", "times") + " something was lost",
        }
    );
    for lost in points.lost.iter().take(FEW) {
        text.push_str(&format!("{lost}\n"));
    }
    print(&text)
}
