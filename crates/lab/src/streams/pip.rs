use super::{Ground, Observer, Outcome, StreamFailure, Terms};
use thalweg_planner::streams::StreamPlan;
pub(super) fn run(
    _ground: &Ground,
    _plans: &[(StreamPlan, Vec<u8>)],
    _terms: &Terms,
    _seed: u64,
    _observer: Observer<'_>,
) -> Result<Vec<Outcome>, StreamFailure> {
    Ok(Vec::new())
}
