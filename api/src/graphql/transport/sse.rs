//! Subscriptions as server-sent events: `next` with an answer, `complete` at the end.

use std::convert::Infallible;
use std::time::Duration;

use async_graphql::Request;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;

use super::{SEND_TIMEOUT, json, prepared};
use crate::app::{App, Place};
use crate::error::Fault;
use crate::viewer::Viewer;

/// A sign of life for whatever stands in between.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn stream(app: &App, viewer: &Viewer, request: Request) -> Result<Response, Fault> {
    let place = app.take_place()?;
    let answers = app
        .core()
        .schema
        .execute_stream(prepared(app, viewer, request));
    // One message waits at most: a reader that does not read is let go, and nothing piles up.
    let (to, from) = mpsc::channel(1);
    tokio::spawn(feed(answers, to, place));
    let events = stream::unfold(from, |mut from| async move {
        let event: Option<Event> = from.recv().await;
        event.map(|event| (Ok::<_, Infallible>(event), from))
    });
    let alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(events).keep_alive(alive).into_response())
}

async fn feed(
    mut answers: stream::BoxStream<'static, async_graphql::Response>,
    to: mpsc::Sender<Event>,
    _place: Place,
) {
    loop {
        let answer = tokio::select! {
            answer = answers.next() => answer,
            () = to.closed() => return,
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
