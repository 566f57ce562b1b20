//! `strata asset approve`, `reject` and `revoke`.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::args::ApproveArgs;
use super::no_asset;
use crate::args::Format;
use crate::client::{Client, is_code};
use crate::exit::Exit;
use crate::output::Console;

/// What may be decided of a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Approve,
    Reject,
    Revoke,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Reviewed {
    asset_id: String,
    repeated: bool,
    #[serde(rename(serialize = "pos"))]
    position: Option<i64>,
}

pub(super) async fn run(
    args: &ApproveArgs,
    verb: Verb,
    reason: Option<&str>,
    console: &mut Console<'_>,
) -> anyhow::Result<Exit> {
    #[derive(Deserialize)]
    struct Answer {
        done: Reviewed,
    }
    let client = Client::find(&args.of.stack)?;
    let (params, more) = match reason {
        Some(_) => (", $reason: String!", ", reason: $reason"),
        None => ("", ""),
    };
    let document = format!(
        "mutation($id: String!, $revision: Int{params}) {{ \
             done: {}(assetId: $id, revision: $revision{more}) {{ assetId repeated position }} }}",
        verb.field()
    );
    let variables = json!({"id": args.of.asset, "revision": args.revision, "reason": reason});
    let answer = client.ask::<Answer>(&document, variables).await;
    let Answer { done } = answer.map_err(|error| {
        if is_code(&error, "NOT_FOUND") {
            return no_asset(args.of.asset);
        }
        error
    })?;
    if args.output == Format::Json {
        console.data(&serde_json::to_string_pretty(&done)?)?;
        return Ok(Exit::Ok);
    }
    let before = if done.repeated {
        ", as it was before"
    } else {
        ""
    };
    console.talk(&format!("{} is {}{before}", done.asset_id, verb.done()))?;
    Ok(Exit::Ok)
}

impl Verb {
    /// The mutation of the API.
    fn field(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Revoke => "revoke",
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::Approve => "approved",
            Self::Reject => "rejected",
            Self::Revoke => "revoked",
        }
    }
}
