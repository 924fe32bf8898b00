//! Sites, and their links as the networks themselves measured them. Kept for all experiments of one run
//! of the program, since most begin with the same survey.
//!
//! Invariant: what is kept depends on testbed, seed and survey or run only, never on who asked first.

use super::{ExperimentError, Result};
use crate::results::Row;
use std::collections::{BTreeMap, VecDeque};
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

/// What was made under a key; empty while it is made.
type Slot<V> = Arc<Mutex<Option<V>>>;

/// What was made under keys.
type Cache<K, V> = Mutex<Made<K, V>>;

/// What was made, and in which order, with the pairs of nodes of each.
#[derive(Debug)]
struct Made<K, V> {
    slots: BTreeMap<K, Slot<V>>,
    made: VecDeque<(K, usize)>,
    pairs: usize,
}

/// Sites and surveys are kept until their networks have so many pairs of nodes together, the latest in any case: those of a
/// thousand seeds of 139 nodes. What is made again is the same.
const PAIRS: usize = 20_000_000;
/// So many rows are kept.
const ROWS: usize = 100_000;

/// Sites, surveys and what was reported about runs so far.
#[derive(Debug, Default)]
pub struct Sites {
    testbeds: Cache<String, Arc<Testbed>>,
    /// Testbeds that are values, with their digests.
    known: BTreeMap<String, String>,
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

/// What `cache` has of `key`, or what `make` gives, of a network of `nodes`. Other threads that ask for the same wait, so
/// `make` must not run anything in parallel.
fn kept<K: Ord + Clone, V: Clone, E>(
    cache: &Cache<K, V>,
    (key, nodes): (&K, usize),
    make: impl FnOnce() -> Result<V, E>,
) -> Result<V, E> {
    let slot = locked(cache).slots.entry(key.clone()).or_default().clone();
    let mut slot = locked(&slot);
    if let Some(found) = &*slot {
        return Ok(found.clone());
    }
    let made = slot.insert(make()?).clone();
    // Whoever has the cache may wait for a slot: never the other way about.
    drop(slot);
    locked(cache).note(key, nodes * nodes);
    Ok(made)
}

impl<K, V> Default for Made<K, V> {
    fn default() -> Self {
        Self {
            slots: BTreeMap::new(),
            made: VecDeque::new(),
            pairs: 0,
        }
    }
}

impl<K: Ord + Clone, V> Made<K, V> {
    /// What stands under `key` was made, of a network of so many pairs: the oldest gives way where there is too much.
    fn note(&mut self, key: &K, pairs: usize) {
        self.made.push_back((key.clone(), pairs));
        self.pairs += pairs;
        while self.pairs > PAIRS && self.made.len() > 1 {
            let Some((oldest, pairs)) = self.made.pop_front() else {
                return;
            };
            self.slots.remove(&oldest);
            self.pairs -= pairs;
        }
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

    /// The same with `losses`. For sites of which nothing is kept yet.
    #[must_use]
    pub fn losing(self, losses: Losses) -> Self {
        Self { losses, ..self }
    }

    /// The same with floods on channel `control`, or on each testbed's own. For sites of which nothing is kept yet.
    #[must_use]
    pub fn flooding_on(self, control: Option<Channel>) -> Self {
        Self { control, ..self }
    }

    /// The same, where `testbed` is called `name`, whatever else is called so: experiments run over a testbed that is a
    /// value.
    ///
    /// # Errors
    /// [`ExperimentError::ControlChannel`] where it was not measured on the channel of floods that was asked for.
    pub fn knowing(mut self, name: &str, testbed: impl Into<Arc<Testbed>>) -> Result<Self> {
        let testbed = testbed.into();
        self.known.insert(name.to_owned(), testbed.digest());
        let testbed = self.flooded(testbed)?;
        let slot = Arc::new(Mutex::new(Some(testbed)));
        locked(&self.testbeds).slots.insert(name.to_owned(), slot);
        Ok(self)
    }
    /// The testbeds that are values: their names and digests.
    pub(super) const fn known(&self) -> &BTreeMap<String, String> {
        &self.known
    }
    fn flooded(&self, testbed: Arc<Testbed>) -> Result<Arc<Testbed>> {
        let Some(control) = self.control else {
            return Ok(testbed);
        };
        let testbed = Arc::unwrap_or_clone(testbed).flooding_on(control);
        Ok(Arc::new(testbed.map_err(ExperimentError::ControlChannel)?))
    }

    /// The testbed of that name or file.
    ///
    /// # Errors
    /// Where it cannot be read, or was not measured on the channel of floods that was asked for.
    pub fn testbed(&self, name: &str) -> Result<Arc<Testbed>> {
        // Testbeds are few, and weigh nothing.
        kept(&self.testbeds, (&name.to_owned(), 0), || {
            self.flooded(Arc::new(Testbed::load(name)?))
        })
    }

    /// Names of the testbeds so far whose files leave something open, with what was made of it.
    pub fn assumed(&self) -> Vec<(String, Vec<Assumed>)> {
        let testbeds = locked(&self.testbeds).slots.clone();
        let assumed = |slot: &Mutex<Option<Arc<Testbed>>>| {
            let assumed = locked(slot).as_ref().map(|t| t.assumed.clone());
            assumed.filter(|assumed| !assumed.is_empty())
        };
        let named = testbeds.into_iter();
        named
            .filter_map(|(name, slot)| Some((name, assumed(&slot)?)))
            .collect()
    }

    /// The site of the testbed of that name or file with `seed`, [`AGE`] after its survey: the first radio of each
    /// node.
    ///
    /// # Errors
    /// As [`Sites::testbed`]; also where a link with a loss is not there.
    pub fn site(&self, testbed: &str, seed: u64) -> Result<Site> {
        let (key, testbed) = ((testbed.to_owned(), seed), self.testbed(testbed)?);
        kept(&self.sites, (&key, testbed.len()), || {
            self.later(Site::new(testbed.clone(), seed))
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

    /// What was reported about a run that another experiment made: several sweeps come by the same setting.
    pub(super) fn row(&self, key: &RunKey) -> Option<Row> {
        locked(&self.told).get(key).cloned()
    }
    /// Keeps what is reported about a run.
    pub(super) fn keep_row(&self, key: RunKey, row: &Row) {
        let mut told = locked(&self.told);
        if told.len() < ROWS {
            told.insert(key, row.clone());
        }
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
        kept(&self.surveys, (&key, site.testbed.len()), || {
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
    use thalweg_testbeds::LinkRow;
    use thalweg_units::Dbm;

    #[test]
    fn a_testbed_that_is_a_value_is_found_by_its_name() {
        let link = |src, dst| LinkRow {
            src,
            dst,
            channel: None,
            prr: 1.0,
            rssi_dbm: None,
        };
        let mine = Testbed::of_links("mine", &[link(1, 2), link(2, 1)]).unwrap();
        let sites = Sites::default().knowing("line5", mine.clone()).unwrap();
        assert_eq!(sites.site("line5", 1).unwrap().testbed.len(), 2);
        assert_eq!(sites.known()["line5"], mine.digest());
        let control = Some(Channel::FIRST);
        let narrow = |on| {
            let link = |src, dst| LinkRow {
                channel: Some(on),
                ..link(src, dst)
            };
            Testbed::of_links("mine", &[link(1, 2), link(2, 1)]).unwrap()
        };
        let knowing = |on| {
            Sites::default()
                .flooding_on(control)
                .knowing("a", narrow(on))
        };
        assert!(knowing(11).is_ok() && knowing(26).is_err());
    }

    #[test]
    fn the_oldest_gives_way_where_there_is_too_much() {
        let cache: Cache<u32, u32> = Cache::default();
        let nodes = 3_000;
        let of = |key: u32, made: &mut Vec<u32>| {
            let make = || {
                made.push(key);
                Ok::<_, ()>(key + 1)
            };
            assert_eq!(kept(&cache, (&key, nodes), make), Ok(key + 1));
        };
        let mut made = Vec::new();
        for key in [1, 2, 1, 3, 2, 1] {
            of(key, &mut made);
        }
        // Two fit: the third took the place of the first, which was made again.
        assert_eq!(made, [1, 2, 3, 1]);
        assert_eq!(locked(&cache).slots.len(), 2);
    }

    #[test]
    fn nobody_waits_for_the_cache_with_a_slot_in_hand() {
        use std::sync::mpsc::channel;
        use std::time::Duration as Wait;
        let cache: Arc<Cache<u32, u32>> = Arc::default();
        let ((making, is_made), (held, is_held), (done, is_done)) =
            (channel(), channel(), channel());
        let theirs = cache.clone();
        std::thread::spawn(move || {
            is_made.recv().unwrap();
            let all = locked(&theirs);
            held.send(()).unwrap();
            let found = *locked(&all.slots[&1]);
            done.send(found).unwrap();
        });
        std::thread::spawn(move || {
            let make = || {
                making.send(()).unwrap();
                is_held.recv().unwrap();
                Ok::<_, ()>(2)
            };
            kept(&cache, (&1, 1), make)
        });
        assert_eq!(is_done.recv_timeout(Wait::from_secs(20)), Ok(Some(2)));
    }

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
