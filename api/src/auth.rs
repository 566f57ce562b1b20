//! Who asks: the key of the header, or the session of the cookie; and how often they may.

use std::num::NonZeroU32;

use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use commands::access::Proof;
use domain::trace::TraceParent;
use governor::clock::{Clock as _, DefaultClock, QuantaInstant};
use governor::{DefaultKeyedRateLimiter, NotUntil, Quota, RateLimiter};

use crate::app::App;
use crate::door::Peer;
use crate::error::{Category, Fault};
use crate::viewer::Viewer;

/// The cookie of a browser that has signed in.
pub(crate) const SESSION: &str = "strata_session";
/// How many times its rate a key may ask at once.
const BURST: NonZeroU32 = NonZeroU32::new(4).unwrap();

/// How many unknown keys one peer may show per second, and at once.
const STRANGERS: NonZeroU32 = NonZeroU32::new(200).unwrap();
const STRANGERS_BURST: NonZeroU32 = NonZeroU32::new(1_000).unwrap();

/// Counts the requests of each key, and the keys of each peer that must be looked up.
pub(crate) struct Limiter {
    of_keys: Option<DefaultKeyedRateLimiter<String>>,
    of_peers: DefaultKeyedRateLimiter<Peer>,
}

impl Limiter {
    pub(crate) fn new(per_second: Option<u32>) -> Self {
        let quota = |rate, burst| Quota::per_second(rate).allow_burst(burst);
        let of_key = per_second.and_then(NonZeroU32::new);
        let of_key = of_key.map(|rate| quota(rate, rate.saturating_mul(BURST)));
        Self {
            of_keys: of_key.map(RateLimiter::keyed),
            of_peers: RateLimiter::keyed(quota(STRANGERS, STRANGERS_BURST)),
        }
    }

    /// Refuses a key that asks too often, and says when it may again.
    pub(crate) fn check(&self, key_id: &str) -> Result<(), Fault> {
        let Some(limiter) = &self.of_keys else {
            return Ok(());
        };
        let checked = limiter.check_key(&key_id.to_owned());
        checked.map_err(|until| too_often("this key asks too often", &until))
    }

    /// Refuses a peer that tries too many keys; those in use are not asked for, and go on.
    fn check_peer(&self, peer: Peer) -> Result<(), Fault> {
        let checked = self.of_peers.check_key(&peer);
        checked.map_err(|until| too_often("too many keys are tried from this address", &until))
    }

    /// Forgets keys and peers that have not asked for a while.
    pub(crate) fn tidy(&self) {
        if let Some(limiter) = &self.of_keys {
            limiter.retain_recent();
        }
        self.of_peers.retain_recent();
    }
}

fn too_often(message: &str, until: &NotUntil<QuantaInstant>) -> Fault {
    let wait = until.wait_time_from(DefaultClock::default().now());
    Fault::new(
        Category::Limit,
        "RATE_LIMITED",
        message,
        format!(
            "wait {} ms, or ask for several things at once",
            wait.as_millis().max(1)
        ),
    )
}

impl App {
    /// Who sent these headers. A peer is given for requests, not when an open stream is looked at again.
    pub(crate) async fn viewer(
        &self,
        method: &Method,
        headers: &HeaderMap,
        peer: Option<Peer>,
    ) -> Result<Viewer, Fault> {
        let proof = match (key_of(headers), session_of(headers)) {
            (Some(key), _) => Proof::Key(key),
            (None, Some(session)) => {
                require_same_origin(method, headers)?;
                Proof::Session(session)
            }
            (None, None) => return Err(Fault::unauthenticated()),
        };
        self.viewer_of(proof, headers, peer).await
    }

    /// Who shows this.
    pub(crate) async fn viewer_of(
        &self,
        proof: Proof<'_>,
        headers: &HeaderMap,
        peer: Option<Peer>,
    ) -> Result<Viewer, Fault> {
        let access = &self.inner.access;
        let identity = match (access.remembered(proof), peer) {
            (Some(known), _) => known,
            (None, peer) => {
                if let Some(peer) = peer {
                    self.inner.limiter.check_peer(peer)?;
                }
                let asked = access.who(proof).await;
                asked.map_err(|error| Fault::unavailable(&error))?
            }
        };
        let identity = identity.ok_or_else(Fault::unauthenticated)?;
        self.inner.limiter.check(&identity.key_id)?;
        Ok(Viewer::new(identity, trace_of(headers)))
    }
}

impl FromRequestParts<App> for Viewer {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Fault> {
        if let Some(viewer) = parts.extensions.get::<Self>() {
            return Ok(viewer.clone());
        }
        let peer = parts.extensions.get::<Peer>().copied();
        let mut viewer = app.viewer(&parts.method, &parts.headers, peer).await?;
        // What the request's own span says comes before what its header says.
        if let Some(trace) = parts.extensions.get::<TraceParent>() {
            viewer.trace = Some(trace.to_string());
        }
        parts.extensions.insert(viewer.clone());
        Ok(viewer)
    }
}

/// The key in `Authorization: Bearer` or `X-Api-Key`.
fn key_of(headers: &HeaderMap) -> Option<&str> {
    if let Some(value) = headers.get(AUTHORIZATION) {
        let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then(|| key.trim());
    }
    headers.get("x-api-key")?.to_str().ok()
}

pub(crate) fn session_of(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(name, _)| *name == SESSION)
        .map(|(_, value)| value)
}

/// A cookie is sent along by any page; only our own may use it. Browsers name the page in `Origin` whenever
/// a request could change something or opens a socket.
fn require_same_origin(method: &Method, headers: &HeaderMap) -> Result<(), Fault> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let site = headers
        .get("sec-fetch-site")
        .and_then(|value| value.to_str().ok());
    let near = site.is_none_or(|site| site == "same-origin" || site == "none");
    let same = match text(ORIGIN) {
        Some(origin) => {
            let authority = origin.split_once("://").map(|(_, rest)| rest);
            authority.is_some() && authority == text(HOST)
        }
        None => method == Method::GET || method == Method::HEAD,
    };
    if same && near {
        return Ok(());
    }
    Err(Fault::new(
        Category::Permission,
        "FOREIGN_ORIGIN",
        "a session works only from the pages of this address",
        "send a key in the Authorization header instead",
    ))
}

/// W3C trace context, if it looks like one.
fn trace_of(headers: &HeaderMap) -> Option<String> {
    let text = headers.get("traceparent")?.to_str().ok()?;
    (text.len() <= 64 && text.starts_with("00-")).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (name.parse().unwrap(), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn keys_and_sessions_are_found_where_clients_put_them() {
        assert_eq!(
            key_of(&headers(&[("authorization", "Bearer k")])),
            Some("k")
        );
        assert_eq!(key_of(&headers(&[("authorization", "Basic k")])), None);
        assert_eq!(key_of(&headers(&[("x-api-key", "k")])), Some("k"));
        let cookie = headers(&[("cookie", "a=b; strata_session=s; c=d")]);
        assert_eq!(session_of(&cookie), Some("s"));
    }

    #[test]
    fn a_session_does_not_work_from_other_pages() {
        let from = |origin| headers(&[("host", "strata.test:8080"), ("origin", origin)]);
        let post = |headers: HeaderMap| require_same_origin(&Method::POST, &headers);
        assert_eq!(post(from("http://strata.test:8080")), Ok(()));
        assert!(post(from("http://evil.test")).is_err());
        assert!(post(from("null")).is_err());
        assert!(post(headers(&[("host", "strata.test")])).is_err());
        assert_eq!(require_same_origin(&Method::GET, &headers(&[])), Ok(()));
        assert!(require_same_origin(&Method::GET, &from("http://evil.test")).is_err());
    }

    #[test]
    fn a_peer_that_tries_too_many_keys_waits() {
        let limiter = Limiter::new(None);
        let peer = |text: &str| Peer::of(text.parse().unwrap());
        let burst = usize::try_from(STRANGERS_BURST.get()).unwrap();
        let tried = (0..burst * 2).map(|_| limiter.check_peer(peer("192.0.2.1")));
        let refused = tried.filter(Result::is_err).count();
        assert!(refused > burst / 2, "{refused}");
        assert_eq!(limiter.check_peer(peer("192.0.2.2")), Ok(()));
    }

    #[test]
    fn a_key_that_asks_too_often_waits() {
        let limiter = Limiter::new(Some(1));
        let refused = (0..10).filter(|_| limiter.check("key_a").is_err()).count();
        assert_eq!(refused, 6);
        assert_eq!(limiter.check("key_b"), Ok(()));
        assert_eq!(Limiter::new(None).check("key_a"), Ok(()));
    }
}
