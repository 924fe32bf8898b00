//! Sites: a testbed realised with a seed, and its links as the network itself measured them. Kept
//! for all experiments of one run of the program, since most begin with the same survey.
//!
//! Invariant: what a site is depends on testbed, seed and survey only, never on who asked first.

use super::{ExperimentError, Ticker};
use crate::testbed::{Losses, Testbed};
use crate::transfer::{Session, Survey, Surveyed};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_medium::random::derive;
use thalweg_medium::Environment;
use thalweg_units::{Channel, ChannelSet, Duration};

/// A testbed realised with a seed.
#[derive(Debug, Clone)]
pub struct Site {
    /// How it was asked for: a built-in name or a file.
    pub name: String,
    /// The testbed.
    pub testbed: Arc<Testbed>,
    /// Its seed.
    pub seed: u64,
    /// The radio environment.
    pub environment: Arc<Environment>,
}

type Key = (String, u64);
type SurveyKey = (String, u64, u16, u8, u64);

/// Sites and surveys so far.
#[derive(Debug, Default)]
pub struct Sites {
    testbeds: Mutex<BTreeMap<String, Arc<Testbed>>>,
    environments: Mutex<BTreeMap<Key, Arc<Environment>>>,
    surveys: Mutex<BTreeMap<SurveyKey, Arc<Surveyed>>>,
    losses: Losses,
}

/// What `cache` has of `key`, or what `make` gives, which runs unlocked: two may make the same.
fn kept<K: Ord + Clone, V: Clone, E>(
    cache: &Mutex<BTreeMap<K, V>>,
    key: &K,
    make: impl FnOnce() -> Result<V, E>,
) -> Result<V, E> {
    let found = cache
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(key)
        .cloned();
    if let Some(found) = found {
        return Ok(found);
    }
    let made = make()?;
    let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(cache.entry(key.clone()).or_insert(made).clone())
}

/// The survey of P3's evaluation (section IV-D1): N_b = 10, IPI = 100 ms, on one channel.
pub fn faithful_survey(channel: Channel) -> Survey {
    Survey {
        channels: [channel].into_iter().collect(),
        beacons: 10,
        interval: Duration::from_millis(100),
    }
}

impl Sites {
    /// None yet, and `losses` on every testbed, of which surveys and planners know nothing.
    pub fn with_losses(losses: Losses) -> Self {
        Self {
            losses,
            ..Self::default()
        }
    }

    /// The testbed of that name or file.
    ///
    /// # Errors
    /// [`ExperimentError::Testbed`]; [`ExperimentError::Loss`] where it has not the nodes that losses
    /// are to be between.
    pub fn testbed(&self, name: &str) -> Result<Arc<Testbed>, ExperimentError> {
        kept(&self.testbeds, &name.to_owned(), || {
            let Losses { links, psdu_bytes } = &self.losses;
            Ok(Arc::new(
                Testbed::load(name)?.with_losses(links, *psdu_bytes)?,
            ))
        })
    }
    /// The testbed of that name or file, without losses.
    ///
    /// # Errors
    /// [`ExperimentError::Testbed`].
    pub(super) fn undisturbed(&self, name: &str) -> Result<Arc<Testbed>, ExperimentError> {
        Ok(Arc::new(Testbed::load(name)?))
    }

    /// The site of `testbed` with `seed`.
    ///
    /// # Errors
    /// [`ExperimentError::Testbed`]; [`ExperimentError::Loss`] where a link with a loss is not there.
    pub fn site(&self, testbed: &str, seed: u64) -> Result<Site, ExperimentError> {
        let loaded = self.testbed(testbed)?;
        let environment = kept(&self.environments, &(testbed.to_owned(), seed), || {
            Ok::<_, ExperimentError>(Arc::new(loaded.inject(loaded.realise(seed))?))
        })?;
        Ok(Site {
            name: testbed.to_owned(),
            testbed: loaded,
            seed,
            environment,
        })
    }

    /// Its links as measured under `survey` and collected at the testbed's sink.
    ///
    /// # Errors
    /// [`ExperimentError`].
    pub(super) fn survey(
        &self,
        site: &Site,
        survey: Survey,
        ticker: &Ticker<'_>,
    ) -> Result<Arc<Surveyed>, ExperimentError> {
        let bits = |set: ChannelSet| set.iter().fold(0u16, |bits, c| bits | 1 << c.index());
        let (name, channels) = (site.name.clone(), bits(survey.channels));
        let key = (
            name,
            site.seed,
            channels,
            survey.beacons,
            survey.interval.as_nanos(),
        );
        kept(&self.surveys, &key, || {
            // Losses injected on purpose begin after the survey.
            let calm = match site.testbed.losses.links.is_empty() {
                true => site.clone(),
                false => Site {
                    environment: Arc::new(site.testbed.realise(site.seed)),
                    ..site.clone()
                },
            };
            Ok(Arc::new(survey_once(&calm, survey, ticker)?))
        })
    }
}

/// The links of `site` as measured under `survey` and collected at the testbed's sink.
///
/// # Errors
/// [`ExperimentError`].
pub(super) fn survey_once(
    site: &Site,
    survey: Survey,
    ticker: &Ticker<'_>,
) -> Result<Surveyed, ExperimentError> {
    let seed = derive(site.seed, "survey", &[]);
    let mut session = Session::open(&site.testbed, site.environment.clone(), seed)?;
    let sink = site.testbed.sink_index();
    let mut observer = |_| match ticker.stopped() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    Ok(session.survey(sink, survey, &mut observer)?)
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let go_on = |_, _| ControlFlow::Continue(());
        let ticker = Ticker::new(1, &go_on);
        let surveyed = sites.survey(&site, faithful_survey(on), &ticker).unwrap();
        assert_eq!(surveyed.links.prr(1, 0, on), 1.0);
        assert!(sites.site("line5", 1).is_ok());
    }
}
