//! `strata job`: submit work, look at it, and steer it.

pub(crate) mod args;
pub(crate) mod at;
mod bulk;
mod control;
pub(crate) mod diff;
mod filter;
mod find;
mod fork;
mod history;
mod inputs;
mod list;
mod live;
mod logs;
mod model;
mod plan;
mod show;
mod snapshot;
pub(crate) mod submit;
pub(crate) mod watch;
mod why;

use args::JobCommand;
pub(crate) use list::PageInfo;

use crate::exit::Exit;
use crate::output::Console;
use crate::runtime;

pub(crate) fn run(command: &JobCommand, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    runtime::block_on(|stop| async move {
        match command {
            JobCommand::Submit(args) => submit::run(args, console, &stop).await,
            JobCommand::List(args) => list::run(args, console).await,
            JobCommand::Show(args) => show::run(args, console).await,
            JobCommand::Watch(args) => watch::run(args, console, &stop).await,
            JobCommand::Result(args) => history::result(args, console).await,
            JobCommand::Events(args) => history::events(args, console).await,
            JobCommand::Logs(args) => logs::run(args, console).await,
            JobCommand::Why(args) => why::run(args, console).await,
            JobCommand::Cancel(args) => control::cancel(args, console).await,
            JobCommand::Retry(args) => control::retry(args, console).await,
            JobCommand::Fork(args) => fork::run(args, console, &stop).await,
            JobCommand::Pause(args) => control::pause(args, console).await,
            JobCommand::Resume(args) => control::resume(args, console).await,
            JobCommand::Release(args) => control::release(args, console).await,
        }
    })
}
