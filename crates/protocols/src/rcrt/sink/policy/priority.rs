use super::{max_min, Claim, Policy};
use std::collections::{BTreeMap, BTreeSet};
use std::vec::Vec;
use thalweg_units::NodeId;

/// Higher classes get up to their demands first, each class sharing as [`super::DemandLimited`] does
/// (section 3.6 names priorities). Each flow keeps a hundredth of an equal share, so that none starves.
#[derive(Debug, Clone, Default)]
pub struct Priority(BTreeMap<NodeId, u8>);

/// Share of an equal share that no flow goes below.
const KEPT: f64 = 0.01;

impl Priority {
    /// With these classes, all others having 0.
    pub const fn new(classes: BTreeMap<NodeId, u8>) -> Self {
        Self(classes)
    }
    fn class(&self, claim: &Claim) -> u8 {
        self.0.get(&claim.origin).copied().unwrap_or(0)
    }
}

impl Policy for Priority {
    fn limit(&self, claims: &[Claim]) -> Option<f64> {
        Some(claims.iter().map(|c| c.demand).sum())
    }
    fn allocate(&self, total: f64, claims: &[Claim], rates: &mut [f64]) {
        let kept = |c: &Claim| (KEPT * total / claims.len().max(1) as f64).min(c.demand);
        let mut left = total - claims.iter().map(kept).sum::<f64>();
        let classes: BTreeSet<u8> = claims.iter().map(|c| self.class(c)).collect();
        for class in classes.into_iter().rev() {
            let members = claims
                .iter()
                .enumerate()
                .filter(|(_, c)| self.class(c) == class);
            let (places, rest): (Vec<usize>, Vec<Claim>) = members
                .map(|(k, c)| {
                    let demand = c.demand - kept(c);
                    (k, Claim { demand, ..*c })
                })
                .unzip();
            let mut more = std::vec![0.0; rest.len()];
            left = max_min(left, &rest, &mut more);
            for (k, more) in places.into_iter().zip(more) {
                if let (Some(rate), Some(claim)) = (rates.get_mut(k), claims.get(k)) {
                    *rate = kept(claim) + more;
                }
            }
        }
    }
}
