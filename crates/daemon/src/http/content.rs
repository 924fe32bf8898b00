//! The bytes of an object, whole or in part (RFC 9110, section 14), read as they are sent.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{header, HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;

use super::{App, Refusal};
use crate::kind::{kind_of, Kind};
use crate::stations::Stations;
use thalweg_host::store::{Condition, TransferId};

/// Read at once, in bytes.
const PIECE: usize = 64 * 1024;

/// The requested bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    All,
    /// From the first to the last, both included.
    Part(u64, u64),
    /// None that there are.
    Nothing,
}

/// What `range` asks for of `len` bytes. A list of ranges, or another unit, is answered with all, as may be.
fn wanted(range: Option<&str>, len: u64) -> Wanted {
    let parse = || {
        let (first, last) = range?.strip_prefix("bytes=")?.trim().split_once('-')?;
        let end = len.checked_sub(1);
        Some(match (first.parse::<u64>(), last.parse::<u64>(), end) {
            (Ok(first), Ok(last), _) if first > last => return None,
            (Ok(first), Ok(last), Some(end)) if first <= end => Wanted::Part(first, last.min(end)),
            (Ok(first), Err(_), Some(end)) if last.is_empty() && first <= end => {
                Wanted::Part(first, end)
            }
            (Err(_), Ok(count), Some(end)) if first.is_empty() && count > 0 => {
                Wanted::Part(len.saturating_sub(count), end)
            }
            (Ok(_), Ok(_), _) => Wanted::Nothing,
            (Ok(_), Err(_), _) if last.is_empty() => Wanted::Nothing,
            (Err(_), Ok(_), _) if first.is_empty() => Wanted::Nothing,
            _ => return None,
        })
    };
    parse().unwrap_or(Wanted::All)
}

/// An object's file, and what its answer says of it.
struct Opened {
    file: File,
    len: u64,
    kind: Kind,
    name: String,
    tag: String,
}

/// Opens object `id`.
fn open(stations: &Stations, id: i64) -> Result<Opened, Refusal> {
    let found = stations.shared().store().transfer(TransferId(id))?;
    let not_found = || Refusal::not_found(format!("there is no object {id}"));
    let found = found.ok_or_else(not_found)?;
    let path = found.object.clone().ok_or_else(not_found)?;
    let gone = || Refusal::new(StatusCode::GONE, "the object's file is gone");
    let mut file = found.open()?.ok_or_else(gone)?;
    let len = file.metadata().map_err(|_| gone())?.len();
    let mut head = [0; 512];
    let read = file.read(&mut head).map_err(|_| gone())?;
    file.rewind().map_err(|_| gone())?;
    if found.condition_of(&mut file)? != Condition::Whole {
        let why = "the object's file was changed: it has not the digest that was stored";
        return Err(Refusal::new(StatusCode::GONE, why));
    }
    let stem = path.file_stem();
    let stem = stem.map(|stem| stem.to_string_lossy().into_owned());
    Ok(Opened {
        file,
        len,
        kind: kind_of(&head[..read]),
        name: found.file.clone().or(stem).unwrap_or_default(),
        tag: format!("\"{}\"", found.digest.unwrap_or_default()),
    })
}

/// `count` bytes of `file`, read as they are sent.
fn body(file: File, count: u64) -> Body {
    Body::from_stream(stream::try_unfold(
        (file, count),
        |(mut file, left)| async move {
            if left == 0 {
                return Ok(None);
            }
            let piece = tokio::task::spawn_blocking(move || {
                let mut piece = vec![0; left.min(PIECE as u64) as usize];
                file.read_exact(&mut piece).map(|()| (piece, file))
            });
            let (piece, file) = piece.await.map_err(std::io::Error::other)??;
            let left = left - piece.len() as u64;
            Ok::<_, std::io::Error>(Some((Bytes::from(piece), (file, left))))
        },
    ))
}

/// `name` in letters that every system takes, with the ending of `kind`.
fn plain_name(name: &str, kind: Kind) -> String {
    let plain = |c: char| match c.is_ascii_alphanumeric() || "._-".contains(c) {
        true => c,
        false => '_',
    };
    let name: String = name.chars().map(plain).take(120).collect();
    format!("{name}{}", kind.extension(&name))
}

pub(super) async fn content(
    State(app): State<App>,
    Path(id): Path<i64>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let opened = app
        .with_stations(move |stations| open(stations, id))
        .await?;
    let Opened {
        mut file,
        len,
        kind,
        name,
        tag,
    } = opened;
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    // A range of an older object does not apply to this one.
    let range = text(header::RANGE).filter(|_| text(header::IF_RANGE).is_none_or(|of| of == tag));
    let (status, first, last) = match wanted(range, len) {
        Wanted::All => (StatusCode::OK, 0, len.saturating_sub(1)),
        Wanted::Part(first, last) => (StatusCode::PARTIAL_CONTENT, first, last),
        Wanted::Nothing => {
            let total = [(header::CONTENT_RANGE, format!("bytes */{len}"))];
            let why = format!("there are no such bytes: the object has {len}");
            let refusal = Refusal::new(StatusCode::RANGE_NOT_SATISFIABLE, why);
            return Ok((total, refusal).into_response());
        }
    };
    let count = if len == 0 { 0 } else { last - first + 1 };
    let broken = |_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the file cannot be read");
    file.seek(SeekFrom::Start(first)).map_err(broken)?;
    let disposition = format!("attachment; filename=\"{}\"", plain_name(&name, kind));
    let mut response = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, kind.media_type())
        .header(header::CONTENT_LENGTH, count)
        .header(header::ACCEPT_RANGES, "bytes")
        .header(header::ETAG, tag)
        .header(
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; sandbox",
        )
        .header(header::CONTENT_DISPOSITION, disposition);
    if status == StatusCode::PARTIAL_CONTENT {
        let of = format!("bytes {first}-{last}/{len}");
        response = response.header(header::CONTENT_RANGE, of);
    }
    let broken = |_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "no answer could be made");
    response.body(body(file, count)).map_err(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_standard() {
        for (range, expected) in [
            ("bytes=0-4", Wanted::Part(0, 4)),
            ("bytes=5-", Wanted::Part(5, 9)),
            ("bytes=-3", Wanted::Part(7, 9)),
            ("bytes=-30", Wanted::Part(0, 9)),
            ("bytes=8-99", Wanted::Part(8, 9)),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=10-12", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=4-2", Wanted::All),
            ("bytes=0-1,3-4", Wanted::All),
            ("lines=1-2", Wanted::All),
            ("bytes=a-b", Wanted::All),
            ("bytes=-", Wanted::All),
        ] {
            assert_eq!(wanted(Some(range), 10), expected, "{range}");
        }
        assert_eq!(wanted(None, 10), Wanted::All);
        assert_eq!(wanted(Some("bytes=0-"), 0), Wanted::Nothing);
    }
}
