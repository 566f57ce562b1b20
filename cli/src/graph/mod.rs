//! `strata workflow graph`: the picture of a workflow, as text for other tools or as SVG.

mod dot;
mod layout;
mod mermaid;
mod order;
mod picture;
mod place;
mod shape;
mod svg;
#[cfg(test)]
mod tests;

use crate::args::{GraphArgs, GraphFormat};
use crate::exit::{Exit, Stop};
use crate::output::Console;
use crate::source;
use picture::Picture;
pub(crate) use picture::branch as branch_words;

pub(crate) fn run(args: &GraphArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let definition = source::open(&args.file, console)?;
    let picture = Picture::of(&definition);
    let text = match args.format {
        GraphFormat::Mermaid => mermaid::draw(&picture),
        GraphFormat::Dot => dot::draw(&picture),
        GraphFormat::Svg => svg::draw(&picture),
    };
    match &args.out {
        None => console.data(&text)?,
        Some(path) => {
            let place = path.display();
            std::fs::write(path, text)
                .map_err(|error| Stop::failed(format!("cannot write `{place}`: {error}"), ""))?;
            console.talk(&format!("wrote {place}"))?;
        }
    }
    Ok(Exit::Ok)
}
