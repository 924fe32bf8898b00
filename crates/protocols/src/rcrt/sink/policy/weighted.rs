use super::{Claim, Policy};
use std::collections::BTreeMap;
use thalweg_units::NodeId;

/// Rates in proportion to configured weights, whatever the demands (section 3.6, "easy to implement").
#[derive(Debug, Clone, Default)]
pub struct Weighted(BTreeMap<NodeId, f64>);

impl Weighted {
    /// With these weights, all others having 1; none where one is not within 1e-6 to 1e6.
    pub fn new(weights: BTreeMap<NodeId, f64>) -> Option<Self> {
        let is_weight = |w: &f64| (1e-6..=1e6).contains(w);
        weights.values().all(is_weight).then_some(Self(weights))
    }
    fn weight(&self, claim: &Claim) -> f64 {
        self.0.get(&claim.origin).copied().unwrap_or(1.0)
    }
}

impl Policy for Weighted {
    fn allocate(&self, total: f64, claims: &[Claim], rates: &mut [f64]) {
        let all: f64 = claims.iter().map(|c| self.weight(c)).sum();
        for (rate, claim) in rates.iter_mut().zip(claims) {
            *rate = total * self.weight(claim) / all;
        }
    }
}
