//! How canaries are sent: with the key of an operator, and a person in every header.

use reqwest::Method;
use serde_json::{Value, json};

use super::{CONTENT, PERSON, SECRET};
use crate::api::server::Server;

/// Headers in which proxies and clients say who somebody is.
const HEADERS: &[&str] = &[
    "from",
    "referer",
    "user-agent",
    "x-user",
    "x-actor",
    "x-forwarded-user",
    "x-forwarded-for",
    "x-request-id",
    "x-correlation-id",
    "baggage",
    "traceparent",
    "tracestate",
    "origin",
];

pub(super) struct Doors<'a> {
    pub(super) server: &'a Server,
    /// Words of the rows, and the ids that they stand for.
    pub(super) names: Vec<(&'static str, String)>,
}

impl Doors<'_> {
    /// A row with its words filled in.
    pub(super) fn filled(&self, text: &str) -> String {
        let mut text = text
            .replace("PERSON", PERSON)
            .replace("SECRET", SECRET)
            .replace("CONTENT", CONTENT);
        for (name, id) in &self.names {
            text = text.replace(name, id);
        }
        text
    }

    pub(super) async fn ask(&self, document: &str) -> Value {
        let body = json!({ "query": document });
        let (_, answer) = self.send("POST", "/graphql", Some(body)).await;
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{document}: {answer}"))
    }

    /// Status and body of what is answered.
    pub(super) async fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> (u16, String) {
        let url = format!("{}{path}", self.server.url);
        let method: Method = method.parse().unwrap();
        let mut request = self.server.http.request(method, url);
        request = request.bearer_auth(&self.server.key);
        request = request.header("idempotency-key", format!("{PERSON} {path}"));
        for name in HEADERS {
            request = request.header(*name, PERSON);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    /// Keys, secrets and names where nobody expects them.
    pub(super) async fn in_the_wrong_place(&self) {
        let server = self.server;
        let sign_in = json!({ "token": SECRET });
        let (status, _) = self.send("POST", "/auth/sign-in", Some(sign_in)).await;
        assert_eq!(status, 401);
        for path in [
            format!("/graphql?key={}", server.key),
            format!("/graphql?user={PERSON}"),
            format!("/nowhere/{PERSON}?token={SECRET}"),
        ] {
            self.send("GET", &path, None).await;
        }
        for proof in [
            format!("{}x", server.key),
            SECRET.to_owned(),
            "x".to_owned(),
        ] {
            let refused = server.ask(&proof, "{ me { keyId } }", json!({})).await;
            assert_eq!(refused["error"]["code"], "UNAUTHENTICATED");
        }
        let cookie = server.http.post(format!("{}/graphql", server.url));
        let cookie = cookie.header("cookie", format!("strata_session={SECRET}; user={PERSON}"));
        cookie.body("{}").send().await.unwrap();
        for body in [
            PERSON.to_owned(),
            format!("{{\"query\": \"{{ me \", \"{SECRET}\": 1}}"),
        ] {
            let request = server.http.post(format!("{}/graphql", server.url));
            let request = request.bearer_auth(&server.key).body(body);
            request
                .header("content-type", "application/json")
                .send()
                .await
                .unwrap();
        }
    }
}
