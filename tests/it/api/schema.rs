//! The GraphQL schema is a promise: a change of it must be seen.

use crate::repo::root;

const RENEW: &str = "STRATA_RENEW_SNAPSHOTS";

#[test]
fn the_schema_is_the_one_that_is_kept() {
    let file = root().join("docs/api/schema.graphql");
    let now = api::graphql::sdl();
    if std::env::var_os(RENEW).is_some() {
        std::fs::write(&file, &now).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == now,
        "the schema differs from {}; if that is meant, run this test with {RENEW}=1 and look at the difference",
        file.display()
    );
}
