//! Who asks: the key of the header, or the session of the cookie; and how often they may.

use std::num::NonZeroU32;

use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use commands::access::{AccessError, Identity};
use domain::trace::TraceParent;
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::app::App;
use crate::error::{Category, Fault};
use crate::viewer::Viewer;

/// The cookie of a browser that has signed in.
pub(crate) const SESSION: &str = "strata_session";
/// How many times its rate a key may ask at once.
const BURST: u32 = 4;

/// Counts the requests of each key.
pub(crate) struct Limiter {
    of_keys: Option<DefaultKeyedRateLimiter<String>>,
}

impl Limiter {
    pub(crate) fn new(per_second: Option<u32>) -> Self {
        let quota = per_second.and_then(NonZeroU32::new).map(|rate| {
            let burst = NonZeroU32::new(rate.get().saturating_mul(BURST)).unwrap_or(rate);
            Quota::per_second(rate).allow_burst(burst)
        });
        Self {
            of_keys: quota.map(RateLimiter::keyed),
        }
    }

    /// Refuses a key that asks too often, and says when it may again.
    pub(crate) fn check(&self, key_id: &str) -> Result<(), Fault> {
        let Some(limiter) = &self.of_keys else {
            return Ok(());
        };
        limiter.check_key(&key_id.to_owned()).map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            Fault::new(
                Category::Limit,
                "RATE_LIMITED",
                "this key asks too often",
                format!(
                    "wait {} ms, or ask for several things at once",
                    wait.as_millis().max(1)
                ),
            )
        })
    }

    /// Forgets keys that have not asked for a while.
    pub(crate) fn tidy(&self) {
        if let Some(limiter) = &self.of_keys {
            limiter.retain_recent();
        }
    }
}

impl App {
    /// Who sent these headers.
    pub(crate) async fn viewer(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Viewer, Fault> {
        let identity = match key_of(headers) {
            Some(key) => self.inner.access.by_key(key).await,
            None => match session_of(headers) {
                Some(session) => {
                    require_same_origin(method, headers)?;
                    self.inner.access.by_session(session).await
                }
                None => Ok(None),
            },
        };
        self.admit(identity, headers)
    }

    /// Who holds this key, given otherwise than by a header.
    pub(crate) async fn viewer_of_key(
        &self,
        key: &str,
        headers: &HeaderMap,
    ) -> Result<Viewer, Fault> {
        let identity = self.inner.access.by_key(key).await;
        self.admit(identity, headers)
    }

    fn admit(
        &self,
        identity: Result<Option<Identity>, AccessError>,
        headers: &HeaderMap,
    ) -> Result<Viewer, Fault> {
        let identity = identity
            .map_err(|error| Fault::unavailable(&error))?
            .ok_or_else(Fault::unauthenticated)?;
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
        let mut viewer = app.viewer(&parts.method, &parts.headers).await?;
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
    fn a_key_that_asks_too_often_waits() {
        let limiter = Limiter::new(Some(1));
        let refused = (0..10).filter(|_| limiter.check("key_a").is_err()).count();
        assert_eq!(refused, 6);
        assert_eq!(limiter.check("key_b"), Ok(()));
        assert_eq!(Limiter::new(None).check("key_a"), Ok(()));
    }
}
