//! The code of the shipped handlers, one file per family, as in `domain::handler`.

mod echo;
mod greetings;
mod phases;
mod simple;

use crate::handler::{Registry, RegistryError};

pub use echo::{Echo, FlakyEcho};
pub use greetings::{HelloWorld, HelloWorldGreeting, HelloWorldReply, HelloWorldSummary};
pub use phases::MultiPhase;
pub use simple::{ChunkProcessor, Fail, SizeCheck, Sleep};

/// Adds all of them.
pub(crate) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    registry.register(Echo)?;
    registry.register(FlakyEcho)?;
    registry.register(HelloWorld)?;
    registry.register(HelloWorldGreeting)?;
    registry.register(HelloWorldReply)?;
    registry.register(HelloWorldSummary)?;
    registry.register(Sleep)?;
    registry.register(Fail)?;
    registry.register(MultiPhase)?;
    registry.register(SizeCheck)?;
    registry.register(ChunkProcessor)
}
