//! What a submission gives against what the workflow declares.

use serde_json::{Value, json};

use crate::definition::model::Workflow;
use crate::definition::{load, resolve_inputs};

const INPUTS: &str = r#"
workflow_id: t
name: t
version: 1
inputs:
  url: {type: str, required: true, pattern: "https?://.+"}
  crs: {type: string, default: "EPSG:3857"}
  level: {type: int, min: 1, max: 9}
  ratio: {type: float}
  mode: {type: string, enum: [fast, slow], default: fast}
  tags: {type: list, max: 2}
  extra: {type: dict}
nodes:
  START: {type: start, next: END}
  END: {type: end}
"#;

fn workflow() -> Workflow {
    load(INPUTS.as_bytes(), &super::catalog()).expect("valid")
}

fn resolve(given: Value) -> Result<Value, Vec<String>> {
    let given = given.as_object().cloned().unwrap_or_default();
    resolve_inputs(&workflow().inputs, &given)
        .map(Value::Object)
        .map_err(|problems| {
            problems
                .into_iter()
                .map(|p| format!("{}: {}", p.name, p.message))
                .collect()
        })
}

#[test]
fn defaults_are_applied_and_the_rest_stays_as_given() {
    assert_eq!(
        resolve(json!({"url": "http://x", "level": 3, "ratio": 2, "extra": {"a": 1}})),
        Ok(
            json!({"url": "http://x", "level": 3, "ratio": 2, "extra": {"a": 1},
                  "crs": "EPSG:3857", "mode": "fast"})
        )
    );
    let null = json!({"url": "http://x", "crs": null, "level": null});
    assert_eq!(
        resolve(null),
        Ok(json!({"url": "http://x", "crs": "EPSG:3857", "mode": "fast"})),
        "null counts as not given"
    );
}

#[test]
fn all_problems_of_a_submission_come_at_once() {
    let given = json!({"levl": 1, "level": 10, "ratio": "2", "mode": "medium", "tags": [1, 2, 3], "extra": []});
    assert_eq!(
        resolve(given),
        Err(vec![
            "levl: the workflow has no input `levl`; did you mean `level`?".to_owned(),
            "extra: expected an object, found an array".to_owned(),
            "level: 10 is more than 9".to_owned(),
            "mode: \"medium\" is not one of \"fast\", \"slow\"".to_owned(),
            "ratio: expected a number, found the text `2`".to_owned(),
            "tags: 3 items is more than 2".to_owned(),
            "url: the input `url` is required".to_owned(),
        ])
    );
}

#[test]
fn each_type_accepts_its_own_values_only() {
    let values = [
        json!("s"),
        json!(1),
        json!(1.5),
        json!(true),
        json!([]),
        json!({}),
    ];
    for (name, accepted) in [
        ("crs", "s"),
        ("level", "1"),
        ("ratio", "1 1.5"),
        ("tags", "[]"),
        ("extra", "{}"),
    ] {
        for value in &values {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let fits = accepted.split(' ').any(|word| word == text);
            let given = json!({"url": "http://x", name: value});
            assert_eq!(resolve(given).is_ok(), fits, "{name}: {value}");
        }
    }
}

#[test]
fn a_pattern_matches_the_whole_text() {
    assert!(resolve(json!({"url": "see http://x"})).is_err());
    assert!(resolve(json!({"url": format!("http://{}", "x".repeat(20_000))})).is_err());
}
