//! The report that is attached to an incident: complete, and harmless whatever anybody has written.

use serde_json::json;

use super::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn a_report_tells_everything_and_runs_nothing() {
    let stage = Stage::with("asset_report", 3).await;
    let hostile = "<script>alert(1)</script>\u{202e}gnp.exe\" onload=x ](javascript:y) ``` |";
    let reject = "mutation($id: String!, $reason: String!) { reject(assetId: $id, reason: $reason) { position } }";
    let variables = json!({"id": stage.asset, "reason": hostile});
    stage.server.data(reject, variables).await;
    let key = &stage.server.key;
    let wish = [
        "asset",
        "rollback",
        &stage.asset,
        "--to",
        "2",
        "--reason",
        hostile,
    ];
    let done = stage.strata(key, &wish).await;
    assert_eq!(done.code, 0, "{}", done.err);
    std::fs::write(stage.file(3), b"short").unwrap();
    std::fs::remove_file(stage.file(1)).unwrap();
    stage.settle().await;

    page(&stage).await;
    text(&stage).await;
}

/// As HTML.
async fn page(stage: &Stage) {
    let key = &stage.server.key;
    let file = stage.rig.dir.join("report.html");
    let path = file.to_str().unwrap();
    let ask = [
        "asset",
        "report",
        &stage.asset,
        "--format",
        "html",
        "--out",
        path,
    ];
    let done = stage.strata(key, &ask).await;
    assert_eq!(done.code, 0, "{}", done.err);
    let page = std::fs::read_to_string(&file).unwrap();
    for bad in [
        "<script",
        "\u{202e}",
        "src=",
        "href=",
        "onload=x\"",
        "url(http",
    ] {
        assert!(!page.contains(bad), "{bad}");
    }
    for good in [
        "default-src 'none'",
        "&lt;script&gt;alert(1)&lt;/script&gt;<span class=\"odd\">U+202E</span>gnp.exe&quot;",
        stage.asset.as_str(),
        "content of 2",
        "✓ intact",
        "≠ changed",
        "✕ missing",
        "key_of_a_partner",
        "strata audit proof job_",
        "rolled back to 2",
        "it has 5 bytes, not 2500000",
    ] {
        assert!(page.contains(good), "{good}");
    }
    // The look before the rollback is evidence, too.
    assert_eq!(page.matches("strata audit proof job_").count(), 4);
}

/// As Markdown, for those who may not have anything looked at, too.
async fn text(stage: &Stage) {
    let key = &stage.server.key;
    let ask = ["asset", "report", &stage.asset, "--no-check"];
    let text = stage.strata(key, &ask).await;
    assert_eq!(text.code, 0, "{}", text.err);
    // In a block of code a text is a text.
    let outside: String = text.out.split("```").step_by(2).collect();
    for bad in ["<script", "](javascript"] {
        assert!(!outside.contains(bad), "{bad}");
    }
    assert!(!text.out.contains('\u{202e}'));
    for good in [
        "nobody looked for this report",
        "↩ 4  back to 2",
        "### Revision 1",
    ] {
        assert!(text.out.contains(good), "{good}: {}", text.out);
    }
    // The block of the timeline ends where it should.
    assert_eq!(text.out.matches("```").count(), 4, "{}", text.out);
    let reader = stage
        .server
        .make_key(crate::api::server::ORG, domain::access::Role::Reader, false)
        .await;
    assert_eq!(stage.strata(&reader, &ask).await.code, 0);
    let refused = stage.strata(&reader, &ask[..3]).await;
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("--no-check"), "{}", refused.err);
}
