//! Canaries through every root field of the schema: once where people put them, and once in every argument.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::doors::Doors;
use super::{PERSON, SECRET};
use crate::api::server::code_of;

/// Every mutation with canaries where people put them, in an order that works, and the code of its answer.
const ROWS: &[(&str, &str, &str)] = &[
    (
        "submitJob",
        "submitJob(input: {workflow: \"one\", inputs: {message: \"CONTENT\"}, platform: \"strata\", \
             refs: {name: \"CONTENT\"}, idempotencyKey: \"PERSON\", \
             callbacks: [{url: \"https://example.org/CONTENT\", secret: \"SECRET\"}]}) { jobId }",
        "",
    ),
    (
        "submitJobs",
        "submitJobs(inputs: [{workflow: \"quotes\", inputs: {why: \"CONTENT\"}, platform: \"strata\", \
             refs: {name: \"CONTENT 2\"}, idempotencyKey: \"PERSON 2\", \
             callbacks: [{url: \"https://example.org/CONTENT\", secret: \"SECRET\"}]}]) { error }",
        "",
    ),
    (
        "submitJob",
        "submitJob(input: {workflow: \"one\", callbacks: [{url: \"https://SECRET:SECRET@example.org/\"}]}) { jobId }",
        "INVALID_CALLBACKS",
    ),
    (
        "pauseJob",
        "pauseJob(id: \"OPEN\", reason: \"CONTENT\") { outcome }",
        "",
    ),
    ("resumeJob", "resumeJob(id: \"OPEN\") { outcome }", ""),
    ("releaseJob", "releaseJob(id: \"OPEN\") { outcome }", ""),
    (
        "steerJobs",
        "steerJobs(wish: CANCEL, filter: {text: \"PERSON\", workflow: \"PERSON\"}, reason: \"CONTENT\", dryRun: false) { matched }",
        "",
    ),
    (
        "cancelJob",
        "cancelJob(id: \"OPEN\", reason: \"CONTENT\") { outcome }",
        "",
    ),
    ("retryJob", "retryJob(id: \"FAILED\") { outcome }", ""),
    (
        "forkJob",
        "forkJob(id: \"DONE\", at: [\"only\"], inputs: {message: \"CONTENT\"}, idempotencyKey: \"PERSON 3\") { outcome }",
        "",
    ),
    ("approve", "approve(assetId: \"ASSET_A\") { repeated }", ""),
    (
        "setClearance",
        "setClearance(assetId: \"ASSET_A\", clearance: OUO) { repeated }",
        "",
    ),
    (
        "revoke",
        "revoke(assetId: \"ASSET_A\", reason: \"CONTENT\") { repeated }",
        "",
    ),
    (
        "reject",
        "reject(assetId: \"ASSET_B\", reason: \"CONTENT\") { repeated }",
        "",
    ),
    (
        "rollbackAsset",
        "rollbackAsset(assetId: \"ASSET_B\", to: 1, reason: \"CONTENT\") { repeated }",
        "ALREADY_CURRENT",
    ),
    (
        "rollbackAsset",
        "rollbackAsset(assetId: \"ASSET_B\", to: 1, reason: \"CONTENT\", checkedBy: \"PERSON\") { repeated }",
        "NOT_FOUND",
    ),
    (
        "checkArtifacts",
        "checkArtifacts(assetId: \"ASSET_B\", revision: 1) { jobId }",
        "NOT_VERIFIABLE",
    ),
    (
        "softDelete",
        "softDelete(assetId: \"ASSET_B\") { repeated }",
        "",
    ),
    ("restore", "restore(assetId: \"ASSET_B\") { repeated }", ""),
    ("reprocess", "reprocess(assetId: \"ASSET_B\") { jobId }", ""),
    (
        "redeliverCallback",
        "redeliverCallback(id: \"CALLBACK\") { callbackId }",
        "NOT_FOUND",
    ),
    (
        "rotateCallbackSecret",
        "rotateCallbackSecret { secret }",
        "",
    ),
    (
        "rotateCallbackSecret",
        "rotateCallbackSecret(name: \"PERSON\") { secret }",
        "NOT_FOUND",
    ),
    (
        "createKey",
        "createKey(label: \"PERSON\", role: READER, org: \"acme\") { token }",
        "",
    ),
    (
        "createKey",
        "createKey(label: \"x\", role: READER, org: \"PERSON\") { token }",
        "INVALID_ORG",
    ),
    ("revokeKey", "revokeKey(id: \"PERSON\") { id }", "NOT_FOUND"),
    ("signIn", "signIn { url }", ""),
    (
        "registerPlatform",
        "registerPlatform(id: \"canary\", name: \"CONTENT\", requiredRefs: [\"uuid\"], optionalRefs: [\"tag\"]) { platformId }",
        "",
    ),
    (
        "replayDeadLetter",
        "replayDeadLetter(id: 1) { outcome }",
        "NOT_FOUND",
    ),
    (
        "discardDeadLetter",
        "discardDeadLetter(id: 1) { outcome }",
        "NOT_FOUND",
    ),
];

/// The schema as it says it is itself.
struct Schema(Value);

/// Sends everything; the secrets that answers have shown.
pub(super) async fn through_every_field(doors: &Doors<'_>) -> Vec<String> {
    let schema = Schema::of(doors).await;
    every_text_has_a_row(&schema);
    let mut shown = Vec::new();
    for (field, row, code) in ROWS {
        let document = format!("mutation {{ {} }}", doors.filled(row));
        let answer = doors.ask(&document).await;
        assert_eq!(code_of(&answer), *code, "{document}: {answer}");
        assert!(
            !answer.to_string().contains(SECRET),
            "{field} answers with a secret: {answer}"
        );
        let data = &answer["data"][field];
        shown.extend(
            ["token", "secret"]
                .iter()
                .filter_map(|name| Some(data[name].as_str()?.to_owned())),
        );
        let link = data["url"].as_str().and_then(|url| url.split_once('#'));
        shown.extend(link.map(|(_, secret)| secret.to_owned()));
    }
    assert_eq!(
        shown.len(),
        3,
        "a key, a secret and a sign-in are shown once"
    );
    for (root, word) in [
        ("queryType", "query"),
        ("mutationType", "mutation"),
        ("subscriptionType", "subscription"),
    ] {
        for field in schema.0[root]["fields"].as_array().unwrap() {
            for spoiled in [false, true] {
                let document = schema.document(word, field, spoiled);
                let answer = doors.ask(&document).await;
                assert!(
                    answer["data"].is_object() || answer["errors"].is_array(),
                    "{document}: {answer}"
                );
            }
        }
    }
    shown
}

/// Each mutation has a row, and each of its arguments that takes a text has a value in it.
fn every_text_has_a_row(schema: &Schema) {
    for field in schema.0["mutationType"]["fields"].as_array().unwrap() {
        let name = field["name"].as_str().unwrap();
        let rows: String = ROWS
            .iter()
            .filter(|(of, ..)| *of == name)
            .map(|(_, row, _)| *row)
            .collect();
        assert!(
            !rows.is_empty(),
            "`{name}` has no row: which canaries can it take?"
        );
        let mut texts = BTreeSet::new();
        schema.texts(&field["args"], &mut texts);
        for text in texts {
            assert!(
                rows.contains(&format!("{text}: ")),
                "`{name}` takes a text as `{text}`, and no row has one"
            );
        }
    }
}

impl Schema {
    async fn of(doors: &Doors<'_>) -> Self {
        let kind = "type { name kind ofType { name kind ofType { name kind ofType { name kind ofType { name kind } } } } }";
        let root = format!("fields {{ name {kind} args {{ name {kind} }} }}");
        let document = format!(
            "{{ __schema {{ queryType {{ {root} }} mutationType {{ {root} }} subscriptionType {{ {root} }} \
               types {{ name kind inputFields {{ name {kind} }} enumValues {{ name }} }} }} }}"
        );
        let mut answer = doors.ask(&document).await;
        assert!(answer.get("errors").is_none(), "{answer}");
        Self(answer["data"]["__schema"].take())
    }

    /// The named type, below lists and what must be there.
    fn named(kind: &Value) -> &Value {
        match kind["kind"].as_str() {
            Some("NON_NULL" | "LIST") => Self::named(&kind["ofType"]),
            _ => kind,
        }
    }

    fn is_list(kind: &Value) -> bool {
        match kind["kind"].as_str() {
            Some("LIST") => true,
            Some("NON_NULL") => Self::is_list(&kind["ofType"]),
            _ => false,
        }
    }

    fn described(&self, kind: &Value) -> &Value {
        let mut types = self.0["types"].as_array().unwrap().iter();
        types.find(|one| one["name"] == kind["name"]).unwrap()
    }

    /// Names of arguments and fields that take a text or any value at all.
    fn texts(&self, args: &Value, found: &mut BTreeSet<String>) {
        for arg in args.as_array().unwrap() {
            let kind = Self::named(&arg["type"]);
            match (kind["kind"].as_str(), kind["name"].as_str()) {
                (Some("INPUT_OBJECT"), _) => {
                    self.texts(&self.described(kind)["inputFields"], found)
                }
                (_, Some("String" | "ID" | "JSON")) => {
                    found.insert(arg["name"].as_str().unwrap().to_owned());
                }
                _ => {}
            }
        }
    }

    /// A document with a person in each text; spoiled, in each argument of whatever type.
    fn document(&self, word: &str, field: &Value, spoiled: bool) -> String {
        let name = field["name"].as_str().unwrap();
        let args: Vec<_> = field["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(|arg| self.given(arg, spoiled))
            .collect();
        let args = if args.is_empty() {
            String::new()
        } else {
            format!("({})", args.join(", "))
        };
        let result = Self::named(&field["type"])["kind"].as_str();
        let wanted = if matches!(result, Some("OBJECT")) {
            " { __typename }"
        } else {
            ""
        };
        format!("{word} {{ {name}{args}{wanted} }}")
    }

    fn given(&self, arg: &Value, spoiled: bool) -> String {
        let value = self.value(Self::named(&arg["type"]), spoiled);
        let value = if Self::is_list(&arg["type"]) {
            format!("[{value}]")
        } else {
            value
        };
        format!("{}: {value}", arg["name"].as_str().unwrap())
    }

    fn value(&self, kind: &Value, spoiled: bool) -> String {
        let text = json!(PERSON).to_string();
        match (kind["kind"].as_str(), kind["name"].as_str()) {
            (Some("INPUT_OBJECT"), Some(name)) => {
                let fields = self.described(kind)["inputFields"].as_array().unwrap();
                // One of them, where only one may be given.
                let some = fields
                    .iter()
                    .take(if name == "AsOf" { 1 } else { usize::MAX });
                let given: Vec<_> = some.map(|field| self.given(field, spoiled)).collect();
                format!("{{{}}}", given.join(", "))
            }
            (_, Some("JSON")) => format!("{{canary: {text}}}"),
            (_, Some("String" | "ID")) => text,
            _ if spoiled => text,
            (Some("ENUM"), _) => {
                let values = &self.described(kind)["enumValues"];
                values[0]["name"].as_str().unwrap().to_owned()
            }
            (_, Some("Boolean")) => "false".to_owned(),
            (_, Some("DateTime")) => "\"2026-01-01T00:00:00Z\"".to_owned(),
            (_, Some("Int" | "Float" | "Position")) => "1".to_owned(),
            other => panic!("{other:?}: which values does it take?"),
        }
    }
}
