//! The document is a promise: it is kept, shown, and its examples answer what they say.

use serde_json::{Value, json};

use super::stage::Stage;
use crate::repo::root;

const RENEW: &str = "STRATA_RENEW_SNAPSHOTS";

#[test]
fn the_document_is_the_one_that_is_kept() {
    let file = root().join("docs/api/openapi.json");
    let now = format!(
        "{}\n",
        serde_json::to_string_pretty(&api::rest::openapi()).unwrap()
    );
    if std::env::var_os(RENEW).is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &now).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == now,
        "the document differs from {}; if that is meant, run this test with {RENEW}=1 and look at the difference",
        file.display()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_and_its_page_are_served_to_everybody() {
    let stage = Stage::new("rest_document").await;
    let document = stage.get("", "/api/openapi.json").await.expect(200);
    assert_eq!(document, api::rest::openapi());
    let page = stage.get("", "/api/docs").await;
    assert!(
        page.headers["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/html")
    );
    assert!(
        page.expect(200)
            .as_str()
            .unwrap()
            .contains("/api/platform/submit")
    );
}

/// Each example of a body is sent, in an order in which it can work.
#[tokio::test(flavor = "multi_thread")]
async fn every_example_answers_what_it_says() {
    let stage = Stage::new("rest_examples").await;
    let document = api::rest::openapi();
    let mut request = String::new();
    let mut sent = 0;
    for operation in [
        "submit",
        "submit_for",
        "submit_job",
        "lookup_exactly",
        "resubmit",
        "approve",
        "revoke",
        "unpublish",
        "reject",
    ] {
        let (path, content) = post_of(&document, operation);
        let path = path
            .replace("{platform_id}", "ddh")
            .replace("{job_type}", "hello_world");
        for (name, example) in content["examples"].as_object().unwrap() {
            let mut body = example["value"].clone();
            if operation == "resubmit" {
                body["request_id"] = json!(request);
            }
            if operation == "reject" {
                // The asset of the other examples was reviewed already; this one needs a revision of its own.
                body["asset_id"] = json!(fresh_asset(&stage).await);
            }
            let answer = stage.post(&stage.admin, &path, &body).await;
            assert_eq!(
                json!(answer.status.as_u16()),
                example["x-strata-answer"],
                "{operation} {name}: {}",
                answer.body
            );
            if (operation, name.as_str()) == ("submit", "ddh") {
                request = answer.body["request_id"].as_str().unwrap().to_owned();
                let job = domain::id::JobId::of_request(request.parse().unwrap());
                stage
                    .complete(answer.body["asset_id"].as_str().unwrap(), &job.to_string())
                    .await;
            }
            sent += 1;
        }
    }
    let all = document["paths"].as_object().unwrap().values();
    let posts = all.filter_map(|item| item.get("post"));
    let examples = posts.map(|post| {
        let content = &post["requestBody"]["content"]["application/json"];
        content["examples"]
            .as_object()
            .map_or(0, serde_json::Map::len)
    });
    assert_eq!(sent, examples.sum::<usize>(), "every example was sent");
}

fn post_of<'a>(document: &'a Value, id: &str) -> (&'a str, &'a Value) {
    let paths = document["paths"].as_object().unwrap();
    let found = paths
        .iter()
        .find(|(_, item)| item["post"]["operationId"] == id);
    let (path, item) = found.unwrap_or_else(|| panic!("there is no operation {id}"));
    (
        path,
        &item["post"]["requestBody"]["content"]["application/json"],
    )
}

async fn fresh_asset(stage: &Stage) -> String {
    let body = json!({
        "platform_id": "ddh", "workflow_id": "hello_world",
        "platform_refs": {"dataset_id": "f", "resource_id": "r", "version_id": "e"},
    });
    let sent = stage
        .post(&stage.admin, "/api/platform/submit", &body)
        .await
        .expect(202);
    let asset = sent["asset_id"].as_str().unwrap().to_owned();
    let request = sent["request_id"].as_str().unwrap().parse().unwrap();
    let job = domain::id::JobId::of_request(request);
    stage.complete(&asset, &job.to_string()).await;
    asset
}
