//! Callbacks in a process: which addresses may be called, and how outcomes come into the log.

use std::sync::Arc;

use bus::Bus;
use clap::Args;
use commands::write::Writer;
use domain::callback::Settlement;
use futures_util::future::BoxFuture;
use projections::callbacks::guard::Rules;
use projections::callbacks::{self, Ledger, Options};
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

use super::stack::fresh_owner;

/// How callbacks are sent.
#[derive(Debug, Clone, Args)]
pub(crate) struct CallbackArgs {
    /// Where the API is reached from outside; callbacks name results below it [default: where it listens]
    #[arg(long, value_name = "URL", env = "STRATA_PUBLIC_URL", value_parser = public_url)]
    pub(crate) public_url: Option<String>,
    /// Addresses that callbacks may call though they are not public, as CIDR,CIDR,...
    #[arg(
        long,
        value_name = "CIDR,...",
        env = "STRATA_CALLBACK_ALLOW",
        default_value = "",
        hide_default_value = true,
        value_parser = rules
    )]
    callback_allow: Rules,
    /// Call public addresses without TLS too: anybody on the way can read what is sent
    #[arg(long, hide_short_help = true)]
    dangerous_callback_http: bool,
}

/// Where the API listens unless it is told otherwise.
const USUAL_URL: &str = "http://127.0.0.1:8080";

impl CallbackArgs {
    /// What results are named below, in a process that does not serve the API itself.
    pub(crate) fn base_url(&self) -> String {
        self.public_url.clone().unwrap_or_else(|| {
            tracing::warn!("no --public-url: callbacks name results below {USUAL_URL}");
            USUAL_URL.to_owned()
        })
    }

    /// Which addresses may be called.
    pub(crate) fn rules(&self) -> Rules {
        Rules {
            dangerous_http: self.dangerous_callback_http,
            ..self.callback_allow.clone()
        }
    }
}

/// Follows the log and sends until it is told to stop.
pub(super) async fn work(
    args: CallbackArgs,
    base_url: String,
    pool: PgPool,
    writer: Writer,
    bus: Bus,
    stop: CancellationToken,
) {
    let ledger = Arc::new(ToLog(writer));
    let options = Options {
        rules: args.rules(),
        ..Options::new(pool, bus, fresh_owner().0, ledger, base_url)
    };
    callbacks::run(options, stop).await;
}

/// What senders find out goes to the log.
struct ToLog(Writer);

impl Ledger for ToLog {
    fn settle(&self, settled: Vec<Settlement>) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let recorded = self.0.record_callbacks(settled).await;
            recorded.map_err(|error| error.to_string())
        })
    }
}

fn rules(text: &str) -> Result<Rules, String> {
    Rules::parse(text).map_err(|error| error.to_string())
}

/// An address of the web, without the slash at its end.
fn public_url(text: &str) -> Result<String, String> {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    match rest {
        Some(rest) if !rest.is_empty() && !rest.contains(['@', '?', '#', ' ']) => {
            Ok(text.trim_end_matches('/').to_owned())
        }
        _ => Err("write http://host:port or https://host, and perhaps a path".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_url_is_an_address_without_anything_that_callbacks_should_not_show() {
        assert_eq!(
            public_url("https://s.example/x/").as_deref(),
            Ok("https://s.example/x")
        );
        for bad in [
            "",
            "s.example",
            "ftp://s.example",
            "https://",
            "https://a:b@s.example",
            "https://s/?x",
        ] {
            assert!(public_url(bad).is_err(), "{bad}");
        }
    }
}
