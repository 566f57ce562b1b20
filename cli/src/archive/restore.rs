//! `strata archive restore`: from the newest archive back to the one that has the position.

use projections::archive;
use serde_json::json;

use super::args::RestoreArgs;
use super::failed;
use super::shelf::{Shelf, archived};
use crate::args::Format;
use crate::exit::{Exit, Stop};
use crate::output::Console;

pub(super) async fn run(args: &RestoreArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let stack = super::open(&args.place).await?;
    let pool = stack.pool(super::CONNECTIONS).await?;
    let _turn = archive::turn(&pool).await.map_err(failed)?;
    let shelf = Shelf::open(&stack, &args.files)?;
    let wanted = archived(&pool).await?.into_iter().rev();
    let wanted: Vec<_> = wanted.take_while(|one| one.last_pos >= args.from).collect();
    if wanted.is_empty() {
        return Err(Stop::not_found(
            format!("position {} is not archived", args.from),
            format!("strata archive list{}", args.place.flag()),
        ));
    }
    let mut ranges = Vec::new();
    for one in &wanted {
        if archive::is_kept(&pool, one).await.map_err(failed)? {
            archive::restore_kept(&pool, one).await.map_err(failed)?;
        } else {
            let (manifest, file) = shelf.fetch_archive(one).await?;
            let restored = archive::restore_from(&pool, one, &manifest, &file).await;
            restored.map_err(failed)?;
        }
        let (first, last) = (one.first_pos, one.last_pos);
        console.talk(&format!("positions {first} to {last} are back"))?;
        ranges.push(json!({"first_pos": first, "last_pos": last}));
    }
    if args.place.output == Format::Json {
        console.data(&serde_json::to_string_pretty(&json!({"restored": ranges}))?)?;
    }
    Ok(Exit::Ok)
}
