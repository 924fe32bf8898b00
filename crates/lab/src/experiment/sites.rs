//! Sites, and their links as the networks themselves measured them. Kept for all experiments of one run
//! of the program, since most begin with the same survey.
//!
//! Invariant: what is kept depends on testbed, seed and survey or run only, never on who asked first.

use super::{ExperimentError, Result};
use crate::results::Row;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_host::job::Watch;
use thalweg_host::survey::{Survey, SurveyKind, SurveyOutcome};
use thalweg_medium::random::derive;
use thalweg_simnet::motes::Motes;
use thalweg_testbeds::{Assumed, Losses, Site, Testbed, AGE};
use thalweg_units::{Channel, Duration};

/// A testbed's name or file, and a seed.
type Key = (String, u64);
/// The site's key, then channels, beacons and interval, and when it began.
type SurveyKey = (Key, SurveyKind, u16, u8, u64, u64);

/// The site's key, and what ran there in full.
pub(super) type RunKey = (Key, String);

/// What was made under each key; empty while it is made.
type Cache<K, V> = Mutex<BTreeMap<K, Arc<Mutex<Option<V>>>>>;

/// Sites, surveys and what was told of runs so far.
#[derive(Debug, Default)]
pub struct Sites {
    testbeds: Cache<String, Arc<Testbed>>,
    sites: Cache<Key, Site>,
    surveys: Cache<SurveyKey, Arc<SurveyOutcome>>,
    told: Mutex<BTreeMap<RunKey, Row>>,
    losses: Losses,
    /// Where floods go, if not on the testbeds' own channels.
    control: Option<Channel>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `cache` has of `key`, or what `make` gives. Other threads that ask for the same wait, so `make` must not run
/// anything in parallel.
fn kept<K: Ord + Clone, V: Clone, E>(
    cache: &Cache<K, V>,
    key: &K,
    make: impl FnOnce() -> Result<V, E>,
) -> Result<V, E> {
    let slot = locked(cache).entry(key.clone()).or_default().clone();
    let mut slot = locked(&slot);
    match &*slot {
        Some(found) => Ok(found.clone()),
        None => Ok(slot.insert(make()?).clone()),
    }
}

/// The survey of P3's evaluation (section IV-D1): N_b = 10, IPI = 100 ms, on one channel.
pub fn faithful_survey(channel: Channel) -> Survey {
    Survey {
        interval: Duration::from_millis(100),
        ..Survey::of([channel].into_iter().collect())
    }
}

impl Sites {
    /// None yet, and `losses` on every site, of which surveys and planners know nothing.
    pub fn with_losses(losses: Losses) -> Self {
        Self {
            losses,
            ..Self::default()
        }
    }

    /// The same with floods on channel `control`, or on each testbed's own. For sites of which nothing is kept yet.
    #[must_use]
    pub fn flooding_on(self, control: Option<Channel>) -> Self {
        Self { control, ..self }
    }

    /// The testbed of that name or file.
    ///
    /// # Errors
    /// Where it cannot be read, or was not measured on the channel of floods that was asked for.
    pub fn testbed(&self, name: &str) -> Result<Arc<Testbed>> {
        kept(&self.testbeds, &name.to_owned(), || {
            let testbed = Testbed::load(name)?;
            let testbed = match self.control {
                Some(control) => testbed
                    .flooding_on(control)
                    .map_err(ExperimentError::ControlChannel)?,
                None => testbed,
            };
            Ok(Arc::new(testbed))
        })
    }

    /// Names of the testbeds so far whose files leave something open, with what was made of it.
    pub fn assumed(&self) -> Vec<(String, Vec<Assumed>)> {
        let testbeds = locked(&self.testbeds);
        let assumed = |slot: &Mutex<Option<Arc<Testbed>>>| {
            let assumed = locked(slot).as_ref().map(|t| t.assumed.clone());
            assumed.filter(|assumed| !assumed.is_empty())
        };
        let named = testbeds.iter();
        named
            .filter_map(|(name, slot)| Some((name.clone(), assumed(slot)?)))
            .collect()
    }

    /// The site of the testbed of that name or file with `seed`, [`AGE`] after its survey: the first radio of each
    /// node.
    ///
    /// # Errors
    /// As [`Sites::testbed`]; also where a link with a loss is not there.
    pub fn site(&self, testbed: &str, seed: u64) -> Result<Site> {
        kept(&self.sites, &(testbed.to_owned(), seed), || {
            self.later(Site::new(self.testbed(testbed)?, seed))
        })
    }

    /// The same with all radios of each node.
    ///
    /// # Errors
    /// As [`Sites::site`]; also where a testbed's links were measured with one radio.
    pub(super) fn with_all_radios(&self, testbed: &str, seed: u64) -> Result<Site> {
        self.later(Site::with_all_radios(self.testbed(testbed)?, seed)?)
    }
    /// The losses on every site.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }
    /// As its transfers find it, the losses injected.
    fn later(&self, site: Site) -> Result<Site> {
        let Losses { links, psdu_bytes } = &self.losses;
        Ok(site.aged(AGE)?.with_losses(links, *psdu_bytes)?)
    }

    /// What was told of a run that another experiment made: several sweeps come by the same setting.
    pub(super) fn row(&self, key: &RunKey) -> Option<Row> {
        locked(&self.told).get(key).cloned()
    }
    /// Keeps what is told of a run.
    pub(super) fn keep_row(&self, key: RunKey, row: &Row) {
        locked(&self.told).insert(key, row.clone());
    }

    /// The links of `site`, that of the testbed called `testbed`, as measured under `survey`, which begins so long after
    /// time does, and collected at its sink. Losses that were injected begin after the survey.
    pub(super) fn survey(
        &self,
        (testbed, site): (&str, &Site),
        survey: Survey,
        begins: Duration,
        watch: Watch<'_>,
    ) -> Result<Arc<SurveyOutcome>> {
        let channels = survey.channels.iter().map(|c| 1 << c.index()).sum();
        let key = (testbed.to_owned(), site.seed);
        let Survey { kind, beacons, .. } = survey;
        let times = (survey.interval.as_nanos(), begins.as_nanos());
        let key = (key, kind, channels, beacons, times.0, times.1);
        kept(&self.surveys, &key, || {
            let site = match begins.is_zero() {
                true => site.undisturbed(),
                false => site.undisturbed().aged(begins)?,
            };
            Ok(Arc::new(survey_once(&site, survey, watch)?))
        })
    }
}

/// The links of `site` as measured under `survey` and collected at the testbed's sink.
pub(super) fn survey_once(site: &Site, survey: Survey, watch: Watch<'_>) -> Result<SurveyOutcome> {
    let mut session = Motes::open(site, derive(site.seed, "survey", &[]))?;
    let sink = site.testbed.sink_index();
    Ok(session.survey(sink, survey, watch)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow;
    use thalweg_medium::EarId;
    use thalweg_units::Dbm;

    #[test]
    fn losses_befall_a_site_and_not_its_survey() {
        let losses = Losses {
            links: vec!["2-1:0.5".parse().unwrap()],
            psdu_bytes: 127,
        };
        let sites = Sites::with_losses(losses);
        let site = sites.site("pair", 1).unwrap();
        let on = Channel::LAST;
        let prr = (site.environment).prr(EarId(1), EarId(0), on, 127, Dbm(0.0));
        assert!((prr - 0.5).abs() < 0.01, "{prr}");
        let go_on = &mut |_| ControlFlow::Continue(());
        let survey = faithful_survey(on);
        let surveyed = sites.survey(("pair", &site), survey, Duration::ZERO, go_on);
        let surveyed = surveyed.unwrap();
        assert_eq!(surveyed.links.prr(1, 0, on), 1.0);
        assert!(sites.site("line5", 1).is_ok());
    }
}
