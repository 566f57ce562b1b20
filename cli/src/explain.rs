//! `strata explain CODE`: the page of an error code.

use std::fmt::Write as _;

use crate::exit::{Exit, Stop};
use crate::output::Console;
use crate::source::{Code, did_you_mean, error_page};

pub(crate) fn run(code: &str, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    if let Some(page) = error_page(code) {
        console.data(page)?;
        return Ok(Exit::Ok);
    }
    let known = Code::ALL.iter().map(|code| code.as_str());
    let near = did_you_mean(&code.to_uppercase(), known);
    let near = near.map_or_else(String::new, |hint| format!("; {hint}"));
    let mut message = format!("there is no code `{code}`{near}\nknown codes:\n");
    for known in Code::ALL {
        // Writing to a string cannot fail.
        let _ = writeln!(message, "  {}  {}", known.as_str(), known.title());
    }
    let first = Code::ALL.first().map_or("", |code| code.as_str());
    Err(Stop::not_found(
        message.trim_end(),
        format!("strata explain {first}"),
    ))
}
