//! Bombs, broken frames and wrong protocols: refused within limits, and nothing grows.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Message, protocol::frame::coding::CloseCode};

use super::server::{Server, code_of};
use crate::system::rig::Rig;

type Socket = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<TcpStream>>;

#[tokio::test]
async fn documents_that_are_bombs_are_refused() {
    let rig = Rig::new("gql_bombs").await;
    let server = Server::start(&rig).await;
    let deep = format!(
        "{{ jobs {{ nodes {{ {} id {} }} }} }}",
        "request { job { ".repeat(60),
        "} }".repeat(60)
    );
    let aliases: String = (0..500)
        .map(|i| format!("a{i}: health {{ status }} "))
        .collect();
    let fields = "head ".repeat(5_000);
    let cycle = "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }".to_owned();
    let lists =
        "{ jobs(first: 200) { nodes { events(first: 200) { nodes { data } } } } }".to_owned();
    let brackets = "{".repeat(50_000);
    let directives = format!("{{ head {} }}", "@include(if: true) ".repeat(500));
    for (name, query) in [
        ("depth", deep),
        ("aliases", format!("{{ {aliases} }}")),
        ("fields", format!("{{ {fields} }}")),
        ("cycle", cycle),
        ("multiplied fragments", multiplied()),
        ("lists", lists),
        ("brackets", brackets),
        ("directives", directives),
        (
            "page",
            "{ jobs(first: 100000) { nodes { id } } }".to_owned(),
        ),
        ("page", "{ jobs(first: -1) { nodes { id } } }".to_owned()),
    ] {
        let answer = server.ask(&server.key, &query, json!({})).await;
        assert!(!code_of(&answer).is_empty(), "{name}: {answer}");
        assert!(answer["data"].is_null(), "{name} was answered");
    }
    let big = json!({"query": "{ head }", "variables": {"x": "y".repeat(10 * 1024 * 1024)}});
    let request = server
        .http
        .post(format!("{}/graphql", server.url))
        .bearer_auth(&server.key);
    let answer = request.json(&big).send().await.unwrap();
    assert_eq!(answer.status(), 413);
    for (body, kind, status) in [
        ("{", "application/json", 400),
        ("[]", "application/json", 400),
        ("{\"query\": 7}", "application/json", 400),
        ("{\"query\": \"{ head }\"}", "text/plain", 400),
    ] {
        let request = server
            .http
            .post(format!("{}/graphql", server.url))
            .bearer_auth(&server.key);
        let answer = request
            .header("content-type", kind)
            .body(body)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), status, "{body}");
    }
    let answer = server
        .ask(&server.key, "{ job(id: \"a\\u0000b\") { id } }", json!({}))
        .await;
    assert_eq!(answer["data"]["job"], Value::Null);
    assert!(server.data("{ head }", json!({})).await["head"].is_number());
}

/// A few lines that stand for nine to the twentieth fields.
fn multiplied() -> String {
    let mut document = "{ ...F0 }".to_owned();
    for level in 0..20 {
        let next = format!("...F{} ", level + 1).repeat(9);
        document.push_str(&format!(" fragment F{level} on Query {{ {next} }}"));
    }
    document + " fragment F20 on Query { head }"
}

#[tokio::test]
async fn sockets_that_break_the_protocol_are_closed() {
    let rig = Rig::new("gql_sockets").await;
    let server = Server::start(&rig).await;
    let init = json!({"type": "connection_init", "payload": {"Authorization": format!("Bearer {}", server.key)}});
    let subscribe = json!({"id": "1", "type": "subscribe", "payload": {"query": "subscription { events { cursor } }"}});
    for (name, frames, code) in [
        ("no JSON", vec![Message::text("hello")], 4400),
        ("binary", vec![Message::binary(vec![1, 2, 3])], 4400),
        (
            "unknown type",
            vec![Message::text("{\"type\": \"what\"}")],
            4400,
        ),
        (
            "subscribe first",
            vec![Message::text(subscribe.to_string())],
            4401,
        ),
        (
            "bad key",
            vec![Message::text(
                json!({"type": "connection_init", "payload": {"key": "x"}}).to_string(),
            )],
            4403,
        ),
        (
            "no key",
            vec![Message::text("{\"type\": \"connection_init\"}")],
            4403,
        ),
        (
            "init twice",
            vec![
                Message::text(init.to_string()),
                Message::text(init.to_string()),
            ],
            4429,
        ),
        (
            "same id",
            vec![
                Message::text(init.to_string()),
                Message::text(subscribe.to_string()),
                Message::text(subscribe.to_string()),
            ],
            4409,
        ),
    ] {
        let mut socket = open(&server, "graphql-transport-ws").await.unwrap();
        for frame in frames {
            socket.send(frame).await.unwrap();
        }
        assert_eq!(
            closed_with(&mut socket).await,
            Some(CloseCode::from(code)),
            "{name}"
        );
    }
    assert!(
        open(&server, "graphql-ws").await.is_err(),
        "the old protocol"
    );
    let mut big = open(&server, "graphql-transport-ws").await.unwrap();
    let _ = big.send(Message::text("x".repeat(1024 * 1024))).await;
    closed_with(&mut big).await;
    bytes_that_are_no_frames(&server).await;
    assert!(server.data("{ head }", json!({})).await["head"].is_number());
}

async fn bytes_that_are_no_frames(server: &Server) {
    let address = server.url.trim_start_matches("http://").to_owned();
    let mut raw = TcpStream::connect(&address).await.unwrap();
    let hello = format!(
        "GET /graphql HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n"
    );
    raw.write_all(hello.as_bytes()).await.unwrap();
    raw.write_all(&[0xff; 64]).await.unwrap();
    let mut rest = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), raw.read_to_end(&mut rest)).await;
    assert!(read.is_ok(), "the server ends it");
}

#[tokio::test]
async fn a_socket_has_as_many_subscriptions_as_it_may_and_a_server_as_many_sockets() {
    let rig = Rig::new("gql_limits").await;
    let options = api::Options {
        sockets_max: 3,
        subscriptions_max: 2,
        ..api::Options::default()
    };
    let server = Server::with(&rig, options).await;
    let mut sockets = Vec::new();
    for _ in 0..3 {
        sockets.push(greeted(&server).await.expect("a place"));
    }
    assert!(
        greeted(&server).await.is_none(),
        "one more than the server takes"
    );
    let mut first = sockets.pop().unwrap();
    for id in 0..3 {
        let query = "subscription { events { cursor } }";
        let text = json!({"id": id.to_string(), "type": "subscribe", "payload": {"query": query}});
        first.send(Message::text(text.to_string())).await.unwrap();
    }
    let refused = loop {
        let message = first.next().await.unwrap().unwrap();
        let said: Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
        if said["type"] == "error" {
            break said;
        }
    };
    assert_eq!(
        refused["payload"][0]["message"].as_str().unwrap(),
        "a socket has at most 2 operations at once"
    );
    drop(sockets);
    let free = async || greeted(&server).await.is_some();
    rig.eventually("the place is free again", super::server::DEADLINE, free)
        .await;
}

/// A socket that has been let in.
async fn greeted(server: &Server) -> Option<Socket> {
    let mut socket = open(server, "graphql-transport-ws").await.unwrap();
    let init = json!({"type": "connection_init", "payload": {"key": server.key}});
    socket.send(Message::text(init.to_string())).await.unwrap();
    let answer = socket.next().await?.ok()?;
    (answer.to_text().ok()?.contains("connection_ack")).then_some(socket)
}

/// Whoever only holds on is let go: with half a request, half a body, or an answer that is not read.
#[tokio::test]
async fn connections_that_only_hold_on_are_closed() {
    let rig = Rig::new("gql_door").await;
    let moment = Duration::from_millis(300);
    let door = api::Door {
        connections_max: 40,
        head: moment,
        body: moment,
        unread: moment,
    };
    let options = api::Options {
        door,
        ..api::Options::default()
    };
    let server = Server::with(&rig, options).await;
    let address = server.url.trim_start_matches("http://").to_owned();

    for silent in ["", "GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: "] {
        let (_, answer) = until_closed(&address, silent).await;
        assert!(!answer.contains("200"), "{answer}");
    }
    let half = format!(
        "POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{\"query\": ",
        server.key
    );
    let (_, answer) = until_closed(&address, &half).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("BODY_TOO_SLOW"), "{answer}");

    let deaf = TcpStream::connect(&address).await.unwrap();
    let ask = b"GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
    let asking = async {
        let (_unread, mut asks) = deaf.into_split();
        while asks.write_all(ask).await.is_ok() {}
    };
    let ended = tokio::time::timeout(super::server::DEADLINE, asking).await;
    assert!(ended.is_ok(), "the server ends it");

    // More than there are places: the last ones are closed at once, and others come in when places are free.
    let mut held = Vec::new();
    for _ in 0..60 {
        held.push(TcpStream::connect(&address).await.unwrap());
    }
    drop(held);
    let (health, client) = (format!("{}/livez", server.url), reqwest::Client::new());
    let free = async || client.get(&health).send().await.is_ok();
    rig.eventually("others are served", super::server::DEADLINE, free)
        .await;
}

/// What the server says to these bytes before it closes the connection.
async fn until_closed(address: &str, bytes: &str) -> (TcpStream, String) {
    let mut raw = TcpStream::connect(address).await.unwrap();
    raw.write_all(bytes.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let reading = raw.read_to_end(&mut answer);
    let read = tokio::time::timeout(super::server::DEADLINE, reading).await;
    read.expect("the server ends it").unwrap();
    (raw, String::from_utf8_lossy(&answer).into_owned())
}

async fn open(server: &Server, protocol: &str) -> Result<Socket, String> {
    let url = format!("{}/graphql", server.url.replace("http://", "ws://"));
    let mut request = url.into_client_request().unwrap();
    let value = protocol.parse().unwrap();
    request
        .headers_mut()
        .insert("sec-websocket-protocol", value);
    let opened = tokio_tungstenite::connect_async(request).await;
    opened
        .map(|(socket, _)| socket)
        .map_err(|error| error.to_string())
}

async fn closed_with(socket: &mut Socket) -> Option<CloseCode> {
    let until = Duration::from_secs(20);
    let closing = async {
        while let Some(message) = socket.next().await {
            match message {
                Ok(Message::Close(frame)) => return frame.map(|frame| frame.code),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
        None
    };
    tokio::time::timeout(until, closing)
        .await
        .expect("the server ends it")
}
