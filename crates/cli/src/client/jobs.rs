//! `thalweg jobs list|show|cancel|follow`: jobs of a gateway.

use serde_json::Value;

use super::follow::{show as show_progress, Follower, News};
use super::http::{Client, Trouble};
use super::model::{Group, Job, Jobs, State};
use crate::args::{At, JobsCommand, Say};
use crate::failure::{one_line, Failure};
use crate::interrupt::Interrupt;
use crate::output::{plural, print, print_json};
use crate::progress::Reporter;
use crate::table::{number, Table};

/// Runs `thalweg jobs`.
pub(crate) fn run(command: &JobsCommand) -> Result<(), Failure> {
    match command {
        JobsCommand::List { limit, at, json } => list(&client(at)?, *limit, *json),
        JobsCommand::Show { job, at, json } => show(&client(at)?, *job, *json),
        JobsCommand::Cancel {
            jobs,
            group,
            at,
            json,
        } => match group {
            Some(group) => cancel_group(&client(at)?, *group, *json),
            None => cancel(&client(at)?, jobs, *json),
        },
        JobsCommand::Follow {
            jobs,
            at,
            json,
            say,
        } => follow(&client(at)?, jobs, *json, *say),
    }
}

fn client(at: &At) -> Result<Client, Failure> {
    Client::new(&at.gateway, at.token_file.as_deref())
}

fn list(client: &Client, limit: u16, json: bool) -> Result<(), Failure> {
    let answer: Jobs = client.get(&format!("/api/jobs?limit={limit}"))?;
    if json {
        return print_json(&answer.jobs);
    }
    let jobs = answer.jobs.into_iter().map(|job| client.understood(job));
    let jobs: Vec<Job> = jobs.collect::<Result<_, _>>()?;
    let mut table = Table::of(&[
        ">id", ">group", "kind", ">node", "state", ">done, %", "asked at", "note",
    ]);
    for job in &jobs {
        table.row([
            job.id.to_string(),
            job.group
                .map_or_else(|| "-".to_owned(), |id| id.to_string()),
            one_line(&job.kind),
            job.node(),
            job.state.name().to_owned(),
            number(Some(job.progress), 100.0, 0),
            one_line(&job.asked_at),
            job.note(),
        ]);
    }
    let count = |state: State| jobs.iter().filter(|job| job.state == state).count();
    print(&format!(
        "{}\n{} at {}: {} running, {} queued\n",
        table.render(),
        plural(jobs.len(), "job", "jobs"),
        client.address(),
        count(State::Running),
        count(State::Queued)
    ))
}

fn show(client: &Client, id: i64, json: bool) -> Result<(), Failure> {
    let value = client.value(&format!("/api/jobs/{id}"))?;
    if json {
        return print_json(&value);
    }
    let job: Job = client.understood(value)?;
    let text = |text: &Option<String>| text.as_deref().map(one_line);
    let share = number(Some(job.progress), 100.0, 0);
    let state = match job.phase.as_ref().or(job.waits.as_ref()) {
        Some(why) if job.state == State::Queued => {
            format!("{}: {}", job.state.name(), one_line(why))
        }
        Some(phase) => format!("{}, {share} %: {}", job.state.name(), one_line(phase)),
        None => job.state.name().to_owned(),
    };
    let thought = job.expected("goodput_kbps").map(|kbps| {
        let time = number(job.expected("time_s"), 1.0, 1);
        format!("{kbps:.1} kbit/s, {time} s")
    });
    let measured = job
        .measured("duration_s")
        .map(|s| match job.measured("goodput_kbps") {
            Some(kbps) => format!("{kbps:.1} kbit/s, {s:.3} s"),
            None => format!("{s:.1} s"),
        });
    let rows = [
        ("job", Some(job.id.to_string())),
        ("kind", Some(one_line(&job.kind))),
        ("node", Some(job.node()).filter(|node| node != "-")),
        ("state", Some(state)),
        ("priority", Some(job.priority.to_string())),
        ("group", job.group.map(|id| id.to_string())),
        ("asked at", Some(one_line(&job.asked_at))),
        ("begun at", text(&job.begun_at)),
        ("ended at", text(&job.ended_at)),
        ("expected", thought),
        ("measured", measured),
        ("object", job.object.map(|object| object.to_string())),
        ("error", text(&job.error)),
    ];
    let lines = rows.into_iter().filter_map(|(name, value)| {
        let value = value?;
        Some(format!("{name:<10}{value}\n"))
    });
    print(&lines.collect::<String>())
}

fn cancel(client: &Client, ids: &[i64], json: bool) -> Result<(), Failure> {
    let mut jobs = Vec::new();
    let mut failed = None;
    for id in ids {
        match client.delete(&format!("/api/jobs/{id}")) {
            Ok(job) => jobs.push(job),
            // The others are cancelled all the same.
            Err(Trouble::Refused(status, why)) => {
                let why = format!("job {id}: {why}");
                failed.get_or_insert(Trouble::Refused(status, why));
            }
            Err(why) => return Err(why.into()),
        }
    }
    if json {
        print_json(&jobs)?;
    } else {
        for job in jobs {
            let job: Job = client.understood(job)?;
            let state = match job.state {
                State::Cancelled => "cancelled",
                _ => "is being cancelled",
            };
            print(&format!("{}: {state}\n", job.name()))?;
        }
    }
    failed.map_or(Ok(()), |why| Err(Failure::from(why).after_result()))
}

fn cancel_group(client: &Client, group: i64, json: bool) -> Result<(), Failure> {
    let answer = client.delete(&format!("/api/groups/{group}"))?;
    if json {
        return print_json(&answer);
    }
    let group: Group = client.understood(answer)?;
    let of = |state: State| group.states.get(state.name()).copied().unwrap_or(0);
    print(&format!(
        "group {}: {} cancelled, {} done before, {} failed{}\n",
        group.group,
        of(State::Cancelled),
        of(State::Done),
        of(State::Failed),
        match of(State::Running) {
            0 => "",
            _ => "; the one that runs is being cancelled",
        }
    ))
}

/// Shows `ids` until they have ended; all jobs where none is named.
fn follow(client: &Client, ids: &[i64], json: bool, say: Say) -> Result<(), Failure> {
    let interrupt = Interrupt::on_signals();
    let mut follower = Follower::new(client);
    let mut reporter = Reporter::to_stderr(say.verbosity());
    let mut left: Vec<i64> = ids.to_vec();
    left.sort_unstable();
    left.dedup();
    let (total, mut bad) = (left.len(), 0);
    // The state shown last, where all are followed.
    let mut before: Option<(i64, State)> = None;
    while !interrupt.is_set() && (total == 0 || !left.is_empty()) {
        let news: Vec<(Value, Job)> = match follower.next()? {
            News::Nothing => continue,
            News::Job(value, job) => vec![(value, *job)],
            News::Missed => polled(&mut follower, client, &left, &interrupt)?,
        };
        for (value, job) in news {
            // Of another, or one that has ended.
            if total > 0 && !left.contains(&job.id) {
                continue;
            }
            let is_new = before.replace((job.id, job.state)) != Some((job.id, job.state));
            if json {
                print_json(&value)?;
            } else if job.state.is_end() || (total == 0 && is_new) {
                reporter.finish();
                print(&format!("{}\n", line(&job)))?;
            }
            if job.state.is_end() {
                left.retain(|id| *id != job.id);
                bad += usize::from(job.state != State::Done);
            } else if !json {
                if total > 1 {
                    reporter.set_context(&format!("job {}", job.id));
                }
                show_progress(&mut reporter, &job);
            }
        }
    }
    reporter.finish();
    let ended = match (total, &left[..]) {
        (0, _) => Ok(()),
        (_, []) if bad == 0 => Ok(()),
        (_, []) => Err(Failure::Job(format!(
            "{bad} of {} did not bring what was asked for",
            plural(total, "job", "jobs")
        ))),
        (_, left) => Err(Failure::Job(format!(
            "interrupted; {} may go on",
            plural(left.len(), "job", "jobs")
        ))),
    };
    ended.map_err(Failure::after_result)
}

/// Jobs `ids` as they are now; none of those that were not asked for when the user wanted to stop.
fn polled(
    follower: &mut Follower<'_>,
    client: &Client,
    ids: &[i64],
    interrupt: &Interrupt,
) -> Result<Vec<(Value, Job)>, Failure> {
    let mut all = Vec::new();
    for id in ids {
        let path = format!("/api/jobs/{id}");
        let answer = follower.patiently(interrupt, |client| client.value(&path))?;
        if let Some(json) = answer {
            all.push((json.clone(), client.understood(json)?));
        }
    }
    Ok(all)
}

/// A job in a line.
fn line(job: &Job) -> String {
    match job.note() {
        note if note.is_empty() => format!("{}: {}", job.name(), job.state.name()),
        note => format!("{}: {}: {note}", job.name(), job.state.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_job_is_a_line_without_what_a_terminal_would_obey() {
        let value = json!({
            "id": 7, "kind": "fetch", "from": 3, "state": "failed", "priority": 0, "asked_at": "",
            "progress": 0.5, "error": "no\u{1b}[31m\nroute", "new": true,
        });
        let mut job: Job = serde_json::from_value(value).unwrap();
        assert_eq!(
            line(&job),
            "job 7: fetch from node 3: failed: no [31m route"
        );
        job.error = None;
        assert_eq!(line(&job), "job 7: fetch from node 3: failed");
        (job.state, job.object) = (State::Done, Some(4));
        job.outcome = Some(json!({ "goodput_kbps": 203.04 }));
        job.from = Some(json!([3, 4]));
        let expected = "job 7: fetch from node 3,4: done: object 4, 203.0 kbit/s";
        assert_eq!(line(&job), expected);
    }
}
