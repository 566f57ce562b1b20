//! The way of a person's commands to the API: one document, one answer; or a stream of what happens.
//!
//! The key is sent in a header and shown nowhere. Errors know their exit code and what to do next.

pub(crate) mod args;
mod fault;
mod feed;
mod sse;

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::exit::Stop;
use crate::logging;
use crate::roles::args::data_dir_flag;
use crate::services::{Context, from_env, redact};
use args::ClientArgs;
pub(crate) use fault::{Fault, is_code};
pub(crate) use feed::News;

/// Address and key of a server that others run.
pub(crate) const URL: &str = "STRATA_URL";
pub(crate) const KEY: &str = "STRATA_KEY";

const CONNECT: Duration = Duration::from_secs(5);
/// The server gives up after half of it.
const ANSWER: Duration = Duration::from_secs(60);
/// A stream says something every fifteen seconds, if only that it is alive.
const SILENCE: Duration = Duration::from_secs(45);
/// Largest answer.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A server and the key for it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    /// Without a slash at the end.
    url: String,
    key: HeaderValue,
    /// The data directory that named it, if one did.
    dir: Option<PathBuf>,
}

/// An answer of GraphQL.
#[derive(Deserialize)]
struct Answer {
    data: Option<Value>,
    #[serde(default)]
    errors: Vec<fault::GraphqlError>,
}

impl Client {
    /// The server that the environment names, else the one of the data directory.
    pub(crate) fn find(args: &ClientArgs) -> anyhow::Result<Self> {
        logging::init_quiet(&args.log);
        let key = from_env(KEY);
        match from_env(URL) {
            Some(url) => Self::of_env(&url, key),
            None => Self::of_dir(&args.data_dir, key),
        }
    }

    /// The server of an address, which nobody gives without a key.
    pub(crate) fn of_env(url: &str, key: Option<String>) -> anyhow::Result<Self> {
        let key = key.ok_or_else(|| {
            let next = format!("set {KEY} as well; an admin makes a key: strata key create");
            Stop::unreachable(format!("{URL} is set, and {KEY} is not"), next)
        })?;
        Self::new(url, &key, None)
    }

    /// The server of the stack that runs on a data directory; with its key, unless there is another.
    pub(crate) fn of_dir(dir: &Path, key: Option<String>) -> anyhow::Result<Self> {
        let start = format!("strata up{}", data_dir_flag(dir));
        let noted = Context::read(dir)?.ok_or_else(|| {
            let message = format!("Strata does not run on {}", dir.display());
            Stop::unreachable(message, format!("{start}; or set {URL} and {KEY}"))
        })?;
        let (Some(url), Some(key)) = (noted.url, key.or(noted.key)) else {
            let message = format!("the stack on {} has no API", dir.display());
            return Err(Stop::unreachable(
                message,
                format!("{start}; or set {URL} and {KEY}"),
            ));
        };
        Self::new(&url, &key, Some(dir.to_owned()))
    }

    fn new(url: &str, key: &str, dir: Option<PathBuf>) -> anyhow::Result<Self> {
        let url = url.trim().trim_end_matches('/');
        if !url.starts_with("http://") && !url.starts_with("https://") {
            let message = format!("{URL}: `{}` is not an address", redact(url));
            return Err(Stop::usage(
                message,
                "give one such as https://strata.example.org",
            ));
        }
        let unusable = |_| Stop::usage(format!("{KEY}: this is not a key"), "strata key create");
        let mut key = HeaderValue::from_str(&format!("Bearer {}", key.trim())).map_err(unusable)?;
        key.set_sensitive(true);
        // The process has one already if anything else in it came first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = reqwest::Client::builder()
            .user_agent(concat!("strata/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE);
        // What runs on this machine is not reached through another one.
        if dir.is_some() {
            http = http.no_proxy();
        }
        let http = http
            .build()
            .map_err(|error| Stop::failed(format!("no HTTP client: {error}"), ""))?;
        let url = url.to_owned();
        Ok(Self {
            http,
            url,
            key,
            dir,
        })
    }

    /// The same server, where it is now: a stack that was started again may have another address.
    pub(crate) fn again(&self) -> Self {
        let dir = self.dir.as_ref();
        let moved = dir.and_then(|dir| Context::read(dir).ok().flatten());
        match moved.and_then(|noted| noted.url) {
            Some(url) => Self {
                url,
                ..self.clone()
            },
            None => self.clone(),
        }
    }

    /// The address, for people.
    pub(crate) fn shown(&self) -> String {
        redact(&self.url)
    }

    /// Asks for one thing.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        document: &str,
        variables: Value,
    ) -> anyhow::Result<T> {
        let asking = self.post(document, variables).timeout(ANSWER).send();
        let response = asking.await.map_err(|error| self.silent(&error))?;
        let status = response.status();
        let body = limited(response)
            .await
            .map_err(|error| self.silent(&error))?;
        let body = body.ok_or_else(|| {
            let message = format!("the answer has more than {ANSWER_BYTES_MAX} bytes");
            Stop::failed(message, "ask for less at once")
        })?;
        if !status.is_success() {
            return Err(Fault::of_http(status, &body).stop(self));
        }
        let answer: Answer = serde_json::from_slice(&body).map_err(|_| self.stranger())?;
        if let Some(error) = answer.errors.into_iter().next() {
            return Err(Fault::from(error).stop(self));
        }
        let data = answer.data.unwrap_or_default();
        serde_json::from_value(data).map_err(|error| {
            let message = format!("the server answers in another way than expected: {error}");
            Stop::failed(message, "use a `strata` of the same version as the server")
        })
    }

    /// Whether the server says that it is ready, and its own words if not.
    pub(crate) async fn ready(&self) -> anyhow::Result<Result<(), String>> {
        let asking = self
            .http
            .get(format!("{}/readyz", self.url))
            .timeout(ANSWER);
        let response = asking.send().await.map_err(|error| self.silent(&error))?;
        if response.status().is_success() {
            return Ok(Ok(()));
        }
        let body = limited(response)
            .await
            .map_err(|error| self.silent(&error))?;
        let said: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
        let checks = said.get("checks").and_then(Value::as_array);
        let bad = checks
            .into_iter()
            .flatten()
            .filter(|check| check["ok"] == false);
        let words: Vec<String> = bad
            .map(|check| {
                let word = |name: &str| check[name].as_str().unwrap_or_default().to_owned();
                format!("{}: {}", word("name"), word("detail"))
            })
            .collect();
        Ok(Err(words.join("; ")))
    }

    fn post(&self, document: &str, variables: Value) -> reqwest::RequestBuilder {
        let body = json!({"query": document, "variables": variables});
        let request = self.http.post(format!("{}/graphql", self.url)).json(&body);
        request.header(AUTHORIZATION, self.key.clone())
    }

    fn post_for_stream(&self, document: &str, variables: Value) -> reqwest::RequestBuilder {
        self.post(document, variables)
            .header(ACCEPT, "text/event-stream")
    }

    /// Nothing came back, or not all of it.
    fn silent(&self, error: &reqwest::Error) -> anyhow::Error {
        let why = if error.is_timeout() {
            "it takes too long".to_owned()
        } else {
            innermost(error)
        };
        let message = format!("the server at {} does not answer: {why}", self.shown());
        let next = match &self.dir {
            Some(dir) => format!("strata doctor{}", data_dir_flag(dir)),
            None => format!("check {URL}, and whether the server runs"),
        };
        Stop::unreachable(message, next)
    }

    fn stranger(&self) -> anyhow::Error {
        let message = format!("what answers at {} is not Strata", self.shown());
        Stop::unreachable(message, format!("check {URL}"))
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

/// The body, unless it has no end.
async fn limited(mut response: reqwest::Response) -> reqwest::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

/// What the libraries below say, without the address: it is named already.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}
