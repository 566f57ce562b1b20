//! The rules of the platform registry, one sentence each.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::context::{Role, testing};
use crate::outcome::Decision;

#[track_caller]
fn check(given: &[Event], when: Command, then: Result<Decision<Event>, Rejection>) {
    let state = fold(given);
    assert_eq!(decide(&state, when, &testing::from(Role::Platform)), then);
}

/// Registers `when` alone and expects `then`, given by its refusal.
#[track_caller]
fn refused(id: &str, name: &str, required: &[&str], optional: &[&str], then: Rejection) {
    check(&[], register(id, name, required, optional), Err(then));
}

#[track_caller]
fn check_problems(state: &State, refs: Value, then: &[&str]) {
    let refs = refs.as_object().cloned().expect("an object");
    let found = match check_refs(state, &refs) {
        Ok(()) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(found, then);
}

fn fold(events: &[Event]) -> State {
    events.iter().fold(State::default(), evolve)
}

fn register(id: &str, name: &str, required: &[&str], optional: &[&str]) -> Command {
    let owned = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
    Command::Register {
        platform_id: id.into(),
        name: name.into(),
        required_refs: owned(required),
        optional_refs: owned(optional),
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&n| n.to_owned()).collect()
}

fn geonode() -> Event {
    Event::PlatformRegistered {
        platform_id: "geonode".into(),
        name: "GeoNode".into(),
        required_refs: set(&["uuid"]),
        optional_refs: set(&["alternate"]),
        at: testing::now(),
    }
}

fn seeded(index: usize) -> State {
    let ctx = testing::from(Role::Platform);
    let decision = decide(&State::default(), seeds()[index].clone(), &ctx);
    fold(&decision.expect("a seed is valid").into_events())
}

#[test]
fn a_new_platform_is_registered_at_run_time() {
    let when = register("geonode", "GeoNode", &["uuid"], &["alternate"]);
    check(&[], when, Ok(Decision::Accepted(vec![geonode()])));
    check_problems(&fold(&[geonode()]), json!({"uuid": "u-1"}), &[]);
}

#[test]
fn the_same_registration_again_is_already_applied() {
    let again = register("geonode", "GeoNode", &["uuid"], &["alternate"]);
    check(&[geonode()], again, Ok(Decision::AlreadyApplied));
}

#[test]
fn the_order_of_refs_means_nothing() {
    let ctx = testing::from(Role::Platform);
    let first = register("p", "P", &["a", "b"], &["c", "d"]);
    let decision = decide(&State::default(), first, &ctx).expect("valid");
    let other_order = register("p", "P", &["b", "a"], &["d", "c"]);
    check(
        &decision.into_events(),
        other_order,
        Ok(Decision::AlreadyApplied),
    );
}

#[test]
fn name_and_optional_refs_may_change() {
    let updated = Event::PlatformUpdated {
        name: "GeoNode 5".into(),
        optional_refs: set(&["pk"]),
        at: testing::now(),
    };
    let when = register("geonode", "GeoNode 5", &["uuid"], &["pk"]);
    check(
        &[geonode()],
        when,
        Ok(Decision::Accepted(vec![updated.clone()])),
    );
    let state = fold(&[geonode(), updated.clone()]);
    let platform = state.platform().expect("registered");
    assert_eq!(platform.name, "GeoNode 5");
    assert_eq!(platform.required_refs, set(&["uuid"]));
    assert_eq!(platform.optional_refs, set(&["pk"]));
    assert_eq!(evolve(state.clone(), &updated), state);
}

#[test]
fn required_refs_cannot_change_because_they_are_the_identity() {
    for given in [&["uuid", "pk"][..], &["pk"]] {
        let then = Rejection::IdentityChanged {
            platform_id: "geonode".into(),
            registered: set(&["uuid"]),
            given: set(given),
        };
        let when = register("geonode", "GeoNode", given, &["alternate"]);
        check(&[geonode()], when, Err(then));
    }
}

#[test]
fn a_stream_holds_one_platform() {
    let then = Rejection::OtherPlatform {
        registered: "geonode".into(),
        given: "other".into(),
    };
    let when = register("other", "GeoNode", &["uuid"], &["alternate"]);
    check(&[geonode()], when, Err(then));
}

#[test]
fn platform_ids_have_one_form() {
    let longest = format!("a{}", "b".repeat(63));
    for id in ["a", "ddh", "arc-gis_2", &longest] {
        assert!(is_platform_id(id), "{id}");
    }
    let too_long = format!("{longest}b");
    for id in ["", "1a", "_a", "-a", "Ddh", "a b", "a|b", "ä", &too_long] {
        let platform_id = id.into();
        refused(id, "P", &["a"], &[], Rejection::InvalidId { platform_id });
    }
}

#[test]
fn a_platform_needs_a_name_and_a_required_ref() {
    refused(
        "p",
        " ",
        &["a"],
        &[],
        Rejection::InvalidName { size_bytes: 1 },
    );
    let long = "n".repeat(NAME_BYTES_MAX + 1);
    let size_bytes = long.len();
    refused(
        "p",
        &long,
        &["a"],
        &[],
        Rejection::InvalidName { size_bytes },
    );
    let platform_id = "p".into();
    refused(
        "p",
        "P",
        &[],
        &["a"],
        Rejection::NoRequiredRef { platform_id },
    );
}

#[test]
fn ref_names_are_simple_unique_and_few() {
    let long = "r".repeat(65);
    for bad in ["", "a b", "ä", "a|b", &long] {
        let name = bad.into();
        refused(
            "p",
            "P",
            &["a", bad],
            &[],
            Rejection::InvalidRefName { name },
        );
    }
    let name: String = "a".into();
    let twice = Rejection::DuplicateRef { name };
    refused("p", "P", &["a", "a"], &[], twice.clone());
    refused("p", "P", &["a"], &["a"], twice);
    let names: Vec<String> = (0..=REFS_MAX).map(|n| format!("r{n}")).collect();
    let many: Vec<&str> = names.iter().map(String::as_str).collect();
    let count = REFS_MAX + 1;
    refused("p", "P", &many, &[], Rejection::TooManyRefs { count });
}

#[test]
fn ddh_arcgis_and_strata_are_seeded() {
    let expected = [
        ("ddh", set(&["dataset_id", "resource_id", "version_id"])),
        ("arcgis", set(&["item_id", "layer_index"])),
        ("strata", set(&["name"])),
    ];
    for (index, (id, refs)) in expected.into_iter().enumerate() {
        let state = seeded(index);
        let platform = state.platform().expect("registered");
        assert_eq!(
            (&*platform.platform_id, &platform.required_refs),
            (id, &refs)
        );
        let again = decide(
            &state,
            seeds()[index].clone(),
            &testing::from(Role::Platform),
        );
        assert_eq!(again, Ok(Decision::AlreadyApplied));
    }
}

#[test]
fn complete_refs_of_strings_and_integers_pass() {
    let ddh = json!({"dataset_id": "0038272", "resource_id": "shapefile", "version_id": "2025-01"});
    check_problems(&seeded(0), ddh, &[]);
    check_problems(&seeded(1), json!({"item_id": "abc", "layer_index": 0}), &[]);
    check_problems(
        &fold(&[geonode()]),
        json!({"uuid": "u", "alternate": -7}),
        &[],
    );
}

#[test]
fn a_missing_required_ref_is_named() {
    let refs = json!({"dataset_id": "1", "version_id": "2"});
    check_problems(
        &seeded(0),
        refs,
        &["the required ref `resource_id` is missing"],
    );
}

#[test]
fn the_semantic_version_is_never_validated() {
    for version in ["Version Purple!!", "", "v2/ß\n", "0"] {
        let refs = json!({"dataset_id": "1", "resource_id": "2", "version_id": version});
        check_problems(&seeded(0), refs, &[]);
    }
}

#[test]
fn all_problems_of_refs_are_reported_at_once() {
    let refs = json!({
        "datasetid": "1",
        "colour": "red",
        "resource_id": 1.5,
        "version_id": "x".repeat(REF_BYTES_MAX + 1),
    });
    let then = [
        "the required ref `dataset_id` is missing",
        "the platform has no ref `colour`",
        "the platform has no ref `datasetid`; did you mean `dataset_id`?",
        "the ref `resource_id` must be a string or an integer, not a fraction",
        "the ref `version_id` has 513 bytes; at most 512 are allowed",
    ];
    check_problems(&seeded(0), refs, &then);
}

#[test]
fn a_ref_that_is_given_already_is_not_suggested() {
    let refs = json!({"name": "a", "nam": "b"});
    check_problems(&seeded(2), refs, &["the platform has no ref `nam`"]);
}

#[test]
fn only_strings_and_integers_are_refs() {
    for (value, found) in [
        (json!(null), "null"),
        (json!(true), "a boolean"),
        (json!(1.0), "a fraction"),
        (json!(["a"]), "an array"),
        (json!({"a": 1}), "an object"),
    ] {
        let text = format!("the ref `name` must be a string or an integer, not {found}");
        check_problems(&seeded(2), json!({ "name": value }), &[&text]);
    }
    let zero = "the ref `name` contains the character U+0000";
    check_problems(&seeded(2), json!({"name": "a\0b"}), &[zero]);
    check_problems(&seeded(2), json!({"name": "x".repeat(REF_BYTES_MAX)}), &[]);
}

#[test]
fn an_unregistered_platform_accepts_no_refs() {
    check_problems(
        &State::default(),
        json!({}),
        &["the platform is not registered"],
    );
}

#[test]
fn what_is_carried_stands_in_for_everything_before_it() {
    let ctx = testing::from(Role::Platform);
    let all = [
        geonode(),
        Event::PlatformUpdated {
            name: "Other".to_owned(),
            optional_refs: set(&["title"]),
            at: testing::now(),
        },
    ];
    let carried = decide(&fold(&all), Command::Carry, &ctx).expect("nobody is refused");
    assert_eq!(fold(&carried.into_events()), fold(&all));
}

#[test]
fn a_repeated_event_changes_nothing() {
    let once = fold(&[geonode()]);
    assert_eq!(evolve(once.clone(), &geonode()), once);
}

#[test]
fn events_are_tagged_in_snake_case() {
    let json = serde_json::to_value(geonode()).expect("plain data");
    assert_eq!(json["type"], "platform_registered");
    assert_eq!(serde_json::from_value::<Event>(json).ok(), Some(geonode()));
}

/// O-12: what runs jobs must not know of partners.
#[test]
fn what_runs_jobs_does_not_import_the_b2b_modules() {
    let src = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut open: Vec<_> = ["job", "definition", "expr", "handler"]
        .iter()
        .flat_map(|module| [src.join(module), src.join(format!("{module}.rs"))])
        .filter(|path| path.exists())
        .collect();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a readable folder");
            open.extend(entries.map(|entry| entry.expect("a readable entry").path()));
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for path_in_code in code.flat_map(|line| line.split(|c: char| !is_path_char(c))) {
            let mut segments = path_in_code.split("::");
            let b2b = segments.any(|s| ["platform", "asset", "request"].contains(&s));
            assert!(
                !(b2b && path_in_code.contains("::")),
                "{} uses {path_in_code}",
                path.display()
            );
        }
    }
}

fn is_path_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | ':')
}
