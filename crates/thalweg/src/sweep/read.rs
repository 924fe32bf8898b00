//! Rows of a folder read again, and what the experiment's metrics make of them at each point.
//! Tests: `folder_tests.rs`.

use super::folder::Folder;
use super::format::Points;
use super::task::{Failed, Point, Task, ERROR, POINT};
use crate::Error;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use thalweg_lab::experiment::{Experiment, Report};
use thalweg_lab::results::{Claims, ColumnKind, Extent, Row, Value, SEED};

impl Folder {
    /// The experiment, as the manifest has it.
    ///
    /// # Errors
    /// [`Error`] of kind input where this program does not take it any more.
    pub fn experiment(&self) -> Result<Experiment, Error> {
        let (id, text) = self.text();
        let experiment = Experiment::parse(Path::new(id), text);
        experiment.map_err(|why| Error::Input(why.to_string()))
    }

    /// The columns of the rows in its parts, and what they hold: a file of CSV, and one whose column is empty, does not say.
    ///
    /// # Errors
    /// As [`Self::experiment`].
    pub fn columns(&self) -> Result<BTreeMap<String, ColumnKind>, Error> {
        let experiment = self.experiment()?;
        let first = self.task(0);
        Ok(first.map_or_else(BTreeMap::new, |task| task.columns(&experiment)))
    }

    /// The rows of each point that was asked for, as far as its parts are there: in the order of points, then of seeds.
    ///
    /// # Errors
    /// [`Error`] where a part cannot be read.
    pub fn rows(&self) -> Result<Vec<(Point, Vec<Row>)>, Error> {
        let experiment = self.experiment()?;
        let mut of_points: HashMap<String, Vec<Row>> = HashMap::new();
        for n in 0..self.parts() {
            let (Some(points), Some(task)) = (self.found(n), self.task(n)) else {
                continue;
            };
            let rows = self.rows_of(&task, points, &experiment)?.into_iter();
            for row in rows.filter(|row| !row.0.contains_key(ERROR)) {
                if let Some(Value::Text(point)) = row.0.get(POINT) {
                    of_points.entry(point.clone()).or_default().push(row);
                }
            }
        }
        let asked = self.asked().iter();
        let mut of_point = |point: &Point| of_points.remove(&point.id).unwrap_or_default();
        Ok(asked
            .map(|point| (point.clone(), of_point(point)))
            .collect::<Vec<_>>())
    }

    /// The rows in the file of `task`.
    fn rows_of(
        &self,
        task: &Task,
        points: Points,
        experiment: &Experiment,
    ) -> Result<Vec<Row>, Error> {
        let path = self.path().join(task.file(points));
        let rows = task.format.decoded(&task.columns(experiment), &path);
        rows.map_err(|why| Error::Job(format!("{}: {why}", path.display())))
    }

    /// Points of part number `n` that had failed when the folder was looked at.
    ///
    /// # Errors
    /// [`Error`] where the part cannot be read.
    pub fn failed(&self, n: usize) -> Result<Vec<Failed>, Error> {
        let (Some(Points::SomeFailed), Some(task)) = (self.found(n), self.task(n)) else {
            return Ok(Vec::new());
        };
        let rows = self.rows_of(&task, Points::SomeFailed, &self.experiment()?)?;
        let failed = |row: &Row| {
            let (why, id) = (row.0.get(ERROR)?, row.0.get(POINT)?.to_string());
            let point = task.points.iter().find(|point| point.id == id);
            let words = point.map_or(id, Point::words);
            Some(task.failed(&words, &why.to_string()))
        };
        Ok(rows.iter().filter_map(failed).collect())
    }

    /// The experiment's report at each point that has rows, over the seeds that are there. A paper's claims count at no
    /// point: they are about the experiment as it is.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn reports(&self) -> Result<Vec<(Point, Report)>, Error> {
        let experiment = self.experiment()?;
        let report = |(point, rows): (Point, Vec<Row>)| {
            let changes: Vec<(&str, toml::Value)> = (point.at.iter())
                .map(|(key, value)| (key.as_str(), value.clone()))
                .collect();
            let changed = experiment.with(&changes);
            let changed = changed.map_err(|why| Error::Input(why.to_string()))?;
            let seeds = rows.iter().filter_map(|row| match row.0.get(SEED) {
                Some(Value::Whole(seed)) => u64::try_from(*seed).ok(),
                _ => None,
            });
            let seeds: Vec<u64> = seeds.collect::<BTreeSet<_>>().into_iter().collect();
            let report = Report::new(&changed, &seeds, rows, &Claims::default(), Extent::Full);
            Ok((point, report))
        };
        let rows = self.rows()?.into_iter();
        rows.filter(|(_, rows)| !rows.is_empty())
            .map(report)
            .collect()
    }
}
