//! What an object may be, by its first bytes: how it is named, described and shown. Tests: at the end.

/// What an object may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters.
    Text,
    /// Rows of values between commas.
    Csv,
    /// A picture that browsers show: its name, and its ending.
    Picture(&'static str, &'static str),
    /// Anything else.
    Bytes,
}

/// How pictures begin. Those that may hold programs are none.
const PICTURES: [(&[u8], Kind); 4] = [
    (b"\x89PNG\r\n\x1a\n", Kind::Picture("image/png", ".png")),
    (b"\xff\xd8\xff", Kind::Picture("image/jpeg", ".jpg")),
    (b"GIF8", Kind::Picture("image/gif", ".gif")),
    (b"BM", Kind::Picture("image/bmp", ".bmp")),
];

/// What begins with `head`.
pub(super) fn kind_of(head: &[u8]) -> Kind {
    let picture = PICTURES
        .iter()
        .find(|(begin_phase, _)| head.starts_with(begin_phase));
    if let Some((_, kind)) = picture {
        return *kind;
    }
    // A character may be cut at the end.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(why) if why.error_len().is_none() => {
            std::str::from_utf8(&head[..why.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => "",
    };
    let is_plain = |c: char| !c.is_control() || "\n\r\t".contains(c);
    if text.is_empty() || !text.chars().all(is_plain) {
        return Kind::Bytes;
    }
    let mut commas = text.lines().map(|line| line.matches(',').count());
    let (first, second) = (commas.next(), commas.next());
    match first.is_some_and(|n| n > 0) && first == second {
        true => Kind::Csv,
        false => Kind::Text,
    }
}

impl Kind {
    /// Its media type; texts are none that a browser would run.
    pub(super) const fn media_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; charset=utf-8",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Picture(media_type, _) => media_type,
            Self::Bytes => "application/octet-stream",
        }
    }
    /// What is to be put behind `name`, where that has no ending.
    pub(super) fn extension(self, name: &str) -> &'static str {
        match self {
            _ if name.contains('.') => "",
            Self::Text => ".txt",
            Self::Csv => ".csv",
            Self::Picture(_, ending) => ending,
            Self::Bytes => ".bin",
        }
    }
    /// In words.
    pub(super) const fn about(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Csv => "table (CSV)",
            Self::Picture(..) => "picture",
            Self::Bytes => "bytes",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_their_beginning() {
        assert_eq!(kind_of(b"\x89PNG\r\n\x1a\n...").extension("a"), ".png");
        assert_eq!(kind_of(b"a,b\n1,2\n"), Kind::Csv);
        assert_eq!(kind_of(b"Dear all, hello\nthere"), Kind::Text);
        assert_eq!(kind_of("caf\u{e9}".as_bytes()), Kind::Text);
        assert_eq!(kind_of(&"caf\u{e9}".as_bytes()[..4]), Kind::Text, "cut");
        for bytes in [&b"\x00\x01"[..], b"", b"\xff\xfe", b"a\x1b[31m"] {
            assert_eq!(kind_of(bytes), Kind::Bytes);
        }
        // Browsers may run what an SVG holds: it is text.
        assert_eq!(kind_of(b"<svg onload=\"x\">"), Kind::Text);
        assert_eq!(Kind::Csv.extension("a.dat"), "");
    }
}
