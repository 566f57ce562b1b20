//! Artifacts: whether what earlier jobs made is still there.

use super::{LIGHT, integer, list, optional, required, text};
use crate::handler::{Handler, Output};

pub(super) fn all() -> Vec<Handler> {
    vec![verify()]
}

fn verify() -> Handler {
    let about = "Looks whether artifacts are still there and have the hashes that were recorded.";
    Handler::new("artifact.verify", LIGHT, 21_600, about)
        .aliases(&["artifact_verify"])
        .param(
            "artifacts",
            required(list("What to look at: `{name, uri, sha256, bytes}` each.")),
        )
        .param(
            "made_by",
            optional("The job that made them; a table is known by the job that loaded it."),
        )
        .output(
            "verdicts",
            list::<Output>("`intact`, `missing`, `changed` or `unverifiable`, in their order."),
        )
        .output(
            "details",
            list::<Output>("More of the first that are not intact, each with its `index`."),
        )
        .output("bytes_read", integer("Bytes that were read and hashed."))
        .output(
            "checked",
            text("How many of how many are intact, in words."),
        )
}
