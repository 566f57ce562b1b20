//! The protocol graphql-transport-ws, with a limit on everything: how long the first message may take, how
//! many subscriptions there may be, how large a message is, and how long a reader may not read.
//!
//! A socket is served by one task. While it waits for a slow reader it asks for nothing, so nothing piles up and
//! nobody else waits.

use std::collections::HashMap;
use std::time::Duration;

use async_graphql::{Request, Response as Answer};
use axum::extract::WebSocketUpgrade;
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use axum::http::HeaderMap;
use axum::response::Response;
use commands::access::Proof;
use futures_util::stream::{AbortHandle, BoxStream, SelectAll};
use futures_util::{StreamExt as _, future, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout, timeout_at};

use super::{SEND_TIMEOUT, json as json_of};
use crate::app::App;
use crate::door::Peer;
use crate::error::{Category, Fault};
use crate::places::Place;
use crate::viewer::Viewer;

const PROTOCOL: &str = "graphql-transport-ws";
/// How long a client may take to say hello.
const INIT_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a client is asked whether it is there, and its key looked at.
const PING_EVERY: Duration = Duration::from_secs(5);
/// A client that says nothing for so long is gone.
const SILENCE_MAX: Duration = Duration::from_secs(60);
const MESSAGE_BYTES_MAX: usize = 256 * 1024;
/// Small, because there are thousands of sockets.
const READ_BUFFER_BYTES: usize = 4 * 1024;
const WRITE_BUFFER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What a client may say.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Said {
    ConnectionInit {
        #[serde(default)]
        payload: Option<Value>,
    },
    Ping {},
    Pong {},
    Subscribe {
        id: String,
        payload: Box<Request>,
    },
    Complete {
        id: String,
    },
}

/// Why a socket ends, in the words of the protocol.
struct Ends(u16, &'static str);

const GONE: Ends = Ends(0, "");
const BAD_MESSAGE: Ends = Ends(4400, "Invalid message");
const UNAUTHORIZED: Ends = Ends(4401, "Unauthorized");
const FORBIDDEN: Ends = Ends(4403, "Forbidden");
const INIT_TOO_LATE: Ends = Ends(4408, "Connection initialisation timeout");
const SAME_ID: Ends = Ends(4409, "Subscriber for this id already exists");
const TOO_MANY_STREAMS: Ends = Ends(1013, "Too many streams");
const TOO_MANY: Ends = Ends(4429, "Too many initialisation requests");

pub(super) fn open(
    app: App,
    upgrade: WebSocketUpgrade,
    viewer: Option<Viewer>,
    headers: HeaderMap,
    peer: Option<Peer>,
) -> Result<Response, Fault> {
    let asked = headers.get("sec-websocket-protocol");
    let asked = asked
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if !asked.split(',').any(|one| one.trim() == PROTOCOL) {
        return Err(Fault::new(
            Category::Malformed,
            "WRONG_PROTOCOL",
            "the socket does not speak graphql-transport-ws",
            "name graphql-transport-ws as sub-protocol; subscriptions-transport-ws is not spoken here",
        ));
    }
    let upgrade = upgrade
        .protocols([PROTOCOL])
        .max_message_size(MESSAGE_BYTES_MAX)
        .max_frame_size(MESSAGE_BYTES_MAX)
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(0)
        .max_write_buffer_size(WRITE_BUFFER_BYTES_MAX);
    Ok(upgrade.on_upgrade(move |socket| Box::pin(serve(app, socket, viewer, headers, peer))))
}

async fn serve(
    app: App,
    mut socket: WebSocket,
    viewer: Option<Viewer>,
    headers: HeaderMap,
    peer: Option<Peer>,
) {
    let ended = match hello(&app, &mut socket, viewer, &headers, peer).await {
        Ok((viewer, key, _place)) => {
            let mut talk = Talk::new(app, viewer, key, headers);
            talk.run(&mut socket).await
        }
        Err(ends) => ends,
    };
    if ended.0 != 0 {
        let frame = CloseFrame {
            code: ended.0,
            reason: ended.1.into(),
        };
        let _ = timeout(SEND_TIMEOUT, socket.send(Message::Close(Some(frame)))).await;
    }
}

/// Waits for the first message. Answers who it is, and the key if it was in the message.
async fn hello(
    app: &App,
    socket: &mut WebSocket,
    viewer: Option<Viewer>,
    headers: &HeaderMap,
    peer: Option<Peer>,
) -> Result<(Viewer, Option<String>, Place), Ends> {
    let until = Instant::now() + INIT_TIMEOUT;
    loop {
        let message = timeout_at(until, socket.recv()).await;
        let message = message.map_err(|_| INIT_TOO_LATE)?;
        match said(message)? {
            Some(Said::ConnectionInit { payload }) => {
                let key = key_in(payload.as_ref());
                let viewer = match (&key, viewer) {
                    (Some(key), _) => app
                        .viewer_of(Proof::Key(key), headers, peer)
                        .await
                        .map_err(|_| FORBIDDEN)?,
                    (None, Some(viewer)) => viewer,
                    (None, None) => return Err(FORBIDDEN),
                };
                let place = app.core().places.take(viewer.actor());
                let place = place.map_err(|_| TOO_MANY_STREAMS)?;
                send(socket, json!({"type": "connection_ack"})).await?;
                return Ok((viewer, key, place));
            }
            Some(Said::Ping {}) => send(socket, json!({"type": "pong"})).await?,
            Some(Said::Subscribe { .. }) => return Err(UNAUTHORIZED),
            Some(Said::Pong {} | Said::Complete { .. }) | None => {}
        }
    }
}

/// `{"Authorization": "Bearer KEY"}` or `{"key": "KEY"}`.
fn key_in(payload: Option<&Value>) -> Option<String> {
    let payload = payload?;
    let text = |name: &str| payload.get(name).and_then(Value::as_str);
    let bearer = ["Authorization", "authorization"]
        .into_iter()
        .find_map(text);
    let bearer = bearer.map(|text| text.trim_start_matches("Bearer ").trim());
    bearer.or_else(|| text("key")).map(str::to_owned)
}

/// What a frame says; nothing if it says nothing to us.
fn said(message: Option<Result<Message, axum::Error>>) -> Result<Option<Said>, Ends> {
    match message {
        None | Some(Err(_) | Ok(Message::Close(_))) => Err(GONE),
        Some(Ok(Message::Text(text))) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|_| BAD_MESSAGE),
        Some(Ok(Message::Binary(_))) => Err(BAD_MESSAGE),
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(None),
    }
}

async fn send(socket: &mut WebSocket, value: Value) -> Result<(), Ends> {
    send_text(socket, value.to_string()).await
}

async fn send_text(socket: &mut WebSocket, text: String) -> Result<(), Ends> {
    match timeout(SEND_TIMEOUT, socket.send(Message::Text(text.into()))).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(GONE),
    }
}

/// Answers of one operation, and nothing at its end; with its number, because ids may be used again.
type Answers = BoxStream<'static, (String, u64, Option<Answer>)>;

struct Talk {
    app: App,
    viewer: Viewer,
    key: Option<String>,
    headers: HeaderMap,
    active: HashMap<String, (u64, AbortHandle)>,
    answers: SelectAll<Answers>,
    count: u64,
    heard: Instant,
}

impl Talk {
    fn new(app: App, viewer: Viewer, key: Option<String>, headers: HeaderMap) -> Self {
        Self {
            app,
            viewer,
            key,
            headers,
            active: HashMap::new(),
            answers: SelectAll::new(),
            count: 0,
            heard: Instant::now(),
        }
    }

    async fn run(&mut self, socket: &mut WebSocket) -> Ends {
        let mut pings = interval(PING_EVERY);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        pings.reset();
        loop {
            let done = tokio::select! {
                message = socket.recv() => self.hear(message, socket).await,
                Some((id, number, answer)) = self.answers.next(), if !self.answers.is_empty() => {
                    self.tell(id, number, answer, socket).await
                }
                _ = pings.tick() => self.look(socket).await,
            };
            if let Err(ends) = done {
                return ends;
            }
        }
    }

    async fn hear(
        &mut self,
        message: Option<Result<Message, axum::Error>>,
        socket: &mut WebSocket,
    ) -> Result<(), Ends> {
        let said = said(message)?;
        self.heard = Instant::now();
        match said {
            None | Some(Said::Pong {}) => Ok(()),
            Some(Said::ConnectionInit { .. }) => Err(TOO_MANY),
            Some(Said::Ping {}) => send(socket, json!({"type": "pong"})).await,
            Some(Said::Complete { id }) => {
                if let Some((_, handle)) = self.active.remove(&id) {
                    handle.abort();
                }
                Ok(())
            }
            Some(Said::Subscribe { id, payload }) => self.subscribe(id, *payload, socket).await,
        }
    }

    async fn subscribe(
        &mut self,
        id: String,
        request: Request,
        socket: &mut WebSocket,
    ) -> Result<(), Ends> {
        if id.len() > 128 {
            return Err(BAD_MESSAGE);
        }
        if self.active.contains_key(&id) {
            return Err(SAME_ID);
        }
        let max = self.app.core().options.subscriptions_max;
        let admitted = if self.active.len() >= max {
            Err(Fault::new(
                Category::Limit,
                "TOO_MANY_SUBSCRIPTIONS",
                format!("a socket has at most {max} operations at once"),
                "end some, or open another socket",
            ))
        } else {
            self.app.core().limiter.check(self.viewer.actor())
        };
        if let Err(fault) = admitted {
            let mut errors = super::refused(fault).errors;
            errors.iter_mut().for_each(super::errors::explain);
            return send(
                socket,
                json!({"id": id, "type": "error", "payload": errors}),
            )
            .await;
        }
        self.count += 1;
        let number = self.count;
        let answers = super::answers(&self.app, &self.viewer, request);
        let (answers, handle) = stream::abortable(answers);
        let named = id.clone();
        let answers = answers.map(move |answer| (named.clone(), number, Some(answer)));
        let end = (id.clone(), number, None);
        let answers = answers.chain(stream::once(future::ready(end)));
        self.answers.push(answers.boxed());
        self.active.insert(id, (number, handle));
        Ok(())
    }

    async fn tell(
        &mut self,
        id: String,
        number: u64,
        answer: Option<Answer>,
        socket: &mut WebSocket,
    ) -> Result<(), Ends> {
        // Of an operation that the client has ended, and whose id may be another one's by now.
        if self
            .active
            .get(&id)
            .is_none_or(|(active, _)| *active != number)
        {
            return Ok(());
        }
        let quoted = serde_json::to_string(&id).unwrap_or_default();
        let Some(answer) = answer else {
            self.active.remove(&id);
            return send_text(socket, format!(r#"{{"id":{quoted},"type":"complete"}}"#)).await;
        };
        let payload = String::from_utf8(json_of(answer)).unwrap_or_default();
        let text = format!(r#"{{"id":{quoted},"type":"next","payload":{payload}}}"#);
        send_text(socket, text).await
    }

    /// Whether the client is there, and whether its key is still good.
    async fn look(&mut self, socket: &mut WebSocket) -> Result<(), Ends> {
        if self.heard.elapsed() > SILENCE_MAX {
            return Err(GONE);
        }
        let viewer = match &self.key {
            Some(key) => {
                let proof = Proof::Key(key);
                self.app.viewer_of(proof, &self.headers, None).await
            }
            None => {
                self.app
                    .viewer(&axum::http::Method::GET, &self.headers, None)
                    .await
            }
        };
        match viewer {
            Err(fault) if fault.category == Category::Authentication => return Err(FORBIDDEN),
            // Asking too often, or a database that is away, is no reason to end it.
            Ok(_) | Err(_) => {}
        }
        send(socket, json!({"type": "ping"})).await
    }
}
