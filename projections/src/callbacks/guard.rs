//! Where callbacks may go: the guard against being led to our own network (G-65).
//!
//! A url is checked when it is submitted and again when it is called. A name is checked inside the
//! resolver of the client, so the address that was checked is the address that is connected to: a name
//! that changes its mind in between gains nothing. An address in the url itself never meets the resolver
//! and is checked before the call; both read urls with the same parser, which knows all spellings.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use domain::callback::is_forbidden;
use futures_util::future::BoxFuture;
use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Addresses that one name may have; more are not looked at.
const ADDRESSES_MAX: usize = 32;

/// Which addresses may be called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// May be called whatever they are, and without TLS.
    pub allow: Vec<IpNet>,
    /// Public addresses may be called without TLS, so that anybody on the way can read and change what
    /// is sent.
    pub dangerous_http: bool,
}

/// A text is not a list of ranges.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a range of addresses; write CIDR, such as 10.1.2.0/24 or fd00::/8, with commas between"
)]
pub struct InvalidRange(String);

impl Rules {
    /// Reads `CIDR,CIDR,...`; a bare address stands for itself.
    pub fn parse(text: &str) -> Result<Self, InvalidRange> {
        let parts = text.split(',').map(str::trim).filter(|p| !p.is_empty());
        let range = |part: &str| {
            let bare = |_| part.parse::<IpAddr>().map(IpNet::from);
            let parsed = part.parse::<IpNet>().or_else(bare);
            parsed.map_err(|_| InvalidRange(part.chars().take(80).collect()))
        };
        let allow: Result<Vec<IpNet>, InvalidRange> = parts.map(range).collect();
        Ok(Self {
            allow: allow?,
            dangerous_http: false,
        })
    }

    fn lists(&self, address: IpAddr) -> bool {
        let plain = address.to_canonical();
        let mut ranges = self.allow.iter();
        ranges.any(|range| range.contains(&address) || range.contains(&plain))
    }

    /// Whether an address may be called.
    fn admits(&self, address: IpAddr, with_tls: bool) -> bool {
        self.lists(address) || !is_forbidden(address) && (with_tls || self.dangerous_http)
    }
}

/// Why a url is not called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlRefusal {
    #[error("the callback url cannot be read; write https://host/path")]
    Unreadable,
    #[error("a callback url begins with https://, and this one with {0}")]
    Scheme(String),
    #[error("a callback url has no user name and no password; use a signing secret")]
    Credentials,
    #[error(
        "{0} is not a public address; whoever runs Strata may allow it with STRATA_CALLBACK_ALLOW"
    )]
    Address(IpAddr),
    #[error(
        "`{0}` names the machine itself; whoever runs Strata may allow it with STRATA_CALLBACK_ALLOW"
    )]
    Local(String),
    #[error(
        "a callback url begins with https://; without TLS only addresses that STRATA_CALLBACK_ALLOW lists are called"
    )]
    PlainHttp,
}

impl UrlRefusal {
    /// A stable name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable => "callback_url_unreadable",
            Self::Scheme(_) => "callback_url_scheme",
            Self::Credentials => "callback_url_credentials",
            Self::Address(_) => "callback_address_forbidden",
            Self::Local(_) => "callback_host_forbidden",
            Self::PlainHttp => "callback_without_tls",
        }
    }
}

/// Whether a url may be called, as far as it can be told without asking for the addresses of its name.
pub fn check_url(text: &str, rules: &Rules) -> Result<(), UrlRefusal> {
    checked(text, rules).map(|_| ())
}

pub(super) fn checked(text: &str, rules: &Rules) -> Result<Url, UrlRefusal> {
    let url = Url::parse(text).map_err(|_| UrlRefusal::Unreadable)?;
    let with_tls = match url.scheme() {
        "https" => true,
        "http" => false,
        other => return Err(UrlRefusal::Scheme(other.chars().take(20).collect())),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlRefusal::Credentials);
    }
    let address = match url.host() {
        None => return Err(UrlRefusal::Unreadable),
        Some(Host::Ipv4(v4)) => IpAddr::V4(v4),
        Some(Host::Ipv6(v6)) => IpAddr::V6(v6),
        Some(Host::Domain(name)) => {
            check_name(name, with_tls, rules)?;
            return Ok(url);
        }
    };
    if !rules.lists(address) {
        if is_forbidden(address) {
            return Err(UrlRefusal::Address(address));
        }
        if !rules.admits(address, with_tls) {
            return Err(UrlRefusal::PlainHttp);
        }
    }
    Ok(url)
}

fn check_name(name: &str, with_tls: bool, rules: &Rules) -> Result<(), UrlRefusal> {
    let bare = name.trim_end_matches('.');
    let is_local = bare == "localhost" || bare.ends_with(".localhost");
    let loopback: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    if is_local && !loopback.into_iter().any(|address| rules.lists(address)) {
        return Err(UrlRefusal::Local(name.chars().take(80).collect()));
    }
    if !with_tls && !rules.dangerous_http && rules.allow.is_empty() {
        return Err(UrlRefusal::PlainHttp);
    }
    Ok(())
}

/// Asks for the addresses of a name.
pub(super) trait Lookup: Send + Sync + 'static {
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the machine.
pub(super) struct System;

impl Lookup for System {
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Why a name leads nowhere.
#[derive(Debug)]
pub(super) enum Unresolved {
    Failed(io::Error),
    /// It has addresses, and none that may be called.
    Forbidden,
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => write!(f, "the name cannot be resolved: {error}"),
            Self::Forbidden => f.write_str("the name leads to no address that may be called"),
        }
    }
}

impl std::error::Error for Unresolved {}

/// The resolver of the client: it gives out only addresses that may be called.
pub(super) struct Guarded {
    pub(super) rules: Arc<Rules>,
    pub(super) with_tls: bool,
    pub(super) lookup: Arc<dyn Lookup>,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let (rules, with_tls) = (Arc::clone(&self.rules), self.with_tls);
        let found = self.lookup.lookup(name.as_str().to_owned());
        Box::pin(async move {
            let found = found.await.map_err(Unresolved::Failed)?;
            let admitted: Vec<SocketAddr> = found
                .into_iter()
                .take(ADDRESSES_MAX)
                .filter(|address| rules.admits(*address, with_tls))
                .map(|address| SocketAddr::new(address, 0))
                .collect();
            if admitted.is_empty() {
                return Err(Unresolved::Forbidden.into());
            }
            let admitted: Addrs = Box::new(admitted.into_iter());
            Ok(admitted)
        })
    }
}
