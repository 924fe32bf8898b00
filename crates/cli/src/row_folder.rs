//! Rows of an earlier run, from the folder that `--out` has written. Tests: `tests/all/report.rs`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;
use thalweg::{ExperimentRun, Extent};
use thalweg_lab::experiment::{Manifest, Report};
use thalweg_testbeds::Losses;

use crate::failure::Failure;
use crate::run::MANIFEST;

/// The report of the rows that `folder` has of `run`, and which version of this program made them; none where it has none.
pub(crate) fn report(
    folder: &Path,
    run: ExperimentRun,
) -> Result<Option<(Report, String)>, Failure> {
    let folder = folder.join(&run.experiment().id);
    if !folder.is_dir() {
        return Ok(None);
    }
    let kept: Manifest = read(&folder.join(MANIFEST))?;
    let (seeds, losses) = (run.with_seeds(), Losses::default());
    let wanted = Manifest::of(
        run.experiment(),
        seeds,
        &losses,
        Vec::new(),
        BTreeSet::new(),
    );
    if let Some(what) = kept.differs(&wanted) {
        let line = format!("--rows {}: holds rows {what}", folder.display());
        return Err(Failure::Input(line));
    }
    let run = match kept.seeds == seeds {
        true => run,
        false if run.extent() == Extent::Quick => {
            let line = format!("--rows {}: holds rows of other seeds", folder.display());
            return Err(Failure::Input(line));
        }
        false => run.seeds(kept.seeds),
    };
    let rows = read(&folder.join("rows.json"))?;
    Ok(Some((run.judged(rows), kept.version)))
}

/// What the JSON file `path` holds.
fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let refuse = |why: String| Failure::Input(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|why| refuse(format!("cannot be read: {why}")))?;
    serde_json::from_str(&text).map_err(|why| refuse(format!("not as --out writes it: {why}")))
}
