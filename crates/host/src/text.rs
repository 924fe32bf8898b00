//! Counts with their nouns, for people: log, pages and the command line. Time base: none.

use std::fmt::Display;

/// "1 hop", "2 hops": `n` things whose name takes an s.
pub fn count<N: Display + From<u8> + PartialEq>(n: N, noun: &str) -> String {
    plural(n, noun, &format!("{noun}s"))
}

/// "1 point is", "2 points are": `n` and the words for `one` of them, or for `more`.
pub fn plural<N: Display + From<u8> + PartialEq>(n: N, one: &str, more: &str) -> String {
    let words = if n == N::from(1) { one } else { more };
    format!("{n} {words}")
}

/// `1 of 6 nodes is silent`.
pub fn are_silent(count: usize, of: usize) -> String {
    let are = if count == 1 { "is" } else { "are" };
    format!("{count} of {of} nodes {are} silent")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!(are_silent(1, 6), "1 of 6 nodes is silent");
        assert_eq!(are_silent(2, 6), "2 of 6 nodes are silent");
        assert_eq!(
            [0_u32, 1, 2].map(|n| count(n, "hop")),
            ["0 hops", "1 hop", "2 hops"]
        );
        assert_eq!(plural(1_usize, "point is", "points are"), "1 point is");
    }
}
