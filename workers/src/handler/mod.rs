//! Handlers: the code that does the work, and what it is given to do it.
//!
//! A handler gets its parameters typed and a [`Context`]; it gives back an output or a
//! [`Failure`]. It knows nothing of queues, owners and reports. What it takes and returns is declared in
//! [`domain::handler`]; a handler without a declaration cannot be registered.

mod cancel;
mod context;
mod log;
mod params;
mod registry;
mod resume;
mod scratch;

use std::future::Future;

use domain::failure::{Failure, FailureClass};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use cancel::{Cancel, CancelReason};
pub use context::Context;
pub(crate) use context::Parts;
pub use log::{AttemptLog, Level};
pub(crate) use params::prepare;
pub(crate) use registry::Entry;
pub use registry::{Registry, RegistryError};
pub use resume::{Phase, Resume};
pub(crate) use scratch::Scratch;

/// Work that mostly waits: for the network, for time, for others.
pub trait Handler: Send + Sync + 'static {
    /// The name under which it is declared.
    const NAME: &'static str;
    type Params: DeserializeOwned + Send + 'static;
    type Output: Serialize + Send + 'static;

    /// Does the work. It may be dropped at any await after its cancel token fired.
    fn run(
        &self,
        ctx: &Context,
        params: Self::Params,
    ) -> impl Future<Output = Result<Done<Self::Output>, Failure>> + Send;
}

/// Work that computes, or calls libraries that block; it gets a thread of its own.
///
/// It should look at [`Context::check`] now and then: nothing else can end it early.
pub trait BlockingHandler: Send + Sync + 'static {
    /// The name under which it is declared.
    const NAME: &'static str;
    type Params: DeserializeOwned + Send + 'static;
    type Output: Serialize + Send + 'static;

    /// Does the work.
    fn run(&self, ctx: &Context, params: Self::Params) -> Result<Done<Self::Output>, Failure>;
}

/// What a handler gives back: its output, and numbers about the work.
#[derive(Debug, Clone, PartialEq)]
pub struct Done<T> {
    pub output: T,
    pub metrics: Map<String, Value>,
}

impl<T> Done<T> {
    /// The same with one more number about the work.
    #[must_use]
    pub fn metric(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.metrics.insert(name.to_owned(), value.into());
        self
    }
}

impl<T> From<T> for Done<T> {
    fn from(output: T) -> Self {
        Self {
            output,
            metrics: Map::new(),
        }
    }
}

/// The result of any handler: an object and metrics.
pub(crate) type Finished = Done<Map<String, Value>>;

/// A handler with its types taken away.
pub(crate) enum Body {
    Waiting(Box<dyn WaitingBody>),
    Blocking(Box<dyn BlockingBody>),
}

pub(crate) trait WaitingBody: Send + Sync {
    fn call<'a>(
        &'a self,
        ctx: &'a Context,
        params: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Finished, Failure>>;
}

pub(crate) trait BlockingBody: Send + Sync {
    fn call(&self, ctx: &Context, params: Map<String, Value>) -> Result<Finished, Failure>;
}

impl<H: Handler> WaitingBody for H {
    fn call<'a>(
        &'a self,
        ctx: &'a Context,
        params: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Finished, Failure>> {
        Box::pin(async move { untyped(self.run(ctx, typed(params)?).await?) })
    }
}

/// Tells the blocking handlers from the others, which one blanket `impl` could not.
pub(crate) struct Blocks<H>(pub(crate) H);

impl<H: BlockingHandler> BlockingBody for Blocks<H> {
    fn call(&self, ctx: &Context, params: Map<String, Value>) -> Result<Finished, Failure> {
        untyped(self.0.run(ctx, typed(params)?)?)
    }
}

fn typed<P: DeserializeOwned>(params: Map<String, Value>) -> Result<P, Failure> {
    serde_json::from_value(Value::Object(params)).map_err(|error| {
        let message = format!("the parameters do not fit: {error}");
        Failure::new(FailureClass::Contract, "params_invalid", &message)
    })
}

fn untyped<T: Serialize>(done: Done<T>) -> Result<Finished, Failure> {
    match serde_json::to_value(done.output) {
        Ok(Value::Object(output)) => Ok(Finished {
            output,
            metrics: done.metrics,
        }),
        Ok(_) => Err(Failure::new(
            FailureClass::Contract,
            "output_not_an_object",
            "a handler must return an object",
        )),
        Err(error) => Err(Failure::new(
            FailureClass::Contract,
            "output_not_json",
            &format!("the output cannot be written as JSON: {error}"),
        )),
    }
}
