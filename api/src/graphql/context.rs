//! What every resolver needs: who asks, what to ask with, and waiting for what was just written.

use std::time::Duration;

use async_graphql::{Context, InputValueError, InputValueResult, Scalar, ScalarType, Value};
use projections::read;

use crate::app::Core;
use crate::error::Fault;
use crate::viewer::Viewer;

/// How long a query waits for the read models to come to `waitFor`.
const PATIENCE: Duration = Duration::from_secs(5);

/// A position in the log. Mutations return it; queries take it as `waitFor` and answer not before the
/// read models show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position(pub(crate) i64);

#[Scalar]
impl ScalarType for Position {
    fn parse(value: Value) -> InputValueResult<Self> {
        let number = match &value {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        match number {
            Some(number) if number >= 0 => Ok(Self(number)),
            _ => Err(InputValueError::custom(
                "a position is a whole number from 0 on",
            )),
        }
    }

    fn to_value(&self) -> Value {
        self.0.into()
    }
}

impl From<u64> for Position {
    fn from(pos: u64) -> Self {
        Self(i64::try_from(pos).unwrap_or(i64::MAX))
    }
}

pub(super) fn core<'a>(ctx: &Context<'a>) -> Result<&'a Core, Fault> {
    ctx.data::<Core>()
        .map_err(|_| Fault::internal(&"no core in the context"))
}

pub(super) fn viewer<'a>(ctx: &Context<'a>) -> Result<&'a Viewer, Fault> {
    ctx.data::<Viewer>().map_err(|_| Fault::unauthenticated())
}

/// Core and viewer, after the read models have come to the position.
pub(super) async fn ready<'a>(
    ctx: &Context<'a>,
    wait_for: Option<Position>,
) -> Result<(&'a Core, &'a Viewer), Fault> {
    let (core, viewer) = (core(ctx)?, viewer(ctx)?);
    if let Some(Position(pos)) = wait_for {
        if pos > read::head(&core.pool).await? {
            return Err(Fault::invalid(
                "POSITION_AHEAD",
                format!("the log has not come to position {pos}"),
                "wait for a position that a change has returned",
            ));
        }
        read::wait_for(&core.pool, pos, PATIENCE).await?;
    }
    Ok((core, viewer))
}
