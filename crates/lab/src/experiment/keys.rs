//! What every kind of run asks of its keys.

/// `ok`, or what `key` was expected to be.
pub(super) fn expect(key: &str, ok: bool, range: &str) -> Result<(), String> {
    if ok {
        Ok(())
    } else {
        Err(format!("run.{key}: expected {range}"))
    }
}
