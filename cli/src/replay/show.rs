//! One replay, for people and for programs.

use std::path::Path;

use domain::definition::WorkflowRef;
use domain::job::replay::{Divergence, Verdict};
use serde_json::{Value, json};

use crate::args::Format;
use crate::exit::Exit;
use crate::output::{Console, Paint, cut, lines_of, one_line};

/// Longest value in a table.
const VALUE_CHARS_MAX: usize = 72;
/// Fields that a table names.
const ROWS_MAX: usize = 20;

/// A job that was replayed.
pub(super) struct One<'a> {
    pub(super) job_id: String,
    pub(super) workflow: Option<WorkflowRef>,
    pub(super) with: Option<&'a Path>,
    pub(super) verdict: Verdict,
}

impl One<'_> {
    pub(super) fn show(&self, output: Format, console: &mut Console<'_>) -> anyhow::Result<Exit> {
        match output {
            Format::Json => console.data(&serde_json::to_string_pretty(&self.json())?)?,
            Format::Table => self.table(console)?,
        }
        Ok(match self.verdict.is_confirmed() {
            true => Exit::Ok,
            false => Exit::NotVerified,
        })
    }

    fn json(&self) -> Value {
        json!({
            "job_id": self.job_id,
            "workflow": self.workflow,
            "with": self.with.map(|file| file.display().to_string()),
            "confirmed": self.verdict.is_confirmed(),
            "events": self.verdict.events,
            "decisions": self.verdict.decisions,
            "divergence": self.verdict.divergence,
        })
    }

    fn table(&self, console: &mut Console<'_>) -> anyhow::Result<()> {
        let job = &self.job_id;
        let workflow = self.workflow.as_ref();
        let workflow = workflow.map_or_else(String::new, |w| {
            format!(", workflow {} version {}", one_line(&w.id), w.version)
        });
        let with = self.with.map_or_else(String::new, |file| {
            format!(" under {}", one_line(&file.display().to_string()))
        });
        let Verdict {
            events, decisions, ..
        } = self.verdict;
        let matched = format!("{events} events of {decisions} decisions");
        let Some(divergence) = &self.verdict.divergence else {
            let word = console.look.paint(Paint::Good, "confirmed");
            console.data(&format!("{word}: {job}{workflow}{with}: {matched}"))?;
            return Ok(());
        };
        let word = console.look.paint(Paint::Bad, "diverged");
        console.data(&format!(
            "{word}: {job}{workflow}{with}, after {matched} that are the same\n{}",
            text(divergence)
        ))?;
        if !divergence.differences.is_empty() {
            let mut table = console.look.table(&["FIELD", "RECORDED", "TODAY"]);
            for found in divergence.differences.iter().take(ROWS_MAX) {
                table.add_row([
                    one_line(&found.pointer),
                    shown(found.recorded.as_ref()),
                    shown(found.replayed.as_ref()),
                ]);
            }
            console.data(&lines_of(&table))?;
        }
        Ok(())
    }
}

/// Where it is, what was decided, and what is there instead.
fn text(divergence: &Divergence) -> String {
    let name = |event: &Option<Value>| {
        let event = event.as_ref()?;
        event["type"].as_str().map(|name| format!("`{name}`"))
    };
    let place = match divergence.pos {
        Some(pos) => format!("version {}, position {pos}", divergence.version),
        None => format!("version {}, after the last one", divergence.version),
    };
    let nothing = || "nothing".to_owned();
    let mut text = format!(
        "at:        {place}\ndecision:  {}\nrecorded:  {}\ntoday:     {}",
        one_line(&divergence.command),
        name(&divergence.recorded).unwrap_or_else(nothing),
        name(&divergence.replayed).unwrap_or_else(nothing),
    );
    if let Some(reason) = &divergence.reason {
        text.push_str(&format!("\nbecause:   {}", one_line(reason)));
    }
    text
}

/// A value in one line.
pub(super) fn shown(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "-".to_owned(), Value::to_string);
    cut(&one_line(&text), VALUE_CHARS_MAX)
}
