//! Subscriptions as server-sent events: `next` with an answer, `complete` at the end.

use std::convert::Infallible;
use std::time::Duration;

use async_graphql::Request;
use axum::http::{HeaderMap, Method};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;

use super::{SEND_TIMEOUT, json};
use crate::app::App;
use crate::error::{Category, Fault};
use crate::places::Place;
use crate::viewer::Viewer;

/// A sign of life for whatever stands in between.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How often the key is looked at again.
const LOOK_EVERY: Duration = Duration::from_secs(5);

pub(super) fn stream(
    app: &App,
    viewer: &Viewer,
    request: Request,
    asked: Asked,
) -> Result<Response, Fault> {
    let place = app.core().places.take(viewer.actor())?;
    let answers = super::answers(app, viewer, request);
    // One message waits at most: a reader that does not read is let go, and nothing piles up.
    let (to, from) = mpsc::channel(1);
    tokio::spawn(feed(app.clone(), asked, answers, to, place));
    let events = stream::unfold(from, |mut from| async move {
        let event: Option<Event> = from.recv().await;
        event.map(|event| (Ok::<_, Infallible>(event), from))
    });
    let alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(events).keep_alive(alive).into_response())
}

/// What a request came with, to ask again who sent it.
pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
}

async fn feed(
    app: App,
    asked: Asked,
    mut answers: stream::BoxStream<'static, async_graphql::Response>,
    to: mpsc::Sender<Event>,
    _place: Place,
) {
    let mut looks = tokio::time::interval(LOOK_EVERY);
    looks.reset();
    loop {
        let answer = tokio::select! {
            answer = answers.next() => answer,
            () = to.closed() => return,
            _ = looks.tick() => match app.viewer(&asked.method, &asked.headers, None).await {
                // The key was revoked, or has expired.
                Err(fault) if fault.category == Category::Authentication => return,
                _ => continue,
            },
        };
        let Some(answer) = answer else { break };
        let text = String::from_utf8(json(answer)).unwrap_or_default();
        let event = Event::default().event("next").data(text);
        if to.send_timeout(event, SEND_TIMEOUT).await.is_err() {
            return;
        }
    }
    let end = Event::default().event("complete").data("");
    let _ = to.send_timeout(end, SEND_TIMEOUT).await;
}
