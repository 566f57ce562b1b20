//! Jobs by type and parameters: one job per hash, in the words of that interface.

use serde_json::{Value, json};

use super::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn the_same_parameters_are_the_same_job() {
    let stage = Stage::new("rest_facade").await;
    let submit = async |body: Value| {
        stage
            .post(&stage.writer, "/api/jobs/submit/echo", &body)
            .await
    };
    let first = submit(json!({"message": "m", "steps": 2}))
        .await
        .expect(202);
    let hash = first["job_id"].as_str().unwrap();
    assert_eq!((hash.len(), &first["status"]), (64, &json!("QUEUED")));
    let again = submit(json!({"steps": 2, "message": "m"}))
        .await
        .expect(200);
    assert_eq!(
        (&again["job_id"], &again["request_id"]),
        (&first["job_id"], &first["request_id"])
    );
    assert_eq!(again["status"], "QUEUED");
    let other = submit(json!({"message": "n"})).await.expect(202);
    assert_ne!(other["job_id"], first["job_id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_asked_for_by_hash_request_or_job() {
    let stage = Stage::new("rest_facade_ids").await;
    let body = json!({"message": "m"});
    let first = stage
        .post(&stage.writer, "/api/jobs/submit/echo", &body)
        .await
        .expect(202);
    let hash = first["job_id"].as_str().unwrap();
    for id in [
        hash,
        first["request_id"].as_str().unwrap(),
        first["strata_job_id"].as_str().unwrap(),
    ] {
        let record = stage
            .get(&stage.reader, &format!("/api/jobs/status/{id}"))
            .await
            .expect(200);
        assert_eq!(
            (&record["job_id"], &record["status"]),
            (&first["job_id"], &json!("QUEUED"))
        );
        for field in [
            "job_type",
            "stage",
            "total_stages",
            "parameters",
            "stage_results",
            "result_data",
            "error_details",
            "created_at",
            "updated_at",
        ] {
            assert!(record.get(field).is_some(), "{field}: {record}");
        }
        stage
            .get(&stage.reader, &format!("/api/jobs/{id}/result"))
            .await
            .refused(409, "NOT_FINISHED");
    }
    stage
        .get(&stage.foreign, &format!("/api/jobs/status/{hash}"))
        .await
        .refused(404, "NOT_FOUND");
    let job = first["strata_job_id"].as_str().unwrap().parse().unwrap();
    stage
        .rig
        .writer
        .cancel(job, "enough", "test")
        .await
        .unwrap();
    stage.caught_up().await;
    let record = stage
        .get(&stage.reader, &format!("/api/jobs/status/{hash}"))
        .await
        .expect(200);
    assert_eq!(
        (&record["status"], &record["error_details"]["code"]),
        (&json!("FAILED"), &json!("cancelled"))
    );
    stage
        .get(&stage.reader, &format!("/api/jobs/{hash}/result"))
        .await
        .refused(409, "JOB_FAILED");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_parameters_and_unknown_types_are_refused() {
    let stage = Stage::new("rest_facade_bad").await;
    let bad = json!({"steps": "two", "colour": "red"});
    let found = stage
        .post(&stage.writer, "/api/jobs/submit/echo", &bad)
        .await
        .problems();
    let fields: Vec<&str> = found.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(fields, ["colour", "steps"]);
    stage
        .post(
            &stage.writer,
            "/api/jobs/submit/nothing_like_it",
            &json!({}),
        )
        .await
        .refused(404, "NOT_FOUND");
    stage
        .post(&stage.reader, "/api/jobs/submit/echo", &json!({}))
        .await
        .refused(403, "FORBIDDEN");
    stage
        .get(&stage.reader, "/api/jobs/status/job_7")
        .await
        .refused(400, "MALFORMED_ID");
    let health = stage.get("", "/api/health").await.expect(200);
    assert_eq!(health["status"], "ok");
}

/// A job of no task, as an orchestrator runs it.
#[tokio::test(flavor = "multi_thread")]
async fn a_result_is_there_when_the_job_has_completed_and_failures_are_listed() {
    let stage = Stage::new("rest_result").await;
    let _orchestrator = stage.rig.orchestrator(&[]);
    let sent = stage
        .post(&stage.writer, "/api/jobs/submit/nothing", &json!({}))
        .await
        .expect(202);
    let hash = sent["job_id"].as_str().unwrap();
    let path = format!("/api/jobs/{hash}/result");
    let deadline = std::time::Duration::from_secs(60);
    let done = async || stage.get(&stage.reader, &path).await.status == 200;
    stage
        .rig
        .eventually("the job completes", deadline, done)
        .await;
    let result = stage.get(&stage.reader, &path).await.expect(200);
    assert_eq!(
        (&result["status"], &result["job_id"]),
        (&json!("COMPLETED"), &sent["strata_job_id"])
    );
    let record = stage
        .get(&stage.reader, &format!("/api/jobs/status/{hash}"))
        .await
        .expect(200);
    assert_eq!(record["status"], "COMPLETED");
    let again = stage
        .post(&stage.writer, "/api/jobs/submit/nothing", &json!({}))
        .await
        .expect(200);
    assert_eq!(again["status"], "COMPLETED");
    // What has completed is done again only with force.
    let resubmit = async |body: Value| {
        stage
            .post(&stage.writer, "/api/platform/resubmit", &body)
            .await
    };
    let request = &sent["request_id"];
    resubmit(json!({"request_id": request}))
        .await
        .refused(409, "NOT_RETRYABLE");
    let events = stage.events().await;
    let look = resubmit(json!({"request_id": request, "force": true, "dry_run": true}))
        .await
        .expect(200);
    assert_eq!(look["plan"]["workflow_id"], "nothing");
    assert_eq!(stage.events().await, events);
    let anew = resubmit(json!({"request_id": request, "force": true}))
        .await
        .expect(202);
    assert_ne!(&anew["request_id"], request);
    let failures = stage
        .get(&stage.reader, "/api/platform/failures?limit=5")
        .await
        .expect(200);
    assert_eq!(failures, json!({"failures": [], "next": null}));
}
