//! What may be typed after `strata key`.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use crate::args::Format;
use crate::client::args::ClientArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key; it is printed this once, alone on stdout
    #[command(after_help = "\
Examples:
  strata key create --label portal --role reader --expires 90d
  STRATA_DATABASE_URL=postgres://db/strata strata key create --database --label first --role admin --operator

Admins make keys of their own organisation, operators of any.")]
    Create(CreateArgs),
    /// List keys: who may do what, and when they last did; the keys themselves are kept nowhere
    List(ListArgs),
    /// End a key for good; new requests are refused within two seconds, open streams end soon after
    Revoke(RevokeArgs),
    /// Print a link that signs a browser in, once within 15 minutes
    SignIn(SignInArgs),
}

/// Where keys are looked after.
#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
    /// Work on the database itself: `STRATA_DATABASE_URL`, else that of the data directory
    #[arg(long)]
    pub(crate) database: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// What it is for, in a word or two
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: String,
    /// What its holder may do
    #[arg(long, value_enum)]
    pub(crate) role: Role,
    /// Whose rows its holder sees; your own organisation when not given, `default` with --database
    #[arg(long, value_name = "ORG")]
    pub(crate) org: Option<String>,
    /// Its holder may look after the installation itself
    #[arg(long)]
    pub(crate) operator: bool,
    /// When it ends by itself, such as 90d or 12h; never when not given
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    pub(crate) expires: Option<Duration>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Those of all organisations; for operators
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// Its id, as `strata key list` shows it
    #[arg(value_name = "KEY_ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SignInArgs {
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Looks
    Reader,
    /// Submits and steers too
    Writer,
    /// Looks after keys too
    Admin,
}

/// Reads `90d`, `12h`, `30m` or `45s`.
fn lifetime(text: &str) -> Result<Duration, String> {
    let refused = || format!("`{text}` is no lifetime; write 90d, 12h, 30m or 45s");
    let unit_at = text
        .find(|c: char| !c.is_ascii_digit())
        .ok_or_else(refused)?;
    let (number, unit) = text.split_at(unit_at);
    let number: u64 = number.parse().map_err(|_| refused())?;
    let seconds = match unit {
        "d" => 86_400,
        "h" => 3_600,
        "m" => 60,
        "s" => 1,
        _ => return Err(refused()),
    };
    let seconds = number.checked_mul(seconds).filter(|seconds| *seconds > 0);
    seconds.map(Duration::from_secs).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_read_with_their_unit() {
        for (text, seconds) in [
            ("90d", 7_776_000),
            ("12h", 43_200),
            ("30m", 1_800),
            ("45s", 45),
        ] {
            assert_eq!(lifetime(text), Ok(Duration::from_secs(seconds)));
        }
        for bad in [
            "",
            "90",
            "d",
            "0d",
            "-1d",
            "1.5d",
            "1w",
            "99999999999999999999d",
        ] {
            assert!(lifetime(bad).is_err(), "{bad}");
        }
    }
}
