//! Handlers that return what they were given, one of them only sometimes.

use std::time::Duration;

use domain::failure::{Failure, FailureClass};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::handler::{Context, Done, Handler, Phase};

/// Returns its parameters.
pub struct Echo;

#[derive(Deserialize)]
pub struct EchoParams {
    steps: u32,
    step_delay: f64,
}

#[derive(Serialize)]
pub struct Echoed {
    echoed_params: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
}

impl Handler for Echo {
    const NAME: &'static str = "echo";
    type Params = EchoParams;
    type Output = Echoed;

    async fn run(&self, ctx: &Context, params: EchoParams) -> Result<Done<Echoed>, Failure> {
        let first = match params.steps {
            1 => 0,
            _ => ctx.load_checkpoint().await.map_or(0, |r| r.next_phase()),
        };
        for step in first..params.steps {
            pause(ctx, params.step_delay).await?;
            // The end of the last step is the end of the task.
            if step + 1 < params.steps {
                ctx.progress(u64::from(step) + 1, u64::from(params.steps), "");
                let phase = Phase {
                    name: format!("step {}", step + 1),
                    index: step,
                    total: params.steps,
                    ..Phase::default()
                };
                ctx.save_checkpoint(phase).await?;
            }
        }
        let echoed_params = ctx.raw_params().clone();
        Ok(Echoed {
            echoed_params,
            attempts: None,
        }
        .into())
    }
}

/// Returns its parameters, or fails.
pub struct FlakyEcho;

#[derive(Deserialize)]
pub struct FlakyParams {
    failure_rate: f64,
    seed: i64,
}

impl Handler for FlakyEcho {
    const NAME: &'static str = "flaky_echo";
    type Params = FlakyParams;
    type Output = Echoed;

    async fn run(&self, ctx: &Context, params: FlakyParams) -> Result<Done<Echoed>, Failure> {
        // With a seed the same attempts fail in every job, else each task has luck of its own.
        let origin = match params.seed {
            0 => ctx.task_id().to_owned(),
            seed => format!("{seed}:{}:{}", ctx.node_id(), ctx.attempt()),
        };
        if share(&origin) < params.failure_rate {
            return Err(Failure {
                detail: Some(json!({"attempt": ctx.attempt()})),
                ..Failure::new(
                    FailureClass::Transient,
                    "flaky",
                    "failed by chance, as asked",
                )
            });
        }
        Ok(Echoed {
            echoed_params: ctx.raw_params().clone(),
            attempts: Some(ctx.attempt()),
        }
        .into())
    }
}

/// Waits for so many seconds, or fails when the run should end.
pub(super) async fn pause(ctx: &Context, seconds: f64) -> Result<(), Failure> {
    let pause = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    if pause.is_zero() {
        return ctx.check();
    }
    ctx.unless_cancelled(tokio::time::sleep(pause)).await
}

/// A number from 0 to below 1 that depends on the text alone.
fn share(origin: &str) -> f64 {
    let digest = domain::json::sha256_hex(origin.as_bytes());
    let number = digest
        .get(..8)
        .and_then(|hex| u32::from_str_radix(hex, 16).ok());
    f64::from(number.unwrap_or(0)) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn luck_is_fixed_and_spread_evenly() {
        assert!((share("7:a:1") - share("7:a:1")).abs() < f64::EPSILON);
        let low = (0..1_000).filter(|n| share(&format!("t{n}")) < 0.3).count();
        assert!((250..350).contains(&low), "{low}");
    }
}
