//! `strata projection rebuild`: builds the read models anew, and says how far it is.

use std::sync::Arc;

use domain::handler::Catalog;
use projections::READ_MODELS;
use projections::rebuild::{self, Options, Outcome, Progress};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::args::RebuildArgs;
use super::bar::Bar;
use super::{failed, open};
use crate::args::Format;
use crate::exit::{Exit, Stop};
use crate::output::{Console, cut, one_line};
use crate::roles::stack::fresh_owner;

/// Longest value of a column that is shown.
const VALUE_CHARS: usize = 300;

pub(super) async fn run(
    args: &RebuildArgs,
    console: &mut Console<'_>,
    stop: CancellationToken,
) -> anyhow::Result<Exit> {
    if let Some(name) = args.name.as_deref().filter(|name| *name != READ_MODELS) {
        return Err(not_rebuilt(name));
    }
    let pool = open(&args.place).await?;
    let wanted = Options {
        verify: args.verify,
        ..Options::new(pool, fresh_owner().0, Arc::new(Catalog::shipped()))
    };
    let (progress, seen) = watch::channel(Progress::default());
    let began = Instant::now();
    let mut running = Box::pin(rebuild::run(wanted, progress, stop));
    let mut bar = Bar::new(console.look, seen);
    let ended = loop {
        tokio::select! {
            ended = &mut running => break ended,
            said = bar.next() => if let Some(said) = said {
                console.talk(&said)?;
            },
        }
    };
    bar.end();
    let ended = ended.map_err(|error| failed(&error, &args.place))?;
    print(args, &ended, began.elapsed().as_secs_f64(), console)
}

fn print(
    args: &RebuildArgs,
    ended: &Outcome,
    seconds: f64,
    console: &mut Console<'_>,
) -> anyhow::Result<Exit> {
    let json = args.place.output == Format::Json;
    match ended {
        Outcome::Switched { pos } if json => {
            let said = json!({
                "name": READ_MODELS, "outcome": "switched", "position": pos, "seconds": seconds,
                "verified": args.verify,
            });
            console.data(&serde_json::to_string_pretty(&said)?)?;
            Ok(Exit::Ok)
        }
        Outcome::Switched { pos } => {
            let same = if args.verify {
                "; every row was the same"
            } else {
                ""
            };
            console.talk(&format!(
                "{READ_MODELS} are rebuilt and live, at position {pos}, after {seconds:.1} s{same}"
            ))?;
            Ok(Exit::Ok)
        }
        Outcome::Different(found) => {
            if json {
                let said = json!({"name": READ_MODELS, "outcome": "different", "first": found});
                console.data(&serde_json::to_string_pretty(&said)?)?;
            }
            let value = |value: &Option<String>| {
                let text = value.as_deref().unwrap_or("nothing");
                cut(&one_line(text), VALUE_CHARS)
            };
            Err(Stop::with(
                Exit::NotVerified,
                format!(
                    "the live read models are not what the log says, and were left as they are: table {}, key {}, \
                     column {}: live {}, rebuilt {}",
                    found.table,
                    one_line(&found.key),
                    found.column,
                    value(&found.live),
                    value(&found.rebuilt)
                ),
                format!(
                    "strata projection rebuild {READ_MODELS}{}, which replaces them",
                    args.place.flag()
                ),
            ))
        }
        Outcome::Stopped | Outcome::Cancelled => {
            console.talk("stopped; nothing was switched, and what was made is gone")?;
            Ok(Exit::Interrupted)
        }
    }
}

fn not_rebuilt(name: &str) -> anyhow::Error {
    if name == projections::callbacks::NAME {
        return Stop::usage(
            format!("`{name}` is an effect: it is only ever resumed, and never rebuilt"),
            "strata projection rebuild --all",
        );
    }
    Stop::not_found(
        format!(
            "there is no projection `{}` that can be rebuilt",
            one_line(name)
        ),
        "strata projection list",
    )
}
