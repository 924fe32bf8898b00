//! Reception ratios of a link file, which may be percent: by the heading, by a `%` behind the value, or
//! because most of them are above 2. A table of ratios with a slip stays one of ratios, and the slip is an error.
//! Tests: `matrix.rs`.

use crate::error::{Location, Problem, MAX_PROBLEMS};

/// What the ratios of one file are.
#[derive(Debug, Default)]
pub(crate) struct Ratios {
    headed: bool,
    /// Whether a value has a `%`.
    marked: bool,
    /// Values above 0, and of these those above 2.
    some: u64,
    many: u64,
    /// The first that are above 1, and so none if the others are ratios.
    above_one: Vec<(Location, Problem)>,
}

impl Ratios {
    /// Sets whether the heading says percent.
    pub(crate) fn headed(&mut self, percent: bool) {
        self.headed = percent;
    }
    /// A value with `%` behind it, in the unit of the file's other values.
    pub(crate) fn percent(&mut self, share: f64) -> f64 {
        self.marked = true;
        share
    }
    /// Notes a value without unit.
    pub(crate) fn note(&mut self, value: f64) {
        self.some += u64::from(value > 0.0);
        self.many += u64::from(value > 2.0);
    }
    /// Notes that a value above 1 stands at `place`, which is a `problem` if the others are ratios.
    pub(crate) fn doubt(&mut self, place: Location, problem: Problem) {
        if self.above_one.len() < MAX_PROBLEMS {
            self.above_one.push((place, problem));
        }
    }
    /// Whether they are percent. A heading that says so is not believed where no value is above 1: a spreadsheet
    /// stores the 98 % that it shows as 0.98.
    pub(crate) fn are_percent(&self) -> bool {
        self.marked || (self.headed && !self.above_one.is_empty()) || self.many * 2 > self.some
    }
    /// What makes ratios of 0 to 1 of them.
    pub(crate) fn factor(&self) -> f64 {
        if self.are_percent() {
            0.01
        } else {
            1.0
        }
    }
    /// The values that are no ratios.
    pub(crate) fn faults(&mut self) -> Vec<(Location, Problem)> {
        let above = std::mem::take(&mut self.above_one);
        match self.are_percent() {
            true => Vec::new(),
            false => above,
        }
    }
}
