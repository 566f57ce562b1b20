//! One HTTP call: guarded, bounded in time and size, without redirects and proxies.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use tokio::time::Instant;

use super::guard::{Guarded, Lookup, Rules, Unresolved, checked};

/// Longest time for a connection to come about.
const CONNECT: Duration = Duration::from_secs(10);
/// Idle connections that are kept to one receiver.
const IDLE_MAX: usize = 16;
/// How much of an answer is read.
const ANSWER_BYTES_MAX: usize = 4 * 1024;
/// How much of it is shown.
const EXCERPT_CHARS_MAX: usize = 200;
/// A receiver may ask for so much patience and no more.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);

/// What is sent.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) url: String,
    pub(super) id: String,
    /// By the clock of the database.
    pub(super) at: DateTime<Utc>,
    pub(super) signatures: String,
    pub(super) body: Bytes,
    pub(super) timeout: Duration,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) took: Duration,
    pub(super) status: Option<u16>,
    /// The receiver asks to be left alone for so long.
    pub(super) retry_after: Option<Duration>,
    /// Nothing if it was delivered.
    pub(super) fault: Option<Fault>,
}

/// Why it was not delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// A stable name for programs.
    pub(super) code: &'static str,
    /// Of our own words.
    pub(super) message: String,
    /// The beginning of what the receiver said.
    pub(super) excerpt: String,
    /// Trying again cannot help.
    pub(super) is_final: bool,
}

impl Fault {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            excerpt: String::new(),
            is_final: false,
        }
    }

    fn last(self) -> Self {
        Self {
            is_final: true,
            ..self
        }
    }
}

/// Calls receivers. Cheap to clone.
#[derive(Clone)]
pub(super) struct Client {
    rules: Arc<Rules>,
    tls: reqwest::Client,
    plain: reqwest::Client,
}

impl Client {
    pub(super) fn new(rules: Rules, lookup: &Arc<dyn Lookup>) -> reqwest::Result<Self> {
        // The process has one already if anything else in it came first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let rules = Arc::new(rules);
        let make = |with_tls: bool| {
            let guarded = Guarded {
                rules: Arc::clone(&rules),
                with_tls,
                lookup: Arc::clone(lookup),
            };
            reqwest::Client::builder()
                .user_agent(concat!("strata/", env!("CARGO_PKG_VERSION")))
                .dns_resolver(Arc::new(guarded))
                .redirect(reqwest::redirect::Policy::none())
                .no_proxy()
                .referer(false)
                .connect_timeout(CONNECT)
                .pool_max_idle_per_host(IDLE_MAX)
                .https_only(with_tls)
                .build()
        };
        Ok(Self {
            tls: make(true)?,
            plain: make(false)?,
            rules,
        })
    }

    /// Sends, and judges the answer.
    pub(super) async fn send(&self, message: Message) -> Answer {
        let began = Instant::now();
        let at = message.at;
        let answer = match self.call(message).await {
            Ok(response) => judge(response, at).await,
            Err(fault) => Answer {
                took: Duration::ZERO,
                status: None,
                retry_after: None,
                fault: Some(fault),
            },
        };
        Answer {
            took: began.elapsed(),
            ..answer
        }
    }

    async fn call(&self, message: Message) -> Result<Response, Fault> {
        let url = checked(&message.url, &self.rules)
            .map_err(|refusal| Fault::new(refusal.code(), refusal.to_string()).last())?;
        let client = if url.scheme() == "https" {
            &self.tls
        } else {
            &self.plain
        };
        let sent = client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", message.id)
            .header("webhook-timestamp", message.at.timestamp())
            .header("webhook-signature", message.signatures)
            .body(message.body)
            .timeout(message.timeout)
            .send();
        sent.await.map_err(|error| fault_of(&error))
    }
}

async fn judge(response: Response, at: DateTime<Utc>) -> Answer {
    let status = response.status();
    let retry_after =
        patience(response.headers(), at).filter(|_| matches!(status.as_u16(), 429 | 503));
    // Read even if it is of no use: a connection is used again only after its answer.
    let excerpt = excerpt(response).await;
    let number = status.as_u16();
    let fault = if status.is_success() {
        None
    } else if status == StatusCode::GONE {
        Some(Fault::new("gone", "the endpoint says that it is gone (410)").last())
    } else if status.is_redirection() {
        let text = format!("the endpoint redirects ({number}), and redirects are not followed");
        Some(Fault::new("redirect", text))
    } else {
        let code = if status.is_server_error() {
            "http_5xx"
        } else {
            "http_4xx"
        };
        Some(Fault::new(code, format!("the endpoint answered {number}")))
    };
    Answer {
        took: Duration::ZERO,
        status: Some(number),
        retry_after,
        fault: fault.map(|fault| Fault { excerpt, ..fault }),
    }
}

/// How long the receiver wants to be left alone: seconds, or a date.
fn patience(headers: &HeaderMap, at: DateTime<Utc>) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wanted = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let until = DateTime::parse_from_rfc2822(text).ok()?;
            (until.with_timezone(&Utc) - at).to_std().ok()?
        }
    };
    Some(wanted.min(RETRY_AFTER_MAX))
}

/// The beginning of an answer, without anything that could steer a terminal.
async fn excerpt(mut response: Response) -> String {
    let mut read = Vec::new();
    while read.len() < ANSWER_BYTES_MAX {
        match response.chunk().await {
            Ok(Some(chunk)) => read.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    read.truncate(ANSWER_BYTES_MAX);
    let text = String::from_utf8_lossy(&read);
    let words = text.split(|c: char| c.is_control() || c.is_whitespace());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(EXCERPT_CHARS_MAX).collect()
}

/// What went wrong before there was an answer. The url is not repeated: it may hold a token.
fn fault_of(error: &reqwest::Error) -> Fault {
    let mut source = std::error::Error::source(error);
    let mut innermost = String::new();
    while let Some(inner) = source {
        if let Some(unresolved) = inner.downcast_ref::<Unresolved>() {
            let text = unresolved.to_string();
            return match unresolved {
                Unresolved::Forbidden => Fault::new("callback_address_forbidden", text).last(),
                Unresolved::Failed(_) => Fault::new("dns_failed", text),
            };
        }
        innermost = inner.to_string();
        source = inner.source();
    }
    let innermost: String = innermost.chars().take(EXCERPT_CHARS_MAX).collect();
    if error.is_timeout() {
        Fault::new("timeout", "the endpoint did not answer in time")
    } else if error.is_connect() {
        Fault::new(
            "connect_failed",
            format!("no connection to the endpoint: {innermost}"),
        )
    } else {
        Fault::new(
            "connection_lost",
            format!("the connection to the endpoint broke: {innermost}"),
        )
    }
}
