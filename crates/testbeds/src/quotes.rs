//! The fields of a line, which may be quoted as RFC 4180 has it: `"a, b"`, and `""` for a quote in one. A quote within a
//! field that does not begin with one is a letter, so that a stray quote swallows nothing. Tests: below.

use std::ops::Range;

/// Finds the fields of `text` and takes the quotes out of it; `false`, and nothing done, if a quote is open at its end.
pub(crate) fn split(text: &mut Vec<u8>, delimiter: u8, fields: &mut Vec<Range<usize>>) -> bool {
    fields.clear();
    if !text.contains(&b'"') {
        let mut from = 0;
        let ends = text.iter().enumerate().filter(|(_, b)| **b == delimiter);
        for end in ends.map(|(at, _)| at).chain([text.len()]) {
            fields.push(from..end);
            from = end + 1;
        }
        return true;
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_slice();
    loop {
        let from = plain.len();
        let field = match quoted(rest, &mut plain) {
            Some(Quoted::Open) => return false,
            Some(Quoted::Closed(after)) => after,
            None => rest,
        };
        let end = field.iter().position(|b| *b == delimiter);
        let (letters, after) = field.split_at(end.unwrap_or(field.len()));
        plain.extend_from_slice(letters);
        fields.push(from..plain.len());
        match after.split_first() {
            Some((_, next)) => rest = next,
            None => break,
        }
    }
    *text = plain;
    true
}

/// A quoted field.
enum Quoted<'a> {
    Open,
    /// What follows it.
    Closed(&'a [u8]),
}

/// Appends to `plain` what `text` has in quotes at its beginning, if it begins with one.
fn quoted<'a>(text: &'a [u8], plain: &mut Vec<u8>) -> Option<Quoted<'a>> {
    let begin = text.iter().position(|b| *b != b' ')?;
    let mut rest = text.get(begin..)?.strip_prefix(b"\"")?;
    loop {
        let Some(end) = rest.iter().position(|b| *b == b'"') else {
            return Some(Quoted::Open);
        };
        let (letters, after) = rest.split_at(end);
        plain.extend_from_slice(letters);
        rest = after.get(1..).unwrap_or_default();
        match rest.strip_prefix(b"\"") {
            Some(more) => {
                plain.push(b'"');
                rest = more;
            }
            None => return Some(Quoted::Closed(rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Option<Vec<String>> {
        let mut text = text.as_bytes().to_vec();
        let before = text.clone();
        let mut ranges = Vec::new();
        if !split(&mut text, b',', &mut ranges) {
            assert_eq!(text, before);
            return None;
        }
        let field = |r: Range<usize>| String::from_utf8(text[r].to_vec()).unwrap();
        Some(ranges.into_iter().map(field).collect())
    }

    #[test]
    fn quotes_hold_delimiters_and_quotes() {
        let of = |text: &str| fields(text).unwrap();
        assert_eq!(of("a,,b"), ["a", "", "b"]);
        assert_eq!(of(r#""0,9",b"#), ["0,9", "b"]);
        assert_eq!(of(r#"a, "b ""c"", d" ,"""#), ["a", "b \"c\", d ", ""]);
        assert_eq!(of(r#"5" pipe,b"#), ["5\" pipe", "b"]);
        assert_eq!(fields(r#"a,"b"#), None);
    }
}
