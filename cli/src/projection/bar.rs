//! How far a rebuild is: a bar with rate and time left on a terminal, now and then a line elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use projections::rebuild::{Phase, Progress};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::output::Look;

/// How often the bar is drawn,
const DRAW_EVERY: Duration = Duration::from_millis(100);
/// and how often a line is written where nothing can be drawn.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// Cells of the bar.
const CELLS: usize = 24;

pub(super) struct Bar {
    seen: watch::Receiver<Progress>,
    drawn: Option<ProgressBar>,
    phase: Option<Phase>,
    phase_began: Instant,
    /// Where the phase began: a rebuild that is gone on with has done some already.
    phase_from: i64,
    said: Instant,
}

impl Bar {
    pub(super) fn new(look: Look, seen: watch::Receiver<Progress>) -> Self {
        Self {
            seen,
            drawn: look.live.then(line),
            phase: None,
            phase_began: Instant::now(),
            phase_from: 0,
            said: Instant::now(),
        }
    }

    /// Waits for the next moment to say something; a line, where it cannot be drawn.
    pub(super) async fn next(&mut self) -> Option<String> {
        tokio::time::sleep(DRAW_EVERY).await;
        let now = *self.seen.borrow_and_update();
        let is_new = self.phase.replace(now.phase) != Some(now.phase);
        if is_new {
            (self.phase_began, self.phase_from) = (Instant::now(), now.done);
        }
        let text = text(now, self.phase_from, self.phase_began.elapsed());
        if let Some(bar) = &self.drawn {
            bar.set_message(text);
            return None;
        }
        if !is_new && self.said.elapsed() < LINE_EVERY {
            return None;
        }
        self.said = Instant::now();
        Some(text)
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.drawn {
            bar.finish_and_clear();
        }
    }
}

fn text(now: Progress, from: i64, elapsed: Duration) -> String {
    let what = match now.phase {
        Phase::Fill => "fills from the log",
        Phase::Index => return "makes indexes".to_owned(),
        Phase::Rest => "projects what was set aside",
        Phase::Follow => return format!("follows the log, at {} of {}", now.done, now.all),
        Phase::Compare => "compares tables",
    };
    let all = now.all.max(1);
    let cells = i64::try_from(CELLS).unwrap_or(0);
    let filled = usize::try_from(now.done.clamp(0, all) * cells / all).unwrap_or(0);
    let bar = format!(
        "{}{}",
        "█".repeat(filled),
        "░".repeat(CELLS.saturating_sub(filled))
    );
    let seconds = elapsed.as_secs_f64();
    let rate = (now.done - from) as f64 / seconds.max(0.001);
    let mut text = format!("{what}  {bar}  {} of {}", now.done, now.all);
    if now.done > from {
        let left = (now.all - now.done) as f64 / rate;
        text.push_str(&format!("  {rate:.0}/s  {left:.0} s left"));
    }
    text
}

/// A line whose text is all there is to it.
fn line() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_time_left_are_those_of_the_phase() {
        let now = |phase, done| Progress {
            phase,
            done,
            all: 400,
        };
        let two = Duration::from_secs(2);
        let half = text(now(Phase::Fill, 200), 100, two);
        assert!(half.ends_with("200 of 400  50/s  4 s left"), "{half}");
        assert_eq!(half.matches('█').count(), 12, "{half}");
        let new = text(now(Phase::Rest, 0), 0, Duration::ZERO);
        assert!(new.ends_with("0 of 400"), "{new}");
    }
}
