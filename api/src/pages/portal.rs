//! The portal: files that were built by Node and lie in this library, and one page that is at many addresses.

use axum::Router;
use axum::extract::{Path, Request};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::app::App;
use crate::error::Fault;

/// One file of the portal.
pub(super) struct File {
    /// Such as `/static/main-CwK1.js`.
    path: &'static str,
    kind: &'static str,
    /// Another content has another one.
    tag: &'static str,
    plain: &'static [u8],
    /// The same by Brotli.
    packed: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/portal.rs"));

/// Addresses that are pages; which one it is, the page itself finds out.
const PAGES: &[&str] = &[
    "/",
    "/jobs",
    "/jobs/{id}",
    "/submit",
    "/submit/{id}",
    "/assets",
    "/assets/{id}",
    "/workflows",
    "/workflows/{id}",
    "/platform",
    "/platform/{part}",
];

/// Everything comes from here. Drawings of maps are made by a worker of our own.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data: blob:; worker-src 'self' blob:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// The name of such a file has its content in it.
const FOREVER: &str = "public, max-age=31536000, immutable";
/// Asked for anew each time, and sent only if it differs.
const ASK_AGAIN: &str = "no-cache";

pub(super) fn router() -> Router<App> {
    let mut router = Router::new()
        .route("/static/{*path}", get(content))
        .route("/icon.svg", get(other))
        .route("/theme.js", get(other))
        .route("/notices.txt", get(other));
    for page in PAGES {
        router = router.route(page, get(entrance));
    }
    router
}

fn find(path: &str) -> Option<&'static File> {
    let at = FILES.binary_search_by(|file| file.path.cmp(path)).ok()?;
    FILES.get(at)
}

async fn entrance(headers: HeaderMap) -> Response {
    let Some(index) = find("/index.html") else {
        return super::page(include_str!("index.html")).await;
    };
    let mut response = index.answer(&headers, ASK_AGAIN);
    let name = HeaderName::from_static("content-security-policy");
    let policy = HeaderValue::from_static(POLICY);
    response.headers_mut().insert(name, policy);
    response
}

async fn content(Path(path): Path<String>, headers: HeaderMap) -> Response {
    match find(&format!("/static/{path}")) {
        Some(file) => file.answer(&headers, FOREVER),
        None => Fault::not_found("file", &path).into_response(),
    }
}

async fn other(request: Request) -> Response {
    let path = request.uri().path();
    match find(path) {
        Some(file) => file.answer(request.headers(), ASK_AGAIN),
        None => Fault::not_found("file", path).into_response(),
    }
}

impl File {
    fn answer(&self, headers: &HeaderMap, cache: &'static str) -> Response {
        let named = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let about = [
            (CACHE_CONTROL, HeaderValue::from_static(cache)),
            (ETAG, HeaderValue::from_static(self.tag)),
            (VARY, HeaderValue::from_static("accept-encoding")),
        ];
        let known = named(IF_NONE_MATCH).unwrap_or_default();
        if known.split(',').any(|tag| tag.trim() == self.tag) {
            return (StatusCode::NOT_MODIFIED, about).into_response();
        }
        let kind = [(CONTENT_TYPE, HeaderValue::from_static(self.kind))];
        let packs = named(ACCEPT_ENCODING).unwrap_or_default();
        let takes = |encoding: &str| {
            encoding
                .split(';')
                .next()
                .is_some_and(|it| it.trim() == "br")
        };
        match self.packed {
            Some(packed) if packs.split(',').any(takes) => {
                let encoding = [(CONTENT_ENCODING, HeaderValue::from_static("br"))];
                (about, kind, encoding, packed).into_response()
            }
            _ => (about, kind, self.plain).into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SAMPLE: File = File {
        path: "/sample",
        kind: "text/plain",
        tag: "\"1\"",
        plain: b"plain",
        packed: Some(b"packed"),
    };

    fn asked(name: HeaderName, value: &'static str) -> Response {
        let headers = [(name, HeaderValue::from_static(value))];
        SAMPLE.answer(&headers.into_iter().collect(), ASK_AGAIN)
    }

    #[test]
    fn a_file_is_sent_packed_to_whoever_takes_it_and_not_again_to_whoever_has_it() {
        let packed = asked(ACCEPT_ENCODING, "gzip, br;q=0.9");
        assert_eq!(packed.headers().get(CONTENT_ENCODING).unwrap(), "br");
        let plain = asked(ACCEPT_ENCODING, "gzip");
        assert!(!plain.headers().contains_key(CONTENT_ENCODING));
        assert_eq!(plain.status(), StatusCode::OK);
        let known = asked(IF_NONE_MATCH, "\"0\", \"1\"");
        assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
    }

    #[test]
    fn files_are_in_the_order_that_they_are_looked_up_in() {
        assert!(FILES.is_sorted_by_key(|file| file.path));
    }
}
