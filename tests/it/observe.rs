//! The guide and the alert rules speak of metrics that the code really exports.

use std::collections::BTreeSet;

use bus::metric::{ALL, Kind};
use granit_parser::{Event, Parser};

use crate::repo::{root, rust_files_below};

const GUIDE: &str = "docs/guides/observe.md";
const RULES: &str = "docs/operations/prometheus-rules.yaml";

fn text_of(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect(path)
}

/// Every word in a text that looks like one of our metrics, without what Prometheus adds to histograms.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_lowercase() && c != '_' && !c.is_ascii_digit());
    let ours = words.filter(|word| word.starts_with("strata_"));
    let plain = |word: &str| {
        let of_histogram = |suffix: &&str| {
            let base = word.strip_suffix(suffix);
            base.filter(|base| {
                let is_it = |m: &&bus::metric::Metric| m.name == *base;
                ALL.iter()
                    .find(is_it)
                    .is_some_and(|m| m.kind == Kind::Histogram)
            })
        };
        let base = ["_bucket", "_count", "_sum"].iter().find_map(of_histogram);
        base.unwrap_or(word).to_owned()
    };
    ours.map(plain).collect()
}

fn known() -> BTreeSet<String> {
    ALL.iter().map(|metric| metric.name.to_owned()).collect()
}

#[test]
fn every_metric_of_the_alert_rules_exists() {
    let named = metrics_in(&text_of(RULES));
    assert!(named.len() >= 8, "{named:?}");
    let unknown: Vec<_> = named.difference(&known()).cloned().collect();
    assert_eq!(unknown, Vec::<String>::new());
}

#[test]
fn the_guide_explains_every_metric_and_no_other() {
    assert_eq!(metrics_in(&text_of(GUIDE)), known());
}

#[test]
fn every_metric_is_measured_somewhere() {
    let rooms = ["commands", "projections", "workers", "api"];
    let code: String = rooms
        .iter()
        .flat_map(|room| rust_files_below(room))
        .map(|file| file.text)
        .collect();
    let names = text_of("bus/src/metric.rs");
    let mut constants = 0;
    for line in names.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [constant, "Counter" | "Gauge" | "Histogram", _] = words[..] else {
            continue;
        };
        constants += 1;
        let used = code.contains(&format!("metric::{constant}"));
        assert!(used, "{constant} is described and never measured");
    }
    assert_eq!(constants, ALL.len());
}

#[test]
fn the_alert_rules_are_yaml_with_all_that_an_alert_needs() {
    let text = text_of(RULES);
    let mut scalars = Vec::new();
    for event in Parser::new_from_str(&text) {
        let (event, _) = event.expect("valid YAML");
        if let Event::Scalar(value, ..) = event {
            scalars.push(value.into_owned());
        }
    }
    let count = |word: &str| scalars.iter().filter(|scalar| *scalar == word).count();
    let alerts = count("alert");
    assert!(alerts >= 8, "{alerts} alerts");
    for part in ["expr", "for", "severity", "summary", "description"] {
        assert_eq!(count(part), alerts, "`{part}` of every alert");
    }
    // Those of T-80, and what makes everything else stand still.
    for alert in [
        "StrataQueueDeep",
        "StrataTasksFailing",
        "StrataHeartbeatStale",
        "StrataWorkersAtMax",
        "StrataProjectorBehind",
        "StrataCallbacksWaiting",
        "StrataNoPartitionsAhead",
        "StrataNotReady",
    ] {
        assert_eq!(count(alert), 1, "{alert}");
    }
}
