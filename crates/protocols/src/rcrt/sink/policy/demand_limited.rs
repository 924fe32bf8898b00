use super::{max_min, Claim, Policy};

/// Each flow gets the same, but none more than its demand (section 3.6).
#[derive(Debug, Clone, Copy, Default)]
pub struct DemandLimited;

impl Policy for DemandLimited {
    fn limit(&self, claims: &[Claim]) -> Option<f64> {
        Some(claims.iter().map(|c| c.demand).sum())
    }
    fn allocate(&self, total: f64, claims: &[Claim], rates: &mut [f64]) {
        max_min(total, claims, rates);
    }
}
