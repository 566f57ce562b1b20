//! Ten files with many mistakes each: all of them are reported in one run, each at its place.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{lines, problems};

/// Name, file, expected lines.
pub(super) const FILES: [(&str, &str, &str); 10] = {
    macro_rules! files {
        ($($name:literal)*) => {
            [$((
                $name,
                include_str!(concat!("../../../tests/broken/", $name, ".yaml")),
                include_str!(concat!("../../../tests/broken/", $name, ".expected")),
            ),)*]
        };
    }
    files!("01_sample_shape" "02_fields" "03_graph" "04_conditional" "05_handlers" "06_inputs"
           "07_templates" "08_fan" "09_stages" "10_yaml")
};

#[test]
fn every_mistake_of_the_broken_files_is_reported_at_its_place() {
    let mut report = String::new();
    for (name, file, expected) in FILES {
        let found: BTreeSet<String> = lines(file).into_iter().collect();
        let expected: BTreeSet<String> =
            expected.lines().map(|l| l.trim_end().to_owned()).collect();
        for missing in expected.difference(&found) {
            let _ = writeln!(report, "{name}: not reported: {missing}");
        }
        for extra in problems(file) {
            let line = format!(
                "{}:{} {} {}",
                extra.line, extra.column, extra.code, extra.path
            );
            if !expected.contains(line.trim_end()) {
                let _ = writeln!(report, "{name}: not expected: {extra}");
            }
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn problems_come_in_the_order_of_the_file() {
    for (name, file, _) in FILES {
        let places: Vec<_> = problems(file).iter().map(|d| (d.line, d.column)).collect();
        assert!(places.is_sorted(), "{name}: {places:?}");
    }
}

#[test]
fn the_sample_with_its_undefined_node_has_exactly_one_problem() {
    let (_, file, _) = FILES[0];
    let found = problems(file);
    let [only] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!((only.line, only.code.as_str()), (24, "WF0025"));
    assert!(only.message.contains("process_fa"));
    assert!(
        only.hint
            .as_ref()
            .is_some_and(|hint| hint.contains("define `process_fa`"))
    );
}
