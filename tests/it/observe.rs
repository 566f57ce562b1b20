//! The guide and the alert rules speak of metrics that the code really exports.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use bus::metric::{ALL, Kind};
use granit_parser::{Event, Parser};

use crate::repo::{root, rust_files_below};

const GUIDE: &str = "docs/guides/observe.md";
const RULES: &str = "docs/operations/prometheus-rules.yaml";
/// When each of them fires, for Prometheus' own tool.
const CASES: &str = "docs/operations/prometheus-rules.test.yaml";

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

/// All texts of a YAML file, keys and values, in order.
fn scalars(path: &str) -> Vec<String> {
    let text = text_of(path);
    let mut scalars = Vec::new();
    for event in Parser::new_from_str(&text) {
        let (event, _) = event.expect("valid YAML");
        if let Event::Scalar(value, ..) = event {
            scalars.push(value.into_owned());
        }
    }
    scalars
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
    let scalars = scalars(RULES);
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

/// Prometheus' own tool for rules, where it is installed.
fn promtool() -> Option<PathBuf> {
    let named = std::env::var_os("STRATA_PROMTOOL").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let on_path = folders.into_iter().map(|folder| folder.join("promtool"));
    named.into_iter().chain(on_path).find(|p| p.is_file())
}

#[test]
fn every_alert_has_a_case_in_which_it_fires() {
    let rules = scalars(RULES);
    let names = rules.windows(2).filter(|pair| pair[0] == "alert");
    let cases = scalars(CASES);
    let unknown = metrics_in(&text_of(CASES));
    let unknown: Vec<_> = unknown.difference(&known()).cloned().collect();
    assert_eq!(unknown, Vec::<String>::new());
    for name in names.map(|pair| &pair[1]) {
        let fired = format!("ALERTS{{alertname=\"{name}\",alertstate=\"firing\",");
        let is_expected = |pair: &[String]| pair[0] == "labels" && pair[1].starts_with(&fired);
        assert!(cases.windows(2).any(is_expected), "{name} never fires");
    }
    // Whether they really do is for Prometheus to say; not every machine has it.
    let Some(promtool) = promtool() else { return };
    let run = Command::new(promtool)
        .args(["test", "rules", CASES])
        .current_dir(root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
}
