//! Requests to a gateway, one connection each, and their answers.
//!
//! Invariants: every wait has an end, every answer a longest length; nothing of an answer is believed before it is
//! parsed. Not done: TLS, proxies, redirects. Time base: wall clock. Tests: `tests/gateway/client.rs`.

use std::future::{poll_fn, Future};
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;
use std::{env, fs, io};

use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{header, Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thalweg_daemon::API;
use tokio::net::TcpStream;
use tokio::runtime::{self, Runtime};
use tokio::time::timeout;

use crate::address::Address;
use crate::failure::{one_line, Failure};
use crate::output::plain;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long an answer may take to begin, or to go on.
const ANSWER: Duration = Duration::from_secs(30);
/// The longest answer that is no object, in bytes: a thousand jobs with their reports are some MB.
const LONGEST: u64 = 32 << 20;
/// The longest token, in bytes.
const LONGEST_TOKEN: usize = 1_024;

/// Why a gateway did not do what was asked.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// It cannot be reached, or went away.
    Gone(String),
    /// It does not want to.
    Refused(StatusCode, String),
    /// What it says is not what a gateway of this version says.
    Strange(String),
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Gone(why) | Trouble::Strange(why) => Self::Job(why),
            // Too late, not there any more, too many: what was typed is not to blame.
            Trouble::Refused(status, why) => match status.as_u16() {
                400..=408 | 411..=428 => Self::Input(why),
                _ => Self::Job(why),
            },
        }
    }
}

pub(crate) type Answered<T> = Result<T, Trouble>;

/// One who asks a gateway. Not to be printed: it has the token.
pub(crate) struct Client {
    runtime: Runtime,
    address: Address,
    token: Option<String>,
}

/// An answer whose body is still to come.
#[derive(Debug)]
pub(super) struct Coming {
    body: Incoming,
    /// As long as it is there, so is the connection.
    _sender: SendRequest<String>,
}

impl Client {
    /// One who asks the gateway at `address`, with the token in `token_file` or in `THALWEG_TOKEN`, where there is
    /// one. Asks it whether it is one, and of this version.
    pub(crate) fn new(address: &Address, token_file: Option<&Path>) -> Result<Self, Failure> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|why| Failure::Job(format!("cannot begin: {}", plain(&why))))?;
        let client = Self {
            runtime,
            address: address.clone(),
            token: token(token_file)?,
        };
        client.greet()?;
        Ok(client)
    }

    /// Whether a gateway is there that this client understands.
    fn greet(&self) -> Answered<()> {
        let stranger =
            || Trouble::Strange(format!("{}: no thalweg gateway is there", self.address));
        let health = match self.ask(Method::GET, "/healthz", None) {
            Ok(health) => health,
            Err(Trouble::Refused(StatusCode::MISDIRECTED_REQUEST, why)) => {
                return Err(Trouble::Refused(StatusCode::MISDIRECTED_REQUEST, why))
            }
            // It may be one that is not well.
            Err(Trouble::Refused(status, why)) if status.is_server_error() => {
                return Err(Trouble::Refused(status, why))
            }
            Err(Trouble::Gone(why)) => return Err(Trouble::Gone(why)),
            Err(Trouble::Refused(..) | Trouble::Strange(_)) => return Err(stranger()),
        };
        let version = health["version"].as_str().ok_or_else(stranger)?;
        let (theirs, ours) = (health["api"].as_u64().unwrap_or(0), u64::from(API));
        if theirs == ours {
            return Ok(());
        }
        let old = match theirs < ours {
            true => "it is too old: update it",
            false => "this program is too old: update it",
        };
        Err(Trouble::Strange(format!(
            "{}: a gateway of version {} is there; {old}",
            self.address,
            one_line(version)
        )))
    }

    /// Where the gateway is.
    pub(crate) const fn address(&self) -> &Address {
        &self.address
    }

    /// What is at `path`.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Answered<T> {
        self.understood(self.ask(Method::GET, path, None)?)
    }
    /// The same as JSON, whatever it is.
    pub(crate) fn value(&self, path: &str) -> Answered<Value> {
        self.ask(Method::GET, path, None)
    }
    /// Asks for what `body` says.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Answered<Value> {
        self.ask(Method::POST, path, Some(body.to_string()))
    }
    /// Asks that what is at `path` be gone.
    pub(crate) fn delete(&self, path: &str) -> Answered<Value> {
        self.ask(Method::DELETE, path, None)
    }
    /// What `value` says, as the API describes it.
    pub(crate) fn understood<T: DeserializeOwned>(&self, value: Value) -> Answered<T> {
        serde_json::from_value(value).map_err(|why| self.strange(&why))
    }
    pub(super) fn strange(&self, why: &dyn std::fmt::Display) -> Trouble {
        let why = one_line(&why.to_string());
        Trouble::Strange(format!(
            "{}: an answer that is not understood: {why}",
            self.address
        ))
    }
    fn gone(&self, why: &str) -> Trouble {
        Trouble::Gone(format!("{}: {}", self.address, one_line(why)))
    }

    fn ask(&self, method: Method, path: &str, body: Option<String>) -> Answered<Value> {
        let mut text = Vec::new();
        let mut coming = self.begin(method, path, body)?;
        while let Some(piece) = self.wait(&mut coming, ANSWER)? {
            text.extend_from_slice(&piece);
            if text.len() as u64 > LONGEST {
                return Err(self.strange(&"it has no end"));
            }
        }
        serde_json::from_slice(&text).map_err(|why| self.strange(&why))
    }

    /// Asks; the answer is one that is no refusal.
    pub(super) fn begin(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> Answered<Coming> {
        let (response, sender) = self.runtime.block_on(self.send(method, path, body))?;
        let (status, body) = (response.status(), response.into_body());
        let mut coming = Coming {
            body,
            _sender: sender,
        };
        match status.is_success() {
            true => Ok(coming),
            false => Err(self.refusal(status, &mut coming)),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> Answered<(Response<Incoming>, SendRequest<String>)> {
        let of = |why: hyper::Error| self.gone(&format!("the connection broke off: {why}"));
        let connect = TcpStream::connect((&*self.address.host, self.address.port));
        let stream = self.within(CONNECT, connect).await?;
        let stream =
            stream.map_err(|why| self.gone(&format!("cannot be reached: {}", plain(&why))))?;
        let greeted = self.within(CONNECT, http1::handshake(TokioIo::new(stream)));
        let (mut sender, connection) = greeted.await?.map_err(of)?;
        // How it ends, the answer tells.
        tokio::spawn(connection);
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.address.authority())
            .header(
                header::USER_AGENT,
                concat!("thalweg/", env!("CARGO_PKG_VERSION")),
            );
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let request = request.body(body.unwrap_or_default());
        let request = request.map_err(|why| self.strange(&why))?;
        let response = self.within(ANSWER, sender.send_request(request));
        let response = response.await?.map_err(of)?;
        Ok((response, sender))
    }

    async fn within<T>(&self, patience: Duration, what: impl Future<Output = T>) -> Answered<T> {
        let late = |_| self.gone(&format!("no answer within {} s", patience.as_secs()));
        timeout(patience, what).await.map_err(late)
    }

    /// Why it does not want to.
    fn refusal(&self, status: StatusCode, coming: &mut Coming) -> Trouble {
        // A refusal is short; what is longer is none of a gateway's.
        let told = self.wait(coming, ANSWER).ok().flatten().unwrap_or_default();
        let said: Option<Value> = serde_json::from_slice(&told).ok();
        let why = said.as_ref().and_then(|said| said["error"].as_str());
        let why = match (status, &self.token) {
            (StatusCode::UNAUTHORIZED, None) => {
                "it wants a token: --token-file, or THALWEG_TOKEN in the environment"
            }
            (StatusCode::UNAUTHORIZED, Some(_)) => "it refuses the token",
            _ => why.unwrap_or(status.canonical_reason().unwrap_or("it refuses")),
        };
        Trouble::Refused(status, format!("{}: {}", self.address, one_line(why)))
    }

    /// The next bytes of an answer, none at its end; waits for them no longer than `patience`.
    fn wait(&self, coming: &mut Coming, patience: Duration) -> Answered<Option<Bytes>> {
        let piece = self.look(coming, patience)?;
        piece.ok_or_else(|| self.gone(&format!("silent for {} s", patience.as_secs())))
    }

    /// The same; the outer is none where nothing came within `patience`.
    pub(super) fn look(
        &self,
        coming: &mut Coming,
        patience: Duration,
    ) -> Answered<Option<Option<Bytes>>> {
        let next = async {
            loop {
                let frame = poll_fn(|cx| Pin::new(&mut coming.body).poll_frame(cx)).await;
                match frame {
                    None => return Ok(None),
                    Some(Err(why)) => return Err(why),
                    Some(Ok(frame)) => {
                        if let Ok(bytes) = frame.into_data() {
                            return Ok(Some(bytes));
                        }
                    }
                }
            }
        };
        match self
            .runtime
            .block_on(async { timeout(patience, next).await })
        {
            Err(_) => Ok(None),
            Ok(Ok(piece)) => Ok(Some(piece)),
            Ok(Err(why)) => Err(self.gone(&format!("the connection broke off: {why}"))),
        }
    }

    /// The bytes of object `id`, piece by piece as long as `take` wants them.
    pub(super) fn content(&self, id: i64, take: &mut dyn FnMut(&[u8]) -> bool) -> Answered<()> {
        let mut coming = self.begin(Method::GET, &format!("/api/objects/{id}/content"), None)?;
        while let Some(piece) = self.wait(&mut coming, ANSWER)? {
            if !take(&piece) {
                break;
            }
        }
        Ok(())
    }
}

/// The token in `file`, else of the environment.
fn token(file: Option<&Path>) -> Result<Option<String>, Failure> {
    let (name, text) = match (file, env::var("THALWEG_TOKEN")) {
        (Some(path), _) => (path.display().to_string(), read(path)?),
        (None, Ok(text)) if !text.trim().is_empty() => ("THALWEG_TOKEN".to_owned(), text),
        (None, _) => return Ok(None),
    };
    let token = text.lines().next().unwrap_or_default().trim();
    let is_plain = !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic());
    match is_plain && token.len() <= LONGEST_TOKEN {
        true => Ok(Some(token.to_owned())),
        false => Err(Failure::Input(format!(
            "{name}: expected a token: one word of letters, digits and signs"
        ))),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    use io::Read;
    let mut text = Vec::new();
    let file = fs::File::open(path);
    // A device has no end.
    let had = file.and_then(|file| file.take(64 * 1024).read_to_end(&mut text));
    let cannot = |why: &io::Error| {
        let line = format!("{}: cannot read: {}", path.display(), plain(why));
        Failure::Input(line)
    };
    had.map_err(|why| cannot(&why))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
