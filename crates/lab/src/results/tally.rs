//! How many results lie in their bands, for each kind of judgement. Tests: `tally_tests.rs`.

use super::claims::Claim;
use super::verdict::{Basis, Judged};

/// Results of one basis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// How many are judged, those that were not measured included.
    pub of: usize,
    /// How many of them lie in their bands.
    pub within: usize,
    /// How many were not measured.
    pub silent: usize,
}

/// Results counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// By what judges them, in the order of [`Basis::ALL`].
    counts: [Count; Basis::ALL.len()],
    /// Those that nothing judges.
    pub printed: usize,
}

impl Tally {
    /// That of `results`, and of claims that nothing answers.
    pub fn of<'a>(
        results: impl IntoIterator<Item = &'a Judged>,
        unanswered: impl IntoIterator<Item = &'a Claim>,
    ) -> Self {
        let mut tally = Self::default();
        for result in results {
            match (result.judged, result.within) {
                (Some(basis), Some(within)) => {
                    let count = tally.at(basis);
                    count.of += 1;
                    count.within += usize::from(within);
                }
                // The band is another result's interval, and that has none.
                (Some(basis), None) => {
                    let count = tally.at(basis);
                    count.of += 1;
                    count.silent += 1;
                }
                (None, _) => tally.printed += 1,
            }
        }
        for judgement in unanswered.into_iter().filter_map(|c| c.judgement.as_ref()) {
            let count = tally.at(judgement.basis());
            count.of += 1;
            count.silent += 1;
        }
        tally
    }

    fn at(&mut self, basis: Basis) -> &mut Count {
        &mut self.counts[basis as usize]
    }

    /// Those that `basis` judges.
    pub fn count(&self, basis: Basis) -> Count {
        self.counts[basis as usize]
    }

    /// A line for each kind that there is.
    pub fn lines(&self) -> Vec<String> {
        let line = |basis: Basis| {
            let count = self.count(basis);
            let what = match basis {
                Basis::Paper => "judged by the papers' bands",
                Basis::Own => "judged by requirements of our own",
                Basis::Fitted => "[F] with a constant fitted to them",
            };
            let silent = match count.silent {
                0 => String::new(),
                n => format!(", {n} not measured"),
            };
            let line = format!("{what}: {} of {} within{silent}", count.within, count.of);
            (count.of > 0).then_some(line)
        };
        let printed = (self.printed > 0).then(|| format!("printed only: {}", self.printed));
        let judged = Basis::ALL.into_iter().filter_map(line);
        judged.chain(printed).collect()
    }
}

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;
