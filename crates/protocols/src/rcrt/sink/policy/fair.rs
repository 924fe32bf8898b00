use super::{Claim, Policy};

/// Everybody gets the same; demands are ignored (section 3.6).
#[derive(Debug, Clone, Copy, Default)]
pub struct Fair;

impl Policy for Fair {
    fn allocate(&self, total: f64, claims: &[Claim], rates: &mut [f64]) {
        rates.fill(total / claims.len().max(1) as f64);
    }
}
