//! `thalweg collect --gateway`: a daemon fetches objects, and they are stored here as well.
//!
//! Invariants: an object is stored only with the gateway's length and SHA-256; an interrupt leaves no job behind. Time
//! base: wall clock.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{json, Value};
use thalweg_host::outcome::Summary;
use thalweg_host::store::{Fate, NewTransfer, Store, StoreError, TransferId};
use thalweg_units::NodeId;
use ureq::http::StatusCode;

use super::follow::{show, Follower, News};
use super::http::{Client, Trouble};
use super::model::{Job, Jobs, Network, Object, State, Stations};
use super::objects::{download, is_whole};
use super::report::{self, Stored};
use crate::address::Address;
use crate::all_nodes::{self, CampaignSummary, Line};
use crate::args::CollectArgs;
use crate::failure::{one_line, Failure};
use crate::interrupt::Interrupt;
use crate::output::{self, plural};
use crate::progress::Reporter;
use crate::table::number;
use crate::values::Node;

/// How long a job that was cancelled may take to end.
const ENDING: Duration = Duration::from_secs(10);

/// Has the gateway at `address` fetch what `args` ask for.
pub(crate) fn run(args: &CollectArgs, address: &Address) -> Result<(), Failure> {
    let from = wanted(args)?;
    if args.out.exists() && !args.out.is_dir() {
        return Err(StoreError::NotAFolder(args.out.clone()).into());
    }
    let client = Client::new(address, args.token_file.as_deref())?;
    let mut store = Store::open(&args.out)?;
    let all: Stations = client.get("/api/stations")?;
    let networks = chosen(args, all.stations)?;
    let interrupt = Interrupt::on_signals();
    let mut jobs = Vec::new();
    for network in &networks {
        match order(&client, network, (&from, args.priority)) {
            Ok(more) => jobs.extend(more),
            Err(why) => {
                // All or none, as far as the gateway can be reached.
                let ids: Vec<i64> = jobs.iter().map(|job: &Job| job.id).collect();
                let _ = cancel(&client, &ids);
                return Err(why.into());
            }
        }
    }
    let mut collecting = Collecting {
        client: &client,
        follower: Follower::new(&client),
        interrupt,
        reporter: Reporter::to_stderr(args.say.verbosity()),
        total: jobs.len(),
        left: jobs.into_iter().map(|job| (job.id, job)).collect(),
    };
    let mut ended = Vec::new();
    let done = collecting.all(&mut store, &mut ended);
    collecting.reporter.finish();
    if let Err(why) = done {
        return Err(collecting.left_behind(why));
    }
    let Some((job, result)) = ended.first().filter(|_| ended.len() == 1) else {
        return several(args, &networks, &ended);
    };
    let network = networks.first().ok_or_else(|| Failure::job("no station"))?;
    match result {
        Ok(stored) if args.json => output::print_json(&report::json(&client, job, stored)),
        Ok(stored) => output::print(&report::text(&client, network, job, stored)),
        Err(why) => Err(Failure::Job(format!("{}: {why}", job.name()))),
    }
}

/// What the API calls `from`.
fn wanted(args: &CollectArgs) -> Result<Value, Failure> {
    let numbers = args.from.iter().map(|node| match node {
        Node::Number(id) => Ok(id.get()),
        Node::Name(name) => Err(Failure::Input(format!(
            "--from {}: --gateway takes a node's number; the gateway's page has those of names",
            one_line(name)
        ))),
    });
    let mut nodes = numbers.collect::<Result<Vec<u16>, _>>()?;
    nodes.sort_unstable();
    nodes.dedup();
    match (&nodes[..], args.all_nodes) {
        (_, true) => Ok(json!("all")),
        ([], false) => Err(Failure::input("--gateway: say --from NODE, or --all-nodes")),
        ([one], false) => Ok(json!(one)),
        (several, false) => Ok(json!(several)),
    }
}

/// The stations that are meant: the one that is named, or the only one; all where all nodes are meant.
fn chosen(args: &CollectArgs, all: Vec<Network>) -> Result<Vec<Network>, Failure> {
    let names: Vec<String> = all.iter().map(|of| one_line(&of.name)).collect();
    let names = names.join(", ");
    let Some(name) = &args.station else {
        return match all.len() {
            0 | 1 => Ok(all),
            _ if args.all_nodes => Ok(all),
            _ => Err(Failure::Input(format!(
                "--station: the gateway has several; expected one of {names}"
            ))),
        };
    };
    let meant: Vec<Network> = all.into_iter().filter(|of| of.name == *name).collect();
    match meant.is_empty() {
        false => Ok(meant),
        true => Err(Failure::Input(format!(
            "--station {}: there is none; expected one of {names}",
            one_line(name)
        ))),
    }
}

/// Orders the objects of nodes `from` of `network`, with a priority.
fn order(
    client: &Client,
    network: &Network,
    (from, priority): (&Value, i8),
) -> Result<Vec<Job>, Trouble> {
    let station = &network.name;
    let request =
        json!({ "kind": "fetch", "from": from, "station": station, "priority": priority });
    let answer = client.post("/api/jobs", &request)?;
    if answer.get("jobs").is_none() {
        return Ok(vec![client.understood(answer)?]);
    }
    let answer: Jobs = client.understood(answer)?;
    let jobs = answer.jobs.into_iter().map(|job| client.understood(job));
    jobs.collect()
}

/// The result of a job: where its object is, or why there is none.
type JobResult = Result<Stored, String>;

/// Jobs that are followed to their ends.
struct Collecting<'a> {
    client: &'a Client,
    follower: Follower<'a>,
    interrupt: Interrupt,
    reporter: Reporter,
    total: usize,
    /// Their last states.
    left: BTreeMap<i64, Job>,
}

/// Why not all jobs were followed.
enum Stop {
    Interrupted,
    Failed(Failure),
}

impl From<Trouble> for Stop {
    fn from(why: Trouble) -> Self {
        Self::Failed(why.into())
    }
}
impl From<Failure> for Stop {
    fn from(why: Failure) -> Self {
        Self::Failed(why)
    }
}
impl From<StoreError> for Stop {
    fn from(why: StoreError) -> Self {
        Self::Failed(why.into())
    }
}

impl Collecting<'_> {
    /// Follows all jobs, and stores what they bring.
    fn all(&mut self, store: &mut Store, ended: &mut Vec<(Job, JobResult)>) -> Result<(), Stop> {
        while !self.left.is_empty() {
            if self.interrupt.is_set() {
                return Err(Stop::Interrupted);
            }
            let ids: Vec<i64> = match self.follower.next()? {
                News::Nothing => continue,
                News::Missed => self.left.keys().copied().collect(),
                News::Job(_, job) => match self.left.get_mut(&job.id) {
                    None => continue,
                    Some(left) => {
                        *left = *job;
                        let id = left.id;
                        self.at(id, store, ended)?;
                        continue;
                    }
                },
            };
            for id in ids {
                let path = format!("/api/jobs/{id}");
                let job = self.patiently(|client| client.get::<Job>(&path))?;
                self.left.insert(id, job);
                self.at(id, store, ended)?;
            }
        }
        Ok(())
    }

    fn patiently<T>(
        &mut self,
        request: impl FnMut(&Client) -> Result<T, Trouble>,
    ) -> Result<T, Stop> {
        let answer = self.follower.patiently(&self.interrupt, request)?;
        answer.ok_or(Stop::Interrupted)
    }

    /// Shows the progress of job `id`; stores its object where it has ended.
    fn at(
        &mut self,
        id: i64,
        store: &mut Store,
        ended: &mut Vec<(Job, JobResult)>,
    ) -> Result<(), Stop> {
        let Some(job) = self.left.get(&id).cloned() else {
            return Ok(());
        };
        if !job.state.is_end() {
            // Of many, the one that runs.
            if self.total > 1 {
                if job.state == State::Queued {
                    return Ok(());
                }
                let context = format!("{} of {}", ended.len() + 1, self.total);
                self.reporter.set_context(&context);
            }
            show(&mut self.reporter, &job);
            return Ok(());
        }
        let result = match (job.state, job.object, &job.error) {
            (State::Done, Some(object), _) => Ok(self.bring(object, &job, store)?),
            (State::Cancelled, ..) => Err("it was cancelled".to_owned()),
            (_, _, Some(why)) => Err(one_line(why)),
            (..) => Err("it brought nothing".to_owned()),
        };
        self.left.remove(&id);
        if self.total > 1 {
            let line = match &result {
                Ok(_) => format!(
                    "node {}: {} kbit/s",
                    job.node(),
                    number(job.measured("goodput_kbps"), 1.0, 1)
                ),
                Err(why) => format!("node {}: the object did not arrive: {why}", job.node()),
            };
            let done = self.total - self.left.len();
            let line = format!("{line}; {done} of {} nodes", self.total);
            self.reporter.line(&line);
        }
        ended.push((job, result));
        Ok(())
    }

    /// Downloads object `id`, which `job` brought, and stores it.
    fn bring(&mut self, id: i64, job: &Job, store: &mut Store) -> Result<Stored, Stop> {
        let path = format!("/api/objects/{id}");
        let object = self.patiently(|client| client.get::<Object>(&path))?;
        self.reporter.step(&format!("object {id}: downloading"), "");
        let interrupt = self.interrupt.clone();
        let goes_on = || !interrupt.is_set();
        let bytes = self.patiently(|client| download(client, &object, &goes_on))?;
        let bytes = bytes.ok_or(Stop::Interrupted)?;
        let digest = match object.sha256.as_deref() {
            Some(digest) if is_whole(&object, &bytes) => digest,
            _ => {
                let line = format!(
                    "object {id}: what came has another SHA-256 than the gateway tells; it was not stored"
                );
                return Err(Failure::Job(line).into());
            }
        };
        let stored = |path: String| Stored {
            path,
            digest: digest.to_owned(),
            bytes: object.bytes,
            sealed: object.sealed,
        };
        // Where this is the gateway's own store, it has the object already.
        let own = store.transfer(TransferId(id))?.filter(|own| {
            own.digest.as_deref() == Some(digest)
                && own.stored_at == object.stored_at
                && own.record.source.get() == object.from
        });
        if let Some(path) = own.and_then(|own| own.object) {
            return Ok(stored(path.display().to_string()));
        }
        let outcome = job.outcome.clone().unwrap_or(Value::Null);
        let report = outcome.to_string();
        let summary: Summary = self.client.understood(outcome)?;
        let kept = store.keep(
            &NewTransfer {
                record: &summary,
                baseline: None,
                report: &report,
                campaign: None,
                job: None,
                file: object.file.as_deref(),
            },
            &bytes,
        )?;
        if kept.fate == Fate::Identical {
            let line = "thalweg: the store had the same object already; it was left as it is";
            self.reporter.line(line);
        }
        Ok(stored(kept.path.display().to_string()))
    }

    /// The failure of `why`, and what becomes of the jobs left: an interrupt cancels them.
    fn left_behind(&self, why: Stop) -> Failure {
        let ids: Vec<i64> = self.left.keys().copied().collect();
        let jobs = match &ids[..] {
            [one] => format!("job {one}"),
            more => plural(more.len(), "job", "jobs"),
        };
        match why {
            Stop::Interrupted => {
                let verb = if ids.len() == 1 { "is" } else { "are" };
                Failure::Job(match cancel(self.client, &ids) {
                    Ok(Cancelled::Ended) => format!("interrupted; {jobs} {verb} cancelled"),
                    Ok(Cancelled::Asked) => format!("interrupted; {jobs} {verb} being cancelled"),
                    Err(why) => format!("interrupted; {jobs} may go on: {why}"),
                })
            }
            Stop::Failed(Failure::Job(why)) if !ids.is_empty() => Failure::Job(format!(
                "{why}; {jobs} may go on there: `thalweg jobs` tells"
            )),
            Stop::Failed(why) => why,
        }
    }
}

/// How far jobs are that were cancelled.
enum Cancelled {
    /// They have ended.
    Ended,
    /// They will.
    Asked,
}

/// Cancels the jobs `ids`, and waits a while until they have ended.
fn cancel(client: &Client, ids: &[i64]) -> Result<Cancelled, String> {
    let text = |why: Trouble| match why {
        Trouble::Gone(why) | Trouble::Refused(_, why) | Trouble::Strange(why) => why,
    };
    for id in ids {
        match client.delete(&format!("/api/jobs/{id}")) {
            // It has ended by itself.
            Ok(_) | Err(Trouble::Refused(StatusCode::CONFLICT, _)) => {}
            Err(why) => return Err(text(why)),
        }
    }
    let end = Instant::now() + ENDING;
    for id in ids {
        let path = format!("/api/jobs/{id}");
        while !client.get::<Job>(&path).map_err(text)?.state.is_end() {
            if Instant::now() > end {
                return Ok(Cancelled::Asked);
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
    Ok(Cancelled::Ended)
}

/// What is printed of several jobs.
fn several(
    args: &CollectArgs,
    networks: &[Network],
    ended: &[(Job, JobResult)],
) -> Result<(), Failure> {
    let count = |job: &Job, key: &str| job.measured(key).map(|n| n as u32);
    let mut lines: Vec<Line> = Vec::new();
    for (job, result) in ended {
        let source = job.from.as_ref().and_then(Value::as_u64);
        let source = source.and_then(|node| NodeId::new(u16::try_from(node).ok()?).ok());
        lines.push(Line {
            // Nodes of one station need not say whose they are.
            station: job.station.clone().filter(|_| networks.len() > 1),
            source: source.map_or(0, NodeId::get),
            verified: result.is_ok(),
            sealed: result.as_ref().is_ok_and(|stored| stored.sealed),
            failure: result.as_ref().err().cloned(),
            bytes: result.as_ref().ok().map(|stored| stored.bytes),
            goodput_kbps: job.measured("goodput_kbps"),
            rounds: count(job, "rounds"),
            hops: count(job, "hops"),
            paths: count(job, "paths"),
            energy_j: job.measured("energy_j"),
            duration_s: job.measured("duration_s"),
            digest: result.as_ref().ok().map(|stored| stored.digest.clone()),
            label: None,
        });
    }
    lines.sort_by(|a, b| (&a.station, a.source).cmp(&(&b.station, b.source)));
    let sinks = networks.iter();
    let sinks = sinks.map(|of| format!("{}: sink {}", one_line(&of.name), of.sink));
    let sinks: Vec<String> = sinks.collect();
    let summary = CampaignSummary::of(lines);
    match args.json {
        true => output::print_json(&summary)?,
        false => output::print(&format!(
            "{}\n\n{}",
            sinks.join("; "),
            all_nodes::text(&summary)
        ))?,
    }
    match summary.missing() {
        0 => Ok(()),
        missing => Err(Failure::Told(
            format!("{missing} of {} objects did not arrive", ended.len()),
            1,
        )),
    }
}
