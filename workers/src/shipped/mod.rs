//! The code of the shipped handlers, one file per family, as in `domain::handler`.

mod artifact;
mod echo;
mod greetings;
mod h3;
mod phases;
mod raster;
mod simple;
mod stac;
mod tiles;
mod tools;
mod vector;

use std::sync::Arc;

use crate::handler::{Registry, RegistryError};

pub use echo::{Echo, FlakyEcho};
pub use greetings::{HelloWorld, HelloWorldGreeting, HelloWorldReply, HelloWorldSummary};
pub use phases::MultiPhase;
pub use simple::{ChunkProcessor, Fail, SizeCheck, Sleep};
pub use tools::{CatalogAccess, Tools};

/// Adds all of them.
pub(crate) fn register(registry: &mut Registry, tools: Tools) -> Result<(), RegistryError> {
    register_examples(registry)?;
    let tools = Arc::new(tools);
    let tools = || Arc::clone(&tools);
    registry.register(artifact::VerifyArtifacts(tools()))?;
    registry.register(raster::RasterValidate(tools()))?;
    registry.register(raster::RasterCreateCog(tools()))?;
    registry.register(raster::BlobToMount(tools()))?;
    registry.register(tiles::GenerateTilingScheme(tools()))?;
    registry.register(tiles::ProcessTileBatch(tools()))?;
    registry.register(stac::EnsureCollection(tools()))?;
    registry.register(stac::RegisterItem(tools()))?;
    registry.register(stac::RegisterItems(tools()))?;
    registry.register(vector::VectorValidate(tools()))?;
    registry.register(vector::VectorLoad(tools()))?;
    registry.register(vector::RegisterVector(tools()))?;
    registry.register(h3::BaseGenerate(tools()))?;
    registry.register(h3::Cascade(tools()))
}

/// Adds those that need no tools.
pub(crate) fn register_examples(registry: &mut Registry) -> Result<(), RegistryError> {
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
