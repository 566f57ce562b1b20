//! The rooms of the house: who may use whom, and what the core may be built from.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::lexer::{code_only, mentions};
use crate::repo::{File, root, rust_files_below};

/// Every room and the rooms it may use, for building and testing alike.
const ROOMS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("bus", &["domain"]),
    ("commands", &["domain", "bus"]),
    ("projections", &["domain", "bus"]),
    ("geo", &["domain"]),
    ("native", &["domain", "geo"]),
    ("workers", &["domain", "bus", "geo", "native"]),
    ("api", &["domain", "bus", "commands", "projections"]),
    (
        "cli",
        &[
            "domain",
            "bus",
            "commands",
            "projections",
            "workers",
            "geo",
            "api",
        ],
    ),
    (
        "tests",
        &[
            "domain",
            "bus",
            "commands",
            "projections",
            "workers",
            "geo",
            "api",
            "cli",
        ],
    ),
];

/// Crates that bring IO, time or chance, none of which the core may have.
const KEPT_FROM_DOMAIN: &[&str] = &[
    "async-nats",
    "axum",
    "fastrand",
    "getrandom",
    "mio",
    "rand",
    "rand_core",
    "reqwest",
    "sqlx",
    "tokio",
];

/// Features of allowed crates that do the same.
const FEATURES_KEPT_FROM_DOMAIN: &[(&str, &[&str])] = &[
    ("chrono", &["clock", "now"]),
    (
        "uuid",
        &[
            "v1",
            "v4",
            "v6",
            "v7",
            "rng",
            "fast-rng",
            "rng-getrandom",
            "rng-rand",
        ],
    ),
];

/// The modules of the platform side. Execution does not know who asked for it (O-12).
const KEPT_FROM_JOB: &[&str] = &["asset", "platform", "request"];

/// Every arrow that is not in [`ROOMS`], and every package without a row there.
fn wrong_arrows(packages: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (package, dependencies) in packages {
        let Some((_, allowed)) = ROOMS.iter().find(|(room, _)| room == package) else {
            wrong.push(format!("`{package}` has no row in the table of rooms"));
            continue;
        };
        for dependency in dependencies {
            if packages.contains_key(dependency) && !allowed.contains(&dependency.as_str()) {
                wrong.push(format!("`{package}` must not use `{dependency}`"));
            }
        }
    }
    wrong
}

/// What `tree`, one `name version;features` per line, has that the core may not have.
fn impure_crates(tree: &str) -> Vec<String> {
    let mut impure = Vec::new();
    for line in tree.lines() {
        let (package, features) = line.rsplit_once(';').unwrap_or((line, ""));
        let name = package.split_whitespace().next().unwrap_or("");
        if KEPT_FROM_DOMAIN.contains(&name) {
            impure.push(name.to_owned());
        }
        let kept_out = FEATURES_KEPT_FROM_DOMAIN
            .iter()
            .filter(|(of, _)| *of == name);
        for feature in kept_out.flat_map(|(_, features)| *features) {
            if features
                .trim_end_matches(" (*)")
                .split(',')
                .any(|on| on == *feature)
            {
                impure.push(format!("{name} with feature {feature}"));
            }
        }
    }
    impure.sort();
    impure.dedup();
    impure
}

/// Where a file of the job module reaches for the platform side.
fn platform_imports(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    for mention in mentions(&code_only(&file.text)) {
        let reaches = |module: &&&str| {
            ["crate", "super"]
                .iter()
                .any(|from| mention.contains(&format!("{from}::{module}")))
        };
        if let Some(module) = KEPT_FROM_JOB.iter().find(reaches) {
            found.push(format!("{}:{}: job uses {module}", file.path, mention.line));
        }
    }
    found
}

#[test]
fn a_build_without_gdal_has_none_of_it() {
    let tree = |more: &[&str]| {
        let args = [
            "tree",
            "--package",
            "cli",
            "--edges",
            "normal",
            "--prefix",
            "none",
        ];
        cargo(&[&args, more].concat())
    };
    assert!(tree(&[]).contains("gdal-sys"));
    assert!(!tree(&["--no-default-features"]).contains("gdal-sys"));
}

#[test]
fn every_arrow_between_packages_points_the_way_the_design_says() {
    // Without `--no-deps` cargo would want the crates of all platforms, which no build has fetched.
    let metadata = cargo(&["metadata", "--format-version", "1", "--no-deps"]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let name = |of: &Value| of["name"].as_str().unwrap().to_owned();
    let packages: BTreeMap<String, Vec<String>> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap();
            (name(package), dependencies.iter().map(name).collect())
        })
        .collect();

    assert_eq!(wrong_arrows(&packages), Vec::<String>::new());
    for (room, _) in ROOMS {
        assert!(
            packages.contains_key(*room),
            "the room `{room}` is not in the workspace"
        );
    }
}

#[test]
fn a_wrong_arrow_and_an_unknown_room_are_named() {
    let package = |name: &str, uses: &[&str]| {
        (
            name.to_owned(),
            uses.iter().map(|&used| used.to_owned()).collect(),
        )
    };
    let packages = BTreeMap::from([
        package("attic", &[]),
        package("commands", &["domain", "serde", "projections"]),
        package("domain", &["serde"]),
        package("projections", &["domain"]),
    ]);
    let expected = [
        "`attic` has no row in the table of rooms",
        "`commands` must not use `projections`",
    ];
    assert_eq!(wrong_arrows(&packages), expected);
}

#[test]
fn domain_alone_is_built_without_io_clock_and_chance() {
    let kinds = ["-e", "normal,build", "--prefix", "none", "-f", "{p};{f}"];
    let tree = cargo(&[&["tree", "-p", "domain"], &kinds[..]].concat());
    assert!(
        tree.starts_with("domain v"),
        "not a tree of domain:\n{tree}"
    );
    assert_eq!(impure_crates(&tree), Vec::<String>::new());
}

#[test]
fn an_impure_crate_or_feature_is_named() {
    let tree = "domain v0.1.0 (/a house/domain);\n\
        chrono v0.4.45;alloc,clock,serde\n\
        uuid v1.29.0;serde,v4,v5 (*)\n\
        uuid v1.29.0;serde,v4,v5\n\
        serde_derive v1.0.229 (proc-macro);default\n\
        randomly v1.0.0;\n\
        getrandom v0.4.3;std\n\
        tokio v1.50.0;rt (*)\n";
    let expected = [
        "chrono with feature clock",
        "getrandom",
        "tokio",
        "uuid with feature v4",
    ];
    assert_eq!(impure_crates(tree), expected);
}

#[test]
fn the_job_module_does_not_import_the_platform_side() {
    let files = rust_files_below("domain/src/job");
    let found: Vec<String> = files.iter().flat_map(platform_imports).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn an_import_of_the_platform_side_is_named_in_every_spelling() {
    let text = "//! Unlike crate::asset.\n\
        use crate::{id::JobId, platform::Platform};\n\
        use crate::asset::*;\n\
        use crate::job::request;\n\
        fn f(of: &super::super::request::State) {}\n";
    let file = File {
        path: "job/state.rs".into(),
        text: text.into(),
    };
    let expected = [
        "job/state.rs:2: job uses platform",
        "job/state.rs:3: job uses asset",
        "job/state.rs:5: job uses request",
    ];
    assert_eq!(platform_imports(&file), expected);
}

/// What cargo says about the workspace as it is locked, without asking the network.
fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--offline", "--locked"])
        .current_dir(root())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}
