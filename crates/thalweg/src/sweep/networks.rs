//! Networks given as links, not by name. A sweep's folder keeps the links beside its parts, so any process can make a part.
//! Tests: `folder_tests.rs`.

use super::files::{cannot, write};
use crate::Error;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use thalweg_lab::experiment::Sites;
use thalweg_testbeds::{LinkRow, Losses, Testbed};

/// Networks by the names that `run.testbed` has for them, and their digests.
pub(super) type Digests = BTreeMap<String, String>;

/// Networks given as links, by the names that `run.testbed` has for them.
#[derive(Debug, Clone, Default)]
pub struct Networks(BTreeMap<String, Known>);

#[derive(Debug, Clone)]
struct Known {
    links: Arc<[LinkRow]>,
    testbed: Arc<Testbed>,
    digest: String,
}

impl Networks {
    /// Adds the network of `links`, called `name`.
    ///
    /// # Errors
    /// [`Error::Testbed`] where links cannot be so; [`Error::Input`] where another is called so.
    pub fn and(mut self, name: &str, links: Arc<[LinkRow]>) -> Result<Self, Error> {
        let testbed = Testbed::of_links(name, &links)?;
        let digest = testbed.digest();
        if self.0.get(name).is_some_and(|known| known.digest != digest) {
            let why = format!("two networks are called {name:?}: give one another name");
            return Err(Error::Input(why));
        }
        let testbed = Arc::new(testbed);
        let known = Known {
            links,
            testbed,
            digest,
        };
        self.0.insert(name.to_owned(), known);
        Ok(self)
    }

    /// Their digests.
    pub(super) fn digests(&self) -> Digests {
        let digest = |(name, known): (&String, &Known)| (name.clone(), known.digest.clone());
        self.0.iter().map(digest).collect()
    }

    /// Sites that have these networks, with `losses`.
    pub(super) fn sites(&self, losses: &Losses) -> Result<Sites, Error> {
        let sites = Sites::with_losses(losses.clone());
        let mut each = self.0.iter();
        each.try_fold(sites, |sites, (name, known)| {
            Ok(sites.knowing(name, known.testbed.clone())?)
        })
    }

    /// Writes the links of each to `folder`, where they are not there yet.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Error> {
        for known in self.0.values() {
            let name = file_of(&known.digest);
            if folder.join(&name).exists() {
                continue;
            }
            let mut text = csv::Writer::from_writer(Vec::new());
            let mut rows = known.links.iter();
            let written = rows.try_for_each(|row| text.serialize(row));
            written.map_err(|why| Error::Job(why.to_string()))?;
            let bytes = text.into_inner();
            let bytes = bytes.map_err(|why| Error::Job(why.to_string()))?;
            write(folder, &name, &bytes)?;
        }
        Ok(())
    }

    /// Those of `digests`, whose links are in `folder`.
    ///
    /// # Errors
    /// [`Error::Job`] where a file cannot be read, or was changed.
    pub(super) fn read(folder: &Path, digests: &Digests) -> Result<Self, Error> {
        let mut networks = Self::default();
        for (name, digest) in digests {
            let path = folder.join(file_of(digest));
            let text = fs::read(&path).map_err(|why| cannot(&path, "read", &why))?;
            let changed = || Error::Job(format!("{}: the links were changed", path.display()));
            let links = csv::Reader::from_reader(&*text).into_deserialize();
            let links: Result<Vec<LinkRow>, csv::Error> = links.collect();
            let links = links.map_err(|_| changed())?;
            networks = networks.and(name, links.into()).map_err(|_| changed())?;
            if networks.0.get(name).map(|known| &known.digest) != Some(digest) {
                return Err(changed());
            }
        }
        Ok(networks)
    }
}

/// The file of the network of `digest`: none that a glob for parts finds.
fn file_of(digest: &str) -> String {
    const LENGTH: usize = 16;
    let digest: String = digest.chars().take(LENGTH).collect();
    format!("{digest}.links")
}
