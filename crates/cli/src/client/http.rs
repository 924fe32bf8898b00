//! Requests to a gateway, one connection each, and their answers.
//!
//! Invariants: every wait has an end, every answer a longest length; nothing of an answer is believed before it is
//! parsed. Not done: TLS, proxies, redirects. Time base: wall clock. Tests: `tests/all/gateway/client.rs`.

use std::io::Read;
use std::path::Path;
use std::time::Duration;
use std::{env, fs, io};

use serde::de::DeserializeOwned;
use serde_json::Value;
use thalweg_host::API_VERSION;
use ureq::http::{self, header, request, Method, Request, StatusCode};
use ureq::{Agent, AsSendBody, Body, Error, Timeout};

use crate::address::Address;
use crate::failure::{one_line, Failure};
use crate::output::plain;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long an answer may take to begin, or to go on.
const ANSWER: Duration = Duration::from_secs(30);
/// The longest answer that is no object, in bytes: a thousand jobs with their reports are some MB.
const LONGEST: u64 = 32 << 20;
/// The longest refusal, in bytes; what is longer is none of a gateway's.
const LONGEST_REFUSAL: u64 = 1 << 16;
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
    agent: Agent,
    address: Address,
    token: Option<String>,
}

impl Client {
    /// One who asks the gateway at `address`, with the token in `token_file` or in `THALWEG_TOKEN`, where there is
    /// one. Asks it whether it is one, and of this version.
    pub(crate) fn new(address: &Address, token_file: Option<&Path>) -> Result<Self, Failure> {
        let settings = Agent::config_builder()
            .proxy(None)
            .max_redirects(0)
            .max_idle_connections(0)
            .http_status_as_error(false)
            .user_agent(concat!("thalweg/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(CONNECT))
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(Some(ANSWER))
            .timeout_per_read(Some(ANSWER))
            .timeout_per_write(Some(ANSWER));
        let client = Self {
            agent: settings.build().new_agent(),
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
        let health = match self.value("/healthz") {
            Err(Trouble::Strange(_)) => return Err(stranger()),
            Err(Trouble::Refused(status, _))
                // It may be one that is not well.
                if !status.is_server_error() && status != StatusCode::MISDIRECTED_REQUEST =>
            {
                return Err(stranger())
            }
            health => health?,
        };
        let version = health["version"].as_str().ok_or_else(stranger)?;
        let (theirs, ours) = (health["api"].as_u64().unwrap_or(0), u64::from(API_VERSION));
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
        self.understood(self.value(path)?)
    }
    /// The same as JSON, whatever it is.
    pub(crate) fn value(&self, path: &str) -> Answered<Value> {
        self.send(self.request(Method::GET, path).body(()))
    }
    /// Asks for what `body` says.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Answered<Value> {
        let request = self.request(Method::POST, path);
        let request = request.header(header::CONTENT_TYPE, "application/json");
        self.send(request.body(body.to_string()))
    }
    /// Asks that what is at `path` be gone.
    pub(crate) fn delete(&self, path: &str) -> Answered<Value> {
        self.send(self.request(Method::DELETE, path).body(()))
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
    fn broken(&self, why: Error) -> Trouble {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        let broke_off = "the connection broke off";
        let why = match why {
            Error::BodyExceedsLimit(_) => return self.strange(&"it has no end"),
            Error::Timeout(of) => {
                let is_connect = matches!(of, Timeout::Resolve | Timeout::Connect);
                let patience = if is_connect { CONNECT } else { ANSWER };
                format!("no answer within {} s", patience.as_secs())
            }
            Error::Io(why) => match why.kind() {
                BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof => {
                    format!("{broke_off}: {}", plain(&why))
                }
                _ => format!("cannot be reached: {}", plain(&why)),
            },
            Error::HostNotFound => format!("cannot be reached: {why}"),
            why => format!("{broke_off}: {why}"),
        };
        Trouble::Gone(format!("{}: {}", self.address, one_line(&why)))
    }

    /// A request without its body.
    pub(super) fn request(&self, method: Method, path: &str) -> request::Builder {
        let url = format!("{}{path}", self.address);
        let request = Request::builder().method(method).uri(url);
        match &self.token {
            Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        }
    }

    fn send(&self, request: http::Result<Request<impl AsSendBody>>) -> Answered<Value> {
        let text = self.whole(self.begin(request, ANSWER)?, LONGEST)?;
        serde_json::from_slice(&text).map_err(|why| self.strange(&why))
    }

    /// Asks; the answer is one that is no refusal, and goes on before it was silent for `patience`.
    pub(super) fn begin(
        &self,
        request: http::Result<Request<impl AsSendBody>>,
        patience: Duration,
    ) -> Answered<Body> {
        let request = request.map_err(|why| self.broken(why.into()))?;
        let request = self.agent.configure_request(request);
        let request = request.timeout_per_read(Some(patience)).build();
        let answer = self.agent.run(request).map_err(|why| self.broken(why))?;
        let (status, body) = (answer.status(), answer.into_body());
        match status.is_success() {
            true => Ok(body),
            false => Err(self.refusal(status, body)),
        }
    }

    fn whole(&self, mut body: Body, longest: u64) -> Answered<Vec<u8>> {
        let text = body.with_config().limit(longest).read_to_vec();
        text.map_err(|why| self.broken(why))
    }

    /// Why it refused.
    fn refusal(&self, status: StatusCode, body: Body) -> Trouble {
        let body = self.whole(body, LONGEST_REFUSAL).unwrap_or_default();
        let json: Option<Value> = serde_json::from_slice(&body).ok();
        let why = json.as_ref().and_then(|json| json["error"].as_str());
        let why = match (status, &self.token) {
            (StatusCode::UNAUTHORIZED, None) => {
                "it wants a token: --token-file, or THALWEG_TOKEN in the environment"
            }
            (StatusCode::UNAUTHORIZED, Some(_)) => "it refuses the token",
            _ => why.unwrap_or(status.canonical_reason().unwrap_or("it refuses")),
        };
        Trouble::Refused(status, format!("{}: {}", self.address, one_line(why)))
    }

    /// What `object` is made of, at most `longest` bytes; none where `goes_on` says so.
    pub(super) fn content(
        &self,
        object: i64,
        longest: u64,
        goes_on: &dyn Fn() -> bool,
    ) -> Answered<Option<Vec<u8>>> {
        let request = self.request(Method::GET, &format!("/api/objects/{object}/content"));
        let body = self.begin(request.body(()), ANSWER)?;
        let mut body = body.into_reader().take(longest);
        let (mut bytes, mut piece) = (Vec::new(), vec![0; 1 << 16]);
        while goes_on() {
            let read = body.read(&mut piece);
            match read.map_err(|why| self.broken(why.into()))? {
                0 => return Ok(Some(bytes)),
                read => bytes.extend_from_slice(&piece[..read]),
            }
        }
        Ok(None)
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
