//! Everything as a partner sees it: submitted by HTTP, followed by HTTP, told by a signed callback, and found on the asset
//! and in the catalog.

use commands::access::{Access, NewKey};
use domain::access::Role;
use serde_json::{Value, json};
use sqlx::PgPool;

use super::judges::{is_faithful, sha256};
use super::pipeline::valid_stac;
use super::stage::{DEADLINE, PUBLIC_URL, Stage};
use crate::callbacks::receiver::{Mood, Receiver};
use crate::callbacks::stage::run_python;
use crate::system::rig::Process;

/// In the form of Standard Webhooks, so that a program of others can verify with it.
const SECRET: &str = "whsec_c3RyYXRhLWdlby1hY2NlcHRhbmNlLXRlc3Q=";

/// A partner with a key, an API to talk to, and a server that is called back.
struct Partner {
    stage: Stage,
    http: reqwest::Client,
    url: String,
    key: String,
    receiver: Receiver,
    _roles: (Process, Process),
}

impl Partner {
    async fn new(name: &str) -> Self {
        // The provider is a choice of the whole process.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let stage = Stage::new(name).await;
        stage.rig.writer.register_platforms().await.unwrap();
        let allow = [("STRATA_CALLBACK_ALLOW", "127.0.0.1/32")];
        let api = stage.rig.spawn("api", &["--listen", "127.0.0.1:0"], &allow);
        let said = || api.after("the API answers on ");
        let answers = async || said().is_some();
        stage
            .rig
            .eventually("the API answers", DEADLINE, answers)
            .await;
        let wanted = NewKey {
            org_id: "acme".to_owned(),
            label: "test".to_owned(),
            role: Role::Writer,
            operator: false,
            lifetime: None,
        };
        let key = Access::new(stage.rig.pool.clone())
            .create(wanted, "test")
            .await;
        Self {
            http: reqwest::Client::new(),
            url: said().unwrap(),
            key: key.unwrap().1.reveal().to_owned(),
            receiver: Receiver::start(Mood::Always(200)).await,
            _roles: (api, stage.worker()),
            stage,
        }
    }

    async fn submit(&self, body: &Value) -> (u16, Value) {
        let mut body = body.clone();
        body["webhook_url"] = json!(self.receiver.url());
        body["webhook_secret"] = json!(SECRET);
        let request = self.http.post(format!("{}/api/platform/submit", self.url));
        let answer = request
            .bearer_auth(&self.key)
            .json(&body)
            .send()
            .await
            .unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    async fn get(&self, path: &str) -> Value {
        let request = self.http.get(format!("{}{path}", self.url));
        let answer = request.bearer_auth(&self.key).send().await.unwrap();
        answer.json().await.unwrap()
    }

    /// Submits something new, and gives its status when it is completed and called back.
    async fn process(&self, body: &Value) -> Value {
        let (code, accepted) = self.submit(body).await;
        assert_eq!(code, 202, "{accepted}");
        assert_eq!(accepted["warnings"], json!([]), "everything has an effect");
        let path = format!(
            "/api/platform/status/{}",
            accepted["request_id"].as_str().unwrap()
        );
        let ended = async || {
            let status = self.get(&path).await;
            assert_ne!(status["job_status"], "FAILED", "{status}");
            status["job_status"] == "COMPLETED"
        };
        self.stage
            .rig
            .eventually("it is completed", DEADLINE, ended)
            .await;
        let status = self.get(&path).await;
        let told = async || self.told(&status).is_some();
        self.stage
            .rig
            .eventually("it is called back", DEADLINE, told)
            .await;
        self.right(&status).await;
        status
    }

    /// The callback of a request.
    fn told(&self, status: &Value) -> Option<Value> {
        let received = self.receiver.received().into_iter();
        let mut bodies = received.map(|received| received.json());
        bodies.find(|body| body["request_id"] == status["request_id"])
    }

    /// Status, asset, result and callback speak of the same.
    async fn right(&self, status: &Value) {
        let (job, outputs) = (status["job_id"].as_str().unwrap(), &status["outputs"]);
        let asset = &status["asset"];
        assert_eq!(asset["current_job_id"], job, "{asset}");
        assert_eq!(asset["processing_status"], "completed", "{asset}");
        assert_eq!(asset["content_hash"], status["release"]["content_hash"]);
        assert_eq!(asset["revision"], status["release"]["revision"]);
        assert_eq!(status["release"]["artifacts"], outputs["artifacts"]);
        assert_eq!(
            status["release"]["origin"]["job_id"], job,
            "{}",
            status["release"]
        );
        assert_eq!(status["progress"]["percent"], 100, "{}", status["progress"]);
        let told = self.told(status).unwrap();
        let result_url = format!("/api/jobs/{job}/result");
        let expected = json!({
            "job_id": job, "request_id": status["request_id"], "job_type": status["workflow_id"],
            "status": "COMPLETED", "error": null, "final_results": outputs,
            "result_url": format!("{PUBLIC_URL}{result_url}"),
        });
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&told[key], value, "{key}");
        }
        assert_eq!(&self.get(&result_url).await["result"], outputs);
    }

    /// So many callbacks came, each once, and each with a signature that a program of others takes.
    async fn all_signed(&self, count: usize) {
        assert_eq!(self.receiver.count(), count);
        let file = self.stage.rig.dir.join("callbacks.jsonl");
        std::fs::write(&file, self.receiver.dump()).unwrap();
        let path = file.to_str().unwrap();
        let said = run_python("verify_webhooks.py", &[path, SECRET]).await;
        assert_eq!(said, json!({"lines": count, "ids": count, "pairs": count}));
    }

    async fn item(&self, status: &Value) -> Value {
        let (id, collection) = (
            &status["outputs"]["item_id"],
            &status["outputs"]["collection_id"],
        );
        let items = self.stage.items().await.into_iter();
        let mut items = items.filter(|item| item["id"] == *id && item["collection"] == *collection);
        let item = items.next().unwrap();
        assert_eq!(
            item["properties"]["strata:job_id"], status["job_id"],
            "{item}"
        );
        item
    }
}

/// What an item says of whoever asked for it.
fn refs(item: &Value) -> Value {
    let of = |name: &str| item["properties"][format!("strata:{name}")].clone();
    json!([
        of("dataset_id"),
        of("resource_id"),
        of("version_id"),
        of("access_level"),
        item["properties"]["title"]
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_raster_that_a_platform_submits_is_on_its_asset_in_the_catalog_and_called_back() {
    let partner = Partner::new("geo_platform_raster").await;
    let stage = &partner.stage;
    stage.upload_real(&["L7_ETMs.tif"]);
    let body = json!({
        "dataset_id": "0038272", "resource_id": "landsat", "version_id": "v1", "data_type": "raster",
        "container_name": "uploads", "file_name": "L7_ETMs.tif", "title": "Landsat 7", "tags": ["real"],
        "access_level": "PUBLIC",
    });
    let first = partner.process(&body).await;
    assert_eq!(first["workflow_id"], "raster_processing");
    let cog = is_right(&partner, &first, "L7_ETMs.tif").await;
    let item = partner.item(&first).await;
    assert_eq!(
        refs(&item),
        json!(["0038272", "landsat", "v1", "public", "Landsat 7"])
    );
    assert_eq!(item["properties"]["keywords"], json!(["real"]));
    assert_eq!(first["asset"]["revision"], 1);
    // The same once more is the same request, and nothing happens.
    let (code, again) = partner.submit(&body).await;
    assert_eq!((code, &again["request_id"]), (200, &first["request_id"]));
    // Other content under the same name, on purpose: a second revision of the same asset, by another job.
    stage.make_large("L7_ETMs.tif", 600);
    let mut update = body;
    update["operation"] = json!("UPDATE");
    let second = partner.process(&update).await;
    let new = is_right(&partner, &second, "L7_ETMs.tif").await;
    assert_eq!(second["asset"]["asset_id"], first["asset"]["asset_id"]);
    assert_eq!(second["asset"]["revision"], 2);
    assert_eq!(
        second["versions"][0], first["release"],
        "the first stays as it was"
    );
    assert_ne!(second["job_id"], first["job_id"]);
    assert!(cog.exists() && cog != new, "nothing is replaced");
    valid_stac(stage).await;
    partner.all_signed(2).await;
    stage.nothing_is_left().await;
}

/// The COG is what its source is, and asset, artifact and item name it by its hash.
async fn is_right(partner: &Partner, status: &Value, name: &str) -> std::path::PathBuf {
    let (stage, outputs) = (&partner.stage, &status["outputs"]);
    let cog = stage.artifact(outputs);
    is_faithful(&cog, &stage.uploads().join(name));
    let hash = sha256(&cog);
    assert_eq!(status["asset"]["content_hash"], hash);
    let bytes = cog.metadata().unwrap().len();
    let artifacts = json!([{
        "name": "cog", "uri": outputs["artifacts"][0]["uri"], "sha256": hash, "bytes": bytes,
    }]);
    assert_eq!(status["release"]["artifacts"], artifacts);
    let item = partner.item(status).await;
    let data = &item["assets"]["data"];
    assert_eq!(data["file:checksum"], format!("1220{hash}"), "{item}");
    assert_eq!(data["file:size"], bytes, "{item}");
    assert_eq!(data["href"], format!("file://{}", cog.display()), "{item}");
    cog
}

#[tokio::test(flavor = "multi_thread")]
async fn any_platform_may_submit_a_raster_in_our_own_words() {
    let partner = Partner::new("geo_platform_own").await;
    partner.stage.make_large("made.tif", 700);
    let status = partner
        .process(&json!({
            "platform_id": "strata", "platform_refs": {"name": "made"}, "workflow_id": "raster_processing",
            "inputs": {"container_name": "uploads", "blob_name": "made.tif", "item_id": "made",
                       "collection_id": "own", "title": "Made"},
        }))
        .await;
    is_right(&partner, &status, "made.tif").await;
    let item = partner.item(&status).await;
    assert_eq!(
        (&item["id"], &item["collection"]),
        (&json!("made"), &json!("own"))
    );
    assert_eq!(status["asset"]["platform_refs"], json!({"name": "made"}));
    partner.all_signed(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_that_a_platform_submits_is_a_table_on_its_asset_and_called_back() {
    let partner = Partner::new("geo_platform_vector").await;
    let stage = &partner.stage;
    let files = ["shp", "shx", "dbf", "prj", "cpg"].map(|end| format!("naturalearth_lowres.{end}"));
    stage.upload_real(&files.each_ref().map(String::as_str));
    let status = partner
        .process(&json!({
            "dataset_id": "0038272", "resource_id": "countries", "version_id": "v1", "data_type": "vector",
            "container_name": "uploads", "file_name": "naturalearth_lowres.shp", "title": "Countries",
            "access_level": "OUO",
        }))
        .await;
    assert_eq!(status["workflow_id"], "vector_ingest");
    let outputs = &status["outputs"];
    assert_eq!(
        (&outputs["rows_loaded"], &outputs["rows_rejected"]),
        (&json!(177), &json!(0))
    );
    let table = outputs["table"].as_str().unwrap();
    let artifacts = json!([{"name": "table", "uri": format!("postgis:{table}")}]);
    assert_eq!(status["release"]["artifacts"], artifacts);
    // The workflow names no hash, so that its whole result stands for the content.
    let hash = domain::json::sha256_hex(domain::json::canonical(outputs).as_bytes());
    assert_eq!(status["asset"]["content_hash"], hash);
    let item = partner.item(&status).await;
    assert_eq!(
        refs(&item),
        json!(["0038272", "countries", "v1", "ouo", "Countries"])
    );
    assert_eq!(
        format!(
            "geo.{}",
            item["properties"]["strata:table"].as_str().unwrap()
        ),
        table
    );
    let catalog = PgPool::connect(&stage.catalog_url).await.unwrap();
    // A name of our own making.
    let count = sqlx::AssertSqlSafe(format!(
        "select count(*) from {table} where ST_IsValid(geom)"
    ));
    let count: i64 = sqlx::query_scalar(count).fetch_one(&catalog).await.unwrap();
    assert_eq!(count, 177);
    valid_stac(stage).await;
    partner.all_signed(1).await;
    stage.nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partner_is_told_what_is_wrong_with_a_file() {
    let partner = Partner::new("geo_platform_bad").await;
    let stage = &partner.stage;
    std::fs::write(stage.uploads().join("text.tif"), "no raster").unwrap();
    let (code, accepted) = partner
        .submit(&json!({
            "name": "text", "data_type": "raster", "container_name": "uploads", "file_name": "text.tif",
        }))
        .await;
    assert_eq!(code, 202, "{accepted}");
    let told = async || partner.receiver.count() > 0;
    stage
        .rig
        .eventually("it is called back", DEADLINE, told)
        .await;
    let path = format!(
        "/api/platform/status/{}",
        accepted["request_id"].as_str().unwrap()
    );
    let status = partner.get(&path).await;
    assert_eq!(status["job_status"], "FAILED", "{status}");
    assert_eq!(status["asset"]["processing_status"], "failed", "{status}");
    assert_eq!(status["release"], Value::Null, "{status}");
    for error in [&status["error"], &partner.told(&status).unwrap()["error"]] {
        assert_eq!(error["code"], "not_recognised", "{error}");
        assert_eq!(
            (&error["category"], &error["node"]),
            (&json!("permanent"), &json!("validate"))
        );
        assert!(
            error["message"].as_str().unwrap().contains("`text.tif`"),
            "{error}"
        );
    }
}
