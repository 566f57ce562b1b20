//! Pages for people: the portal, signing in, and an explorer for GraphQL. They need nothing from outside.

mod portal;

use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;

use crate::app::App;
use crate::auth::{SESSION, session_of};
use crate::error::Fault;

/// Scripts and styles come from here and nowhere else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) fn router() -> Router<App> {
    Router::new()
        .merge(portal::router())
        .route("/graphiql", get(|| page(include_str!("explorer.html"))))
        .route("/sign-in", get(|| page(include_str!("sign_in.html"))))
        .route(
            "/pages/pages.css",
            get(|| file("text/css", include_str!("pages.css"))),
        )
        .route(
            "/pages/explorer.js",
            get(|| file("text/javascript", include_str!("explorer.js"))),
        )
        .route(
            "/pages/sign_in.js",
            get(|| file("text/javascript", include_str!("sign_in.js"))),
        )
        .route("/auth/sign-in", post(sign_in))
        .route("/auth/sign-out", post(sign_out))
}

async fn page(html: &'static str) -> Response {
    let mut response = file("text/html; charset=utf-8", html).await;
    let name = HeaderName::from_static("content-security-policy");
    response
        .headers_mut()
        .insert(name, HeaderValue::from_static(POLICY));
    response
}

async fn file(kind: &'static str, text: &'static str) -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static(kind))], text).into_response()
}

#[derive(Deserialize)]
struct SignIn {
    token: String,
}

/// Trades the one-time token of a link for a session.
async fn sign_in(State(app): State<App>, Json(given): Json<SignIn>) -> Result<Response, Fault> {
    let session = app.core().access.redeem(&given.token).await?;
    let session = session.ok_or_else(|| {
        Fault::new(
            crate::error::Category::Authentication,
            "SIGN_IN_USED",
            "this link was used before, or is too old",
            "ask for a new one: strata key sign-in",
        )
    })?;
    let secure = if app.core().options.public_url.starts_with("https://") {
        "; Secure"
    } else {
        ""
    };
    let cookie =
        format!("{SESSION}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200{secure}");
    Ok((
        [(SET_COOKIE, cookie)],
        Json(serde_json::json!({"signed_in": true})),
    )
        .into_response())
}

async fn sign_out(State(app): State<App>, headers: HeaderMap) -> Result<Response, Fault> {
    if let Some(session) = session_of(&headers) {
        app.core().access.sign_out(session).await?;
    }
    let gone = format!("{SESSION}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    Ok((
        [(SET_COOKIE, gone)],
        Json(serde_json::json!({"signed_in": false})),
    )
        .into_response())
}
