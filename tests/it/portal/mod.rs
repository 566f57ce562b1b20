//! The portal in a real browser, on the real stack.

mod stage;

use domain::access::Role;
use serde_json::{Value, json};

use self::stage::{DEADLINE, Stage};

/// Most that a first page may take, in milliseconds, on this machine with everything else on it.
const FIRST_PAINT_MS: u64 = 1_000;
/// What the web vitals call a good layout shift is a tenth; here it is half of that at most.
const SHIFT_MAX: f64 = 0.05;

/// Long enough that there is something left to do when the API is away.
const PATIENT: &str = "
workflow_id: patient_page
name: A job that a page watches
version: 1
nodes:
  START: { type: start, next: work }
  work: { type: task, handler: multi_phase, params: { phases: 50, phase_delay: 0.3 }, next: END }
  END: { type: end }
";

#[tokio::test(flavor = "multi_thread")]
async fn the_keyboard_alone_submits_watches_opens_and_cancels() {
    let stage = Stage::new("portal_keyboard", 4).await;
    let browser = stage.browse("keyboard.mjs", json!({})).await;
    tokio::task::block_in_place(|| browser.finish());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_outlives_the_api_and_misses_nothing() {
    let mut stage = Stage::new("portal_recover", 1).await;
    let registered = stage.rig.writer.register_workflow(PATIENT.as_bytes());
    registered.await.unwrap();
    let mut browser = stage.browse("recover.mjs", json!({})).await;
    let hear = |browser: &mut stage::Browser| tokio::task::block_in_place(|| browser.hear());
    assert_eq!(hear(&mut browser), "open");
    let job = stage.rig.submit("patient_page", json!({})).await;
    let job = job.job_id.to_string();
    browser.say(&job);
    assert_eq!(hear(&mut browser), "kill");
    stage.kill_api();
    assert_eq!(hear(&mut browser), "start");
    stage.start_api().await;
    browser.say("started");
    let told = tokio::task::block_in_place(|| browser.finish());
    let events: i64 = sqlx::query_scalar("select count(*) from dagapp.events where stream_id = $1")
        .bind(format!("job:{job}"))
        .fetch_one(&stage.rig.pool)
        .await
        .unwrap();
    assert_eq!(told, [format!("events {events}")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_slider_shows_what_strata_at_tells() {
    let stage = Stage::new("portal_travel", 4).await;
    let inputs = json!({"items": 12});
    let job = stage.rig.submit("fan", inputs).await.job_id.to_string();
    stage.rig.all_ended(DEADLINE).await;
    stage.caught_up().await;
    let positions: Vec<i64> =
        sqlx::query_scalar("select pos from dagapp.events where stream_id = $1 order by version")
            .bind(format!("job:{job}"))
            .fetch_all(&stage.rig.pool)
            .await
            .unwrap();
    let step = positions.len() / 10;
    let events: Vec<Value> = (0..10)
        .map(|i| json!({"version": i * step + 1, "position": positions[i * step]}))
        .collect();
    let given = json!({"job": job, "node": "fan", "events": events});
    let browser = stage.browse("travel.mjs", given).await;
    let shown = tokio::task::block_in_place(|| browser.finish());
    assert_eq!(shown.len(), 10);
    for text in shown {
        let shown: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(shown, told(&stage, &job, &shown["position"]), "{text}");
    }
}

/// What the command line says of the same moment, in the words of the page.
fn told(stage: &Stage, job: &str, position: &Value) -> Value {
    let at = position.to_string();
    let told = stage.strata(&["at", job, &at, "--nodes"]);
    let (row, nodes) = (&told["job"], told["nodes"].as_object().unwrap());
    let done = ["completed", "failed", "skipped"].map(|word| row[word].as_i64().unwrap());
    let own = nodes.iter().filter(|(_, node)| node["parent"].is_null());
    let states: serde_json::Map<String, Value> = own
        .map(|(name, node)| (name.clone(), node["status"].clone()))
        .collect();
    json!({
        "position": position, "status": row["status"], "done": done.iter().sum::<i64>(), "nodes": states,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_reviews_and_rolls_back_and_a_reader_does_not() {
    let stage = Stage::new("portal_review", 2).await;
    let look = include_str!("../../../workflows/verify_artifacts.yaml");
    let registered = stage.rig.writer.register_workflow(look.as_bytes());
    registered.await.unwrap();
    let asset = two_revisions(&stage).await;
    let reader = stage.holder(Role::Reader).await;
    let given = json!({"asset": asset, "reader": stage.token(&reader).await});
    let browser = stage.browse("review.mjs", given).await;
    tokio::task::block_in_place(|| browser.finish());
}

/// An asset that two jobs have worked on.
async fn two_revisions(stage: &Stage) -> String {
    let mut asset = None;
    for (before, workflow) in ["one", "chain"].into_iter().enumerate() {
        let submitted = stage.rig.submit_for("scene", workflow).await;
        asset = submitted.asset_id;
        let made = async || {
            let made = stage.rig.events("asset_processing_completed").await;
            usize::try_from(made).is_ok_and(|made| made > before)
        };
        let what = "there is a revision";
        stage.rig.eventually(what, DEADLINE, made).await;
    }
    stage.caught_up().await;
    asset.expect("it is about an asset").to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_accessible_fits_and_asks_nobody_else() {
    let stage = Stage::new("portal_pages", 4).await;
    let asset = two_revisions(&stage).await;
    stage.rig.submit("doomed", json!({})).await;
    let inputs = json!({"items": 300});
    let job = stage.rig.submit("fan", inputs).await.job_id.to_string();
    stage.rig.all_ended(DEADLINE).await;
    stage.caught_up().await;
    let middle: Vec<i64> = sqlx::query_scalar(
        "select pos from dagapp.events where stream_id = $1 and version in (20, 200) order by version",
    )
    .bind(format!("job:{job}"))
    .fetch_all(&stage.rig.pool)
    .await
    .unwrap();
    let mut tokens = Vec::new();
    for _ in 0..4 {
        tokens.push(stage.token(&stage.admin).await);
    }
    let given = json!({
        "job": job, "node": "fan", "asset": asset, "workflow": "fan", "tokens": tokens,
        "from": middle[0], "position": middle[1],
    });
    let browser = stage.browse("pages.mjs", given).await;
    tokio::task::block_in_place(|| browser.finish());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_paint_is_soon_and_nothing_jumps() {
    let stage = Stage::new("portal_paint", 4).await;
    let job = stage
        .rig
        .submit("chain", json!({}))
        .await
        .job_id
        .to_string();
    stage.rig.all_ended(DEADLINE).await;
    stage.caught_up().await;
    let browser = stage.browse("first_paint.mjs", json!({"job": job})).await;
    let told = tokio::task::block_in_place(|| browser.finish());
    assert_eq!(told.len(), 2);
    for text in told {
        let page: Value = serde_json::from_str(&text).unwrap();
        assert!(page["paint"].as_u64().unwrap() < FIRST_PAINT_MS, "{text}");
        assert!(page["shifts"].as_f64().unwrap() < SHIFT_MAX, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seal_of_a_job_is_handed_out_and_holds() {
    let stage = Stage::new("portal_seal", 2).await;
    let job = stage
        .rig
        .submit("chain", json!({}))
        .await
        .job_id
        .to_string();
    stage.rig.all_ended(DEADLINE).await;
    stage.caught_up().await;
    stage.rig.all_signed(DEADLINE).await;
    let file = stage.rig.dir.join("job.proof").display().to_string();
    let given = json!({"job": job, "file": file});
    let browser = stage.browse("seal.mjs", given).await;
    let told = tokio::task::block_in_place(|| browser.finish());
    let [key] = told.as_slice() else {
        panic!("it says the key: {told:?}");
    };
    stage::strata(&["audit", "check", &file, "--key", key], &[]);
}
