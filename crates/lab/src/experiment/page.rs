//! The report page: one self-contained HTML file with the results beside the papers' and the
//! figures inline. No scripts, nothing fetched; the same reports give the same bytes.
//! Tests: below.

use super::report::Report;
use crate::results::Judged;
use std::fmt::Write;

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;color:#1c1c1c;background:#fff;max-width:980px;margin:2em auto;padding:0 1em}\
h1{font-size:1.7em;margin-bottom:.2em}h2{font-size:1.25em;margin:2.2em 0 .3em;border-top:1px solid #ddd;padding-top:1em}\
p.about{color:#444;margin:.3em 0 1em;max-width:75ch}table{border-collapse:collapse;font-size:13.5px;margin:.6em 0 1.2em}\
th,td{padding:.25em .8em .25em 0;text-align:left;border-bottom:1px solid #eee;vertical-align:top}\
th{border-bottom:2px solid #999;font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\
.in{color:#00694b}.out{color:#a31515;font-weight:600}.why{color:#555;max-width:34ch}\
figure{margin:1em 0}figure svg{max-width:100%;height:auto}code{font-size:.93em}nav a{margin-right:1em}";

/// The page of `reports`.
pub fn page(reports: &[Report]) -> String {
    let mut html = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        html,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"generator\" content=\"thalweg\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>Thalweg: results beside the papers'</title><style>{STYLE}</style></head><body>\n\
         <h1>Results beside the papers'</h1>\n"
    );
    html.push_str(&overview(reports));
    for report in reports {
        section(&mut html, report);
    }
    html.push_str("</body></html>\n");
    html
}

fn overview(reports: &[Report]) -> String {
    let all = reports.iter().flat_map(|r| &r.results);
    let judged: Vec<&Judged> = all.filter(|r| r.within.is_some()).collect();
    let outside: Vec<_> = judged.iter().filter(|r| r.within == Some(false)).collect();
    let (of, within) = (judged.len(), judged.len() - outside.len());
    let mut html = format!("<p>{within} of {of} results with a band lie within it.</p>\n<nav>");
    for report in reports {
        let id = escaped(&report.experiment.id);
        let _ = write!(html, "<a href=\"#{id}\">{id}</a>");
    }
    html.push_str("</nav>\n");
    if !outside.is_empty() {
        html.push_str("<table><tr><th>outside</th><th>why it is accepted for now</th></tr>\n");
        for r in outside {
            let what = escaped(&format!("{} {}", r.id, r.measured.label()));
            let why = escaped(r.exception.as_deref().unwrap_or("not explained"));
            let _ = writeln!(html, "<tr><td>{what}</td><td>{why}</td></tr>");
        }
        html.push_str("</table>\n");
    }
    html
}

fn section(html: &mut String, report: &Report) {
    let e = &report.experiment;
    let id = escaped(&e.id);
    let _ = writeln!(html, "<h2 id=\"{id}\">{id}: {}</h2>", escaped(&e.title));
    let _ = writeln!(html, "<p class=\"about\">{}</p>", escaped(e.about.trim()));
    let (seeds, rows) = (seeds(&report.seeds), report.rows.len());
    let _ = writeln!(
        html,
        "<p><code>thalweg run {id}</code>, {seeds}, {rows} rows</p>"
    );
    html.push_str(
        "<table><tr><th>metric</th><th>at</th><th class=\"n\">value</th><th class=\"n\">95 %</th>\
         <th>unit</th><th class=\"n\">paper</th><th class=\"n\">band</th><th></th></tr>\n",
    );
    for result in &report.results {
        html.push_str(&result_row(result));
    }
    for claim in &report.unanswered {
        let metric = escaped(&claim.metric);
        let missing = "<td colspan=\"7\" class=\"out\">not measured</td>";
        let _ = writeln!(html, "<tr><td>{metric}</td>{missing}</tr>");
    }
    html.push_str("</table>\n");
    for (_, svg) in &report.figures {
        let _ = writeln!(html, "<figure>{svg}</figure>");
    }
}

fn result_row(r: &Judged) -> String {
    let m = &r.measured;
    let at: Vec<String> = m.at.iter().map(|(c, v)| format!("{c} {v}")).collect();
    let (class, verdict) = match r.within {
        Some(true) => ("in", "within"),
        Some(false) => ("out", "outside"),
        None => ("", ""),
    };
    format!(
        "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td>\
         <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"{class}\">{verdict}</td></tr>\n",
        escaped(&m.metric),
        escaped(&at.join(", ")),
        short(m.value),
        m.ci95.map(span).unwrap_or_default(),
        escaped(&m.unit),
        r.reference.map(short).unwrap_or_default(),
        r.band.map(span).unwrap_or_default(),
    )
}

fn seeds(seeds: &[u64]) -> String {
    match seeds {
        [] => "no seeds".to_owned(),
        [one] => format!("seed {one}"),
        [first, .., last] => format!("seeds {first} to {last}"),
    }
}

/// A number with as many digits as a reader wants.
pub fn short(x: f64) -> String {
    if x != 0.0 && x.abs() < 0.001 {
        return format!("{x:.2e}");
    }
    let digits = match x.abs() {
        a if a >= 100.0 => 1,
        a if a >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{x:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Two ends, either of which may be open.
pub fn span([low, high]: [f64; 2]) -> String {
    match (low.is_finite(), high.is_finite()) {
        (true, true) if low == high => short(low),
        (true, true) => format!("{} to {}", short(low), short(high)),
        (true, false) => format!("at least {}", short(low)),
        (false, true) => format!("at most {}", short(high)),
        (false, false) => "any".to_owned(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let numbers = [0.000_080_4, 0.0, 178.523, 0.04, 2.0].map(short);
        assert_eq!(numbers, ["8.04e-5", "0", "178.5", "0.04", "2"]);
        assert_eq!(span([150.0, f64::INFINITY]), "at least 150");
        assert_eq!(span([0.0, 0.0]), "0");
        assert_eq!(escaped("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
    }
}
