//! Every error has the one form, whatever is wrong.

use api::Options;
use axum::body::Body;
use axum::http::Request;
use serde_json::json;

use super::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn whatever_cannot_be_read_is_refused_in_one_form() {
    let options = Options {
        rate_per_second: None,
        body_bytes_max: 10_000,
        ..Options::default()
    };
    let stage = Stage::with("rest_errors", options).await;
    let path = "/api/platform/submit";
    let post = |kind: &str, body: String| {
        let request = Request::post(path)
            .header("x-api-key", &stage.writer)
            .header("content-type", kind);
        request.body(Body::from(body)).unwrap()
    };
    let malformed = stage
        .send(post("application/json", "{\"a\": ".to_owned()))
        .await;
    let error = malformed.refused(400, "MALFORMED_JSON");
    assert!(
        error["message"].as_str().unwrap().contains("line 1 column"),
        "{error}"
    );
    stage
        .send(post("application/json", "[]".to_owned()))
        .await
        .refused(400, "MALFORMED_JSON");
    stage
        .send(post("text/plain", "{}".to_owned()))
        .await
        .refused(415, "NOT_JSON");
    let large = json!({"x": "y".repeat(20_000)}).to_string();
    stage
        .send(post("application/json", large))
        .await
        .refused(413, "BODY_TOO_LARGE");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_routes_ids_and_arguments_are_refused_in_the_same_form() {
    let stage = Stage::new("rest_routes").await;
    let path = "/api/platform/submit";
    let get = |path: &str| Request::get(path).body(Body::empty()).unwrap();
    stage
        .send(get("/api/platforms"))
        .await
        .refused(401, "UNAUTHENTICATED");
    stage
        .get("strata_nonsense", "/api/platforms")
        .await
        .refused(401, "UNAUTHENTICATED");
    stage
        .send(get("/api/nothing/here"))
        .await
        .refused(404, "NO_ROUTE");
    let wrong = stage.send(get(path)).await;
    assert_eq!(wrong.headers.get("allow").unwrap(), "POST");
    wrong.refused(405, "NO_METHOD");
    for id in [
        "req_x",
        "%00",
        "%ff",
        "job_0000000000000000000000000000000A",
    ] {
        let answer = stage
            .get(&stage.reader, &format!("/api/platform/status/{id}"))
            .await;
        assert_eq!(answer.status, 400, "{id}: {}", answer.body);
        assert_eq!(answer.body["error"]["category"], "malformed");
    }
    for query in [
        "limit=0",
        "limit=x",
        "limit=1&limit=2",
        "colour=red",
        "cursor",
    ] {
        let answer = stage
            .get(&stage.reader, &format!("/api/platform/failures?{query}"))
            .await;
        assert!(
            [400, 422].contains(&answer.status.as_u16()),
            "{query}: {}",
            answer.body
        );
        assert!(answer.body["error"]["code"].is_string(), "{query}");
    }
    stage
        .post(&stage.reader, path, &json!({}))
        .await
        .refused(403, "FORBIDDEN");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_asks_too_often_waits() {
    let options = Options {
        rate_per_second: Some(1),
        ..Options::default()
    };
    let stage = Stage::with("rest_rate", options).await;
    for _ in 0..20 {
        let answer = stage.get(&stage.reader, "/api/platforms").await;
        if answer.status == 429 {
            answer.refused(429, "RATE_LIMITED");
            return;
        }
    }
    panic!("nobody was told to wait");
}
