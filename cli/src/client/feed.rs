//! A subscription that outlives its connection: it goes on after the last cursor, each event once.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;

use super::fault::{Fault, GraphqlError};
use super::sse::{Event, Parser};
use super::{Answer, Client, limited};
use crate::exit::{Exit, Stop};

/// First and longest pause before another try.
const PAUSE: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// So long it is tried before that is given up.
const PATIENCE: Duration = Duration::from_secs(120);
/// Messages that wait for the reader; more wait with the server.
const AHEAD: usize = 64;

/// What a subscription has to say.
#[derive(Debug)]
pub(crate) enum News {
    /// From now on nothing is missed; what is looked at next is up to date.
    Open,
    /// Something happened: the value of the subscription's field.
    Event(Value),
    /// The connection broke; it is tried again.
    Lost(String),
    /// It makes no sense to go on.
    Failed(anyhow::Error),
}

/// A running subscription; it ends when it is dropped.
pub(crate) struct Feed {
    from: mpsc::Receiver<News>,
    _task: AbortOnDropHandle<()>,
}

impl Feed {
    /// What comes next; nothing after a failure.
    pub(crate) async fn next(&mut self) -> Option<News> {
        self.from.recv().await
    }
}

impl Client {
    /// Subscribes. The document takes `$after` besides its `variables`, and its only field, `field`, has a `cursor`.
    pub(crate) fn subscribe(
        &self,
        document: &'static str,
        field: &'static str,
        variables: Value,
    ) -> Feed {
        let (to, from) = mpsc::channel(AHEAD);
        let subscription = Subscription {
            client: self.clone(),
            document,
            field,
            variables,
            to,
            after: None,
        };
        let task = tokio::spawn(subscription.run());
        Feed {
            from,
            _task: AbortOnDropHandle::new(task),
        }
    }
}

struct Subscription {
    client: Client,
    document: &'static str,
    field: &'static str,
    variables: Value,
    to: mpsc::Sender<News>,
    /// Everything up to here was handed over.
    after: Option<String>,
}

#[derive(Deserialize)]
struct Cursor {
    cursor: String,
}

/// Why a connection ended.
enum End {
    /// It may be tried again.
    Broken(anyhow::Error),
    /// The place is of a log that is no more.
    Expired,
    Fatal(anyhow::Error),
    /// Nobody listens.
    Unheard,
}

impl Subscription {
    async fn run(mut self) {
        let mut pause = PAUSE;
        let mut since: Option<Instant> = None;
        let mut was_open = false;
        loop {
            let mut opened = false;
            let error = match self.connection(&mut opened).await {
                End::Unheard => return,
                End::Expired => {
                    self.after = None;
                    sleep(PAUSE).await;
                    continue;
                }
                End::Fatal(error) => return self.fail(error).await,
                End::Broken(error) => error,
            };
            if opened {
                (pause, since, was_open) = (PAUSE, None, true);
            }
            let begun = *since.get_or_insert_with(Instant::now);
            // What never worked is said at once.
            if !was_open || begun.elapsed() > PATIENCE {
                return self.fail(error).await;
            }
            if pause == PAUSE && self.to.send(News::Lost(error.to_string())).await.is_err() {
                return;
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
            self.client = self.client.again();
        }
    }

    async fn fail(&self, error: anyhow::Error) {
        let _ = self.to.send(News::Failed(error)).await;
    }

    /// One connection, to its end.
    async fn connection(&mut self, opened: &mut bool) -> End {
        if self.after.is_none() {
            match self.client.ask::<Cursor>("{ cursor }", Value::Null).await {
                Ok(now) => self.after = Some(now.cursor),
                Err(error) => return judged(error),
            }
        }
        let mut variables = self.variables.clone();
        variables["after"] = json!(self.after);
        let asking = self.client.post_for_stream(self.document, variables);
        let mut response = match asking.send().await {
            Ok(response) => response,
            Err(error) => return End::Broken(self.client.silent(&error)),
        };
        let status = response.status();
        if !status.is_success() {
            let body = limited(response).await.ok().flatten().unwrap_or_default();
            return self.refused(Fault::of_http(status, &body));
        }
        *opened = true;
        if self.to.send(News::Open).await.is_err() {
            return End::Unheard;
        }
        let mut parser = Parser::default();
        loop {
            let bytes = match response.chunk().await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return End::Broken(broken("the server ended the stream")),
                Err(error) => return End::Broken(self.client.silent(&error)),
            };
            let Ok(events) = parser.push(&bytes) else {
                return End::Fatal(broken("the server sends an event without an end"));
            };
            for event in events {
                if let Err(end) = self.hand_over(event).await {
                    return end;
                }
            }
        }
    }

    async fn hand_over(&mut self, event: Event) -> Result<(), End> {
        if event.name == "complete" {
            return Err(End::Broken(broken("the server ended the stream")));
        }
        let answer: Answer = match serde_json::from_str(&event.data) {
            Ok(answer) => answer,
            Err(_) => return Err(End::Fatal(self.client.stranger())),
        };
        if let Some(error) = answer.errors.into_iter().next() {
            return Err(self.refused(of(error)));
        }
        let mut data = answer.data.unwrap_or_default();
        let message = data
            .get_mut(self.field)
            .map(Value::take)
            .unwrap_or_default();
        let cursor = message.get("cursor").and_then(Value::as_str);
        let Some(cursor) = cursor.map(str::to_owned) else {
            return Err(End::Fatal(self.client.stranger()));
        };
        // The server never repeats; a proxy in between might.
        if self.after.as_deref().and_then(place) >= place(&cursor) {
            return Ok(());
        }
        self.after = Some(cursor);
        let sent = self.to.send(News::Event(message)).await;
        sent.map_err(|_| End::Unheard)
    }

    fn refused(&self, fault: Fault) -> End {
        if fault.code == "CURSOR_EXPIRED" {
            return End::Expired;
        }
        let passing = fault.is_passing();
        let error = fault.stop(&self.client);
        if passing {
            End::Broken(error)
        } else {
            End::Fatal(error)
        }
    }
}

fn of(error: GraphqlError) -> Fault {
    error.into()
}

/// The position in a cursor.
fn place(cursor: &str) -> Option<i64> {
    cursor.rsplit_once('-')?.1.parse().ok()
}

/// A question that failed, as the end of a connection.
fn judged(error: anyhow::Error) -> End {
    let stop = error.downcast_ref::<Stop>();
    let refused = stop.is_some_and(|stop| stop.code == "UNAUTHENTICATED");
    match stop {
        Some(stop) if stop.exit == Exit::Unreachable && !refused => End::Broken(error),
        _ => End::Fatal(error),
    }
}

fn broken(why: &str) -> anyhow::Error {
    Stop::unreachable(why, "strata doctor")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::extract::State;
    use axum::http::HeaderMap;
    use axum::http::header::CONTENT_TYPE;
    use axum::response::{IntoResponse as _, Response};
    use axum::routing::post;
    use axum::{Json, Router};

    use super::*;

    type Asked = Arc<Mutex<Vec<Value>>>;

    /// A server behind a bad proxy: streams are cut, and what was sent comes again.
    async fn answer(State(asked): State<Asked>, headers: HeaderMap, body: Json<Value>) -> Response {
        if !headers.contains_key("accept") || headers["accept"] != "text/event-stream" {
            return Json(json!({"data": {"cursor": "0123456789ab-0"}})).into_response();
        }
        let mut asked = asked.lock().unwrap();
        asked.push(body["variables"]["after"].clone());
        let positions = if asked.len() == 1 { [1, 2] } else { [2, 3] };
        let next = |pos| {
            let cursor = format!("0123456789ab-{pos}");
            format!(
                "event: next\ndata: {}\n\n",
                json!({"data": {"job": {"cursor": cursor}}})
            )
        };
        let text: String = positions.map(next).concat();
        ([(CONTENT_TYPE, "text/event-stream")], text).into_response()
    }

    #[tokio::test]
    async fn a_stream_that_is_cut_goes_on_after_its_cursor_and_repeats_nothing() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Asked::default();
        let app = Router::new()
            .route("/graphql", post(answer))
            .with_state(Arc::clone(&asked));
        tokio::spawn(async move { axum::serve(listener, app).await });
        let client = Client::of_env(&url, Some("key".to_owned())).unwrap();
        let mut feed = client.subscribe("subscription { job { cursor } }", "job", json!({}));
        let (mut seen, mut breaks) = (Vec::new(), 0);
        while seen.len() < 3 {
            match feed.next().await {
                Some(News::Event(message)) => seen.push(message["cursor"].clone()),
                Some(News::Lost(_)) => breaks += 1,
                Some(News::Open) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(seen, ["0123456789ab-1", "0123456789ab-2", "0123456789ab-3"]);
        assert_eq!(breaks, 1);
        assert_eq!(
            asked.lock().unwrap()[..2],
            ["0123456789ab-0", "0123456789ab-2"]
        );
    }

    #[tokio::test]
    async fn what_never_worked_is_said_at_once() {
        let client = Client::of_env("http://127.0.0.1:1", Some("key".to_owned())).unwrap();
        let mut feed = client.subscribe("subscription { job { cursor } }", "job", json!({}));
        let Some(News::Failed(error)) = feed.next().await else {
            panic!("it should have failed");
        };
        assert!(error.to_string().contains("does not answer"), "{error}");
    }
}
