//! A K7 trace of a campaign: senders take turns, round after round, and all others listen. Silence has
//! no row, so a link's ratio is taken over every round in which its sender sent and its receiver was hearing
//! anyone at all. Times are seconds; only their differences matter.
//! Not modelled: how a link changes from round to round. Tests: `k7_tests.rs`.

use super::Row;
use crate::error::{Problem, TestbedError};
use crate::trace::TraceLink;

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
                return Err(problem.at(source_name, crate::error::Place::Whole));
            }
            let mut by_receiver = turns.to_vec();
            by_receiver.sort_by_key(|r| (r.dst, r.at_s));
            for rows in by_receiver.chunk_by(|a, b| a.dst == b.dst) {
                links.extend(self.link(rows, &rounds));
            }
        }
        Ok(links)
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
        let half_s = match rounds {
            [first, .., last] => (last.at_s - first.at_s) / (2 * (rounds.len() as i64 - 1)),
            _ => 0,
        };
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
