//! A K7 trace of a campaign: senders take turns, round after round, and all others listen. Silence has
//! no row, so a link's ratio is taken over every round in which its sender sent and its receiver was hearing
//! anyone at all. Times are seconds; only their differences matter.
//! Where each sender takes its turn many times, a visit is one turn of each; times in which nobody measured, such as
//! nights between days, are no visits. Tests: `k7_tests.rs`.

use std::collections::BTreeMap;

use super::Row;
use crate::error::{Problem, TestbedError};
use crate::trace::{TraceLink, Visits};
use thalweg_units::Duration;

/// Most rounds of one campaign; bounds the work on a hostile file.
const MAX_ROUNDS: usize = 2_000;

/// All rows of a campaign, and when each node was hearing anyone.
pub(super) struct Campaign {
    /// Longest pause, in seconds, between rows of one round of one sender on one channel.
    cell_s: i64,
    /// Sorted by (src, channel, time, dst).
    rows: Vec<Row>,
    /// Per node, the times at which it heard anyone, ascending.
    heard_s: Vec<Vec<i64>>,
}

/// One sender's turn on one channel.
struct Round {
    at_s: i64,
    frames: u32,
}

/// The median of the times between rounds, seconds; 0 of a single one.
fn usual_pause(rounds: &[Round]) -> i64 {
    let mut pauses: Vec<i64> = pauses(rounds).collect();
    pauses.sort_unstable();
    pauses.get(pauses.len() / 2).copied().unwrap_or(0)
}

fn pauses(rounds: &[Round]) -> impl Iterator<Item = i64> + '_ {
    rounds.windows(2).map(|pair| match pair {
        [a, b] => b.at_s - a.at_s,
        _ => 0,
    })
}

/// Which of the times at which measuring began is the last up to `at_s`, and that time.
fn session(begins_s: &[i64], at_s: i64) -> (usize, i64) {
    let after = begins_s.partition_point(|begin| *begin <= at_s);
    let session = after.saturating_sub(1);
    (session, begins_s.get(session).copied().unwrap_or(at_s))
}

impl Campaign {
    /// `rows` among so many `nodes`, with `spacing_ms` between two frames of a sender.
    pub(super) fn new(spacing_ms: f64, mut rows: Vec<Row>, nodes: usize) -> Self {
        let frames = rows.iter().map(|row| row.frames).max().unwrap_or(0);
        let cell_ms = f64::from(frames) * spacing_ms;
        // Rows of one round bear the times of different frames of it, so they lie within a cell.
        let cell_s = ((2.0 * cell_ms / 1000.0) as i64).max(1);
        rows.sort_by_key(|r| (r.src, r.channel, r.at_s, r.dst));
        let mut heard_s = vec![Vec::new(); nodes];
        for row in rows.iter().filter(|r| r.prr > 0.0) {
            if let Some(times) = heard_s.get_mut(usize::from(row.dst)) {
                times.push(row.at_s);
            }
        }
        for times in &mut heard_s {
            times.sort_unstable();
            times.dedup();
        }
        Self {
            cell_s,
            rows,
            heard_s,
        }
    }

    /// Every link's mean over the campaign.
    pub(super) fn links(&self, source_name: &str) -> Result<Vec<TraceLink>, TestbedError> {
        let mut links = Vec::new();
        let together = |a: &Row, b: &Row| (a.src, a.channel) == (b.src, b.channel);
        for turns in self.rows.chunk_by(together) {
            let rounds = self.rounds(turns);
            if rounds.len() > MAX_ROUNDS {
                let problem = Problem::TooLarge("rounds", MAX_ROUNDS as u64);
                return Err(problem.at(source_name, crate::error::Location::Whole));
            }
            let mut by_receiver = turns.to_vec();
            by_receiver.sort_by_key(|r| (r.dst, r.at_s));
            for rows in by_receiver.chunk_by(|a, b| a.dst == b.dst) {
                links.extend(self.link(rows, &rounds));
            }
        }
        Ok(links)
    }

    /// The links as each round of all senders found them. A round of one sender on one channel belongs to the visit that
    /// its time is nearest to, counted in the usual time between two of its rounds.
    pub(super) fn visits(&self) -> Visits {
        let together = |a: &Row, b: &Row| (a.src, a.channel) == (b.src, b.channel);
        let turns = || self.rows.chunk_by(together);
        let mut pauses: Vec<i64> = turns()
            .flat_map(|rows| pauses(&self.rounds(rows)).collect::<Vec<_>>())
            .collect();
        pauses.sort_unstable();
        let Some(period) = pauses.get(pauses.len() / 2).map(|pause| (*pause).max(1)) else {
            return Visits::default();
        };
        let begins_s = self.begins(period);
        let mut found: BTreeMap<(usize, i64), Vec<TraceLink>> = BTreeMap::new();
        for rows in turns() {
            let mut turn: Option<(usize, i64)> = None;
            for row in rows {
                let (session, begin_s) = session(&begins_s, row.at_s);
                // The sender's turn within a visit.
                let turn_s = match turn {
                    Some((of, turn_s)) if of == session => turn_s,
                    _ => (row.at_s - begin_s) % period,
                };
                turn = Some((session, turn_s));
                let visit = (row.at_s - begin_s - turn_s + period / 2) / period;
                let Some(channel) = row.channel else { continue };
                found.entry((session, visit)).or_default().push(TraceLink {
                    from: row.src,
                    to: row.dst,
                    channel,
                    prr: f64::from(row.prr),
                    rssi_dbm: row.rssi_dbm.map(f64::from),
                });
                // Sparse in time, or hostile: no campaign of so many rounds is read at all.
                if found.len() > MAX_ROUNDS {
                    return Visits::default();
                }
            }
        }
        // A visit that found less than half of what visits usually find was broken off.
        let mut sizes: Vec<usize> = found.values().map(Vec::len).collect();
        sizes.sort_unstable();
        let usual = sizes.get(sizes.len() / 2).copied().unwrap_or(0);
        let mut links: Vec<Vec<TraceLink>> = found.into_values().collect();
        links.retain(|links| 2 * links.len() >= usual);
        Visits {
            links,
            period: Duration::from_secs(period as u64),
            survey: None,
        }
    }

    /// When measuring began, and began again after a pause in which a whole visit would have had its place.
    fn begins(&self, period: i64) -> Vec<i64> {
        let mut times: Vec<i64> = self.rows.iter().map(|row| row.at_s).collect();
        times.sort_unstable();
        let mut begins: Vec<i64> = times.first().copied().into_iter().collect();
        let pauses = times.windows(2).filter_map(|pair| match pair {
            [a, b] if b - a > period => Some(*b),
            _ => None,
        });
        begins.extend(pauses);
        begins
    }

    fn rounds(&self, turns: &[Row]) -> Vec<Round> {
        let mut rounds: Vec<Round> = Vec::new();
        let mut last_s = i64::MIN;
        for row in turns {
            match rounds.last_mut() {
                Some(round) if row.at_s.saturating_sub(last_s) <= self.cell_s => {
                    round.frames = round.frames.max(row.frames);
                }
                _ => rounds.push(Round {
                    at_s: row.at_s,
                    frames: row.frames,
                }),
            }
            last_s = row.at_s;
        }
        rounds
    }

    /// One link: frames heard over frames sent, silent rounds included.
    fn link(&self, rows: &[Row], rounds: &[Round]) -> Option<TraceLink> {
        let row = rows.first()?;
        let heard_s = self.heard_s.get(usize::from(row.dst))?;
        // Between two turns of a sender the receiver hears others; if it hears nobody for half
        // that long on either side, it was off.
        let half_s = usual_pause(rounds) / 2;
        let (mut sent, mut received) = (0.0, 0.0);
        let (mut level, mut level_weight) = (0.0, 0.0);
        for row in rows {
            let frames = f64::from(row.frames);
            sent += frames;
            received += f64::from(row.prr) * frames;
            if let Some(rssi) = row.rssi_dbm.filter(|_| row.prr > 0.0) {
                level += f64::from(rssi) * f64::from(row.prr) * frames;
                level_weight += f64::from(row.prr) * frames;
            }
        }
        for round in rounds {
            let near = |by_s: i64, of_s: &[i64]| {
                let from = of_s.partition_point(|t| *t < round.at_s - by_s);
                of_s.get(from).is_some_and(|t| *t <= round.at_s + by_s)
            };
            let own = rows.partition_point(|r| r.at_s < round.at_s - self.cell_s);
            let own = rows.get(own);
            let has_row = own.is_some_and(|r| r.at_s <= round.at_s + self.cell_s);
            if !has_row && near(half_s, heard_s) {
                sent += f64::from(round.frames);
            }
        }
        Some(TraceLink {
            from: row.src,
            to: row.dst,
            channel: row.channel?,
            prr: received / sent,
            rssi_dbm: (level_weight > 0.0).then(|| level / level_weight),
        })
    }
}
