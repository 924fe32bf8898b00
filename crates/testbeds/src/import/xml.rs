//! XML documents of untrusted text, with bounds on nodes and on levels: the parser calls itself for each level, and so
//! would fill the stack. Document type definitions are refused. Tests: below, `tests.rs`.

use roxmltree::{Document, ParsingOptions};

use crate::error::Problem;

const MAX_NODES: u32 = 4_000_000;
const MAX_LEVELS: usize = 256;

pub(super) fn xml(text: &str) -> Result<Document<'_>, Problem> {
    if levels(text) > MAX_LEVELS {
        return Err(Problem::TooLarge(
            "levels of XML elements",
            MAX_LEVELS as u64,
        ));
    }
    let options = ParsingOptions {
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options).map_err(|e| Problem::malformed("XML", &e))
}

/// How many elements stand within each other at most, up to where `text` is malformed.
fn levels(text: &str) -> usize {
    let (mut level, mut most) = (0_usize, 0);
    let mut rest = text;
    while let Some((_, tag)) = rest.split_once('<') {
        let after = if let Some(remark) = tag.strip_prefix("!--") {
            past(remark, "-->")
        } else if let Some(data) = tag.strip_prefix("![CDATA[") {
            past(data, "]]>")
        } else if let Some(instruction) = tag.strip_prefix('?') {
            past(instruction, "?>")
        } else if let Some(end) = tag.strip_prefix('/') {
            level = level.saturating_sub(1);
            past(end, ">")
        } else {
            most = most.max(level + 1);
            match past_start(tag) {
                Some((after, true)) => {
                    level += 1;
                    Some(after)
                }
                Some((after, false)) => Some(after),
                None => None,
            }
        };
        let Some(after) = after else { break };
        rest = after;
    }
    most
}

fn past<'a>(text: &'a str, end: &str) -> Option<&'a str> {
    text.split_once(end).map(|(_, after)| after)
}

/// What follows a start tag, and whether its element is open.
fn past_start(mut tag: &str) -> Option<(&str, bool)> {
    loop {
        let at = tag.find(['>', '"', '\''])?;
        let (before, rest) = tag.split_at(at);
        let mut letters = rest.chars();
        match letters.next()? {
            '>' => return Some((letters.as_str(), !before.ends_with('/'))),
            // A value may hold `>`.
            quote => tag = letters.as_str().split_once(quote)?.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_of_elements_and_of_nothing_else() {
        for (text, expected) in [
            ("", 0),
            ("<a/>", 1),
            ("<?xml </a> ?><a><b/><b></b></a>", 2),
            ("<a><!-- </a> --><b/></a>", 2),
            ("<a><![CDATA[</a>]]><b/></a>", 2),
            ("<a b=\"/>\" c='\"'><b><c/></b></a>", 3),
            ("<a><b", 2),
        ] {
            assert_eq!(levels(text), expected, "{text}");
        }
        let deep = |n: usize| "<a b='</a>'>\n".repeat(n) + &"</a>".repeat(n);
        let fault = |n| xml(&deep(n)).unwrap_err().to_string();
        assert_eq!(fault(257), "more than 256 levels of XML elements");
        let deep = deep(256).replace("</a>'", "/>'");
        assert!(xml(&deep).is_ok());
    }
}
