//! A testbed from links that are values, such as rows of a table. Tests: `links_tests.rs`.

use serde::{Deserialize, Serialize};
use thalweg_units::{Channel, ChannelSet, NodeId};

use crate::draft::{Draft, Measure, Refused, Repeats};
use crate::error::{Location, Problem, TestbedError, MAX_PROBLEMS};
use crate::names::{Names, NODE};
use crate::reception::Reception;
use crate::rows::RSSI_DBM;
use crate::testbed::Testbed;

/// A measured link from one node to another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkRow {
    /// The number of the node that sends.
    pub src: u16,
    /// The number of the node that receives.
    pub dst: u16,
    /// The channel, 11 to 26; none for all.
    pub channel: Option<u8>,
    /// Share of frames received, 0..=1.
    pub prr: f64,
    /// Mean RSSI of the frames received, -120 to 20 dBm, where it was measured.
    pub rssi_dbm: Option<f64>,
}

impl Testbed {
    /// The testbed called `name` whose links are `rows`; a pair without a row has no link.
    ///
    /// ```
    /// use thalweg_testbeds::{LinkRow, Testbed};
    /// let link = |src, dst, prr| LinkRow { src, dst, channel: None, prr, rssi_dbm: None };
    /// let mine = Testbed::of_links("mine", &[link(1, 2, 0.9), link(2, 1, 1.0)])?;
    /// assert_eq!((mine.name.as_str(), mine.len()), ("mine", 2));
    /// # Ok::<(), thalweg_testbeds::TestbedError>(())
    /// ```
    ///
    /// # Errors
    /// [`TestbedError`] with the rows that are not as they should be, counted from 0.
    pub fn of_links(name: &str, rows: &[LinkRow]) -> Result<Self, TestbedError> {
        let (mut draft, mut names) = (Draft::new(Repeats::Wrong), Names::default());
        let mut faults = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            if let Err(problem) = row.add(&mut draft, &mut names) {
                faults.push((Location::Row(at), problem));
            }
            if faults.len() == MAX_PROBLEMS {
                break;
            }
        }
        let mut faults = faults.into_iter();
        if let Some((place, problem)) = faults.next() {
            let mut error = problem.at(name, place);
            error.others = faults.collect();
            return Err(error);
        }
        let trace = draft.finish(names, 1.0, &Reception::default(), name)?;
        Ok(Self::from_trace(trace, name))
    }
}

impl LinkRow {
    /// Adds what it tells.
    fn add(&self, draft: &mut Draft, names: &mut Names) -> Result<(), Problem> {
        let wrong = |what: &str, found: &dyn ToString, expected: &str| {
            Problem::value(what, &found.to_string(), expected)
        };
        for (what, node) in [("src", self.src), ("dst", self.dst)] {
            NodeId::new(node).map_err(|_| wrong(what, &node, NODE))?;
        }
        if !(0.0..=1.0).contains(&self.prr) {
            return Err(wrong("prr", &self.prr, "a ratio from 0 to 1"));
        }
        if let Some(dbm) = self.rssi_dbm.filter(|dbm| !RSSI_DBM.contains(dbm)) {
            return Err(wrong("rssi_dbm", &dbm, "a level from -120 to 20 dBm"));
        }
        let channel = match self.channel {
            None => None,
            Some(number) => match Channel::new(number) {
                Ok(channel) => Some(channel),
                Err(_) => return Err(wrong("channel", &number, "11 to 26")),
            },
        };
        let channels: Option<ChannelSet> = channel.map(|channel| [channel].into_iter().collect());
        let ends = (
            names.index(&self.src.to_string())?,
            names.index(&self.dst.to_string())?,
        );
        let measure = Measure {
            ratio: Some(self.prr),
            rssi_dbm: self.rssi_dbm,
            weight: 1.0,
        };
        match draft.add(ends, channels, measure) {
            // As in files: counted, and reported by `assumed`.
            Ok(()) | Err(Refused::Own) => Ok(()),
            Err(Refused::Again(on)) => Err(Problem::DuplicateLink(
                self.src.to_string().into(),
                self.dst.to_string().into(),
                on.map(Channel::number),
                0,
            )),
        }
    }
}
