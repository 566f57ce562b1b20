//! Where to call when a job has ended: everything about callbacks that a caller may wish for.
//!
//! REST and GraphQL bring their wishes here. An address that is hostile by itself is refused at once; names
//! are checked again when they are called. Secrets are kept beside the log, which only gets their names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use commands::secrets::{SecretError, Secrets, is_secret};
use domain::callback::is_forbidden;
use domain::request::{
    CALLBACK_RETRIES_MAX, CALLBACK_SECONDS_MAX, CALLBACKS_MAX, CallbackRef, URL_BYTES_MAX,
};
use ipnet::IpNet;
use serde_json::Value;
use url::{Host, Url};

use super::fields::{Fields, problem};
use crate::app::App;
use crate::error::{Fault, Problem};

/// One callback that somebody wishes for. It has no `Debug`: the secret must show nowhere.
#[derive(Clone)]
pub(crate) struct CallbackWish {
    /// What stands before `url`, `secret` and so on in the names of the caller's fields.
    pub(crate) place: String,
    pub(crate) url: String,
    pub(crate) secret: Option<String>,
    pub(crate) retry_count: Option<u32>,
    pub(crate) timeout_seconds: Option<u32>,
}

/// The callbacks as a request keeps them, or everything that is wrong with them. Secrets are stored only
/// with `keep`; without it the answer is good for looking at, not for submitting.
pub(crate) async fn callbacks_of(
    app: &App,
    org: &str,
    wishes: &[CallbackWish],
    keep: bool,
) -> Result<Vec<CallbackRef>, Fault> {
    let core = app.core();
    let problems = problems_of(wishes, &core.options.callback_allow);
    if !problems.is_empty() {
        let remedy = "mend the callbacks that are named";
        let fault = Fault::invalid("INVALID_CALLBACKS", "callbacks cannot be called like this", remedy);
        return Err(fault.with(problems));
    }
    let secrets = Secrets::new(core.pool.clone());
    let mut callbacks = Vec::with_capacity(wishes.len());
    for wish in wishes {
        let secret_ref = match &wish.secret {
            Some(secret) if keep => Some(kept(&secrets, org, secret).await?),
            Some(_) | None => None,
        };
        callbacks.push(CallbackRef {
            url: wish.url.clone(),
            secret_ref,
            retry_count: wish.retry_count,
            timeout_seconds: wish.timeout_seconds,
        });
    }
    Ok(callbacks)
}

async fn kept(secrets: &Secrets, org: &str, secret: &str) -> Result<String, Fault> {
    secrets.keep_given(org, secret).await.map_err(|error| match error {
        SecretError::Log(error) => error.into(),
        _ => Fault::invalid("INVALID_SECRET", error.to_string(), "give another secret"),
    })
}

/// Everything that is wrong with these wishes, before anything is stored or called.
pub(crate) fn problems_of(wishes: &[CallbackWish], allow: &[IpNet]) -> Vec<Problem> {
    let mut problems = Vec::new();
    if wishes.len() > CALLBACKS_MAX {
        let message = format!("a request has at most {CALLBACKS_MAX} callbacks");
        problems.push(problem("callbacks", "TOO_MANY", message));
    }
    for wish in wishes.iter().take(CALLBACKS_MAX) {
        let mut wrong = |part: &str, code: &str, message: String| {
            problems.push(problem(format!("{}{part}", wish.place), code, message));
        };
        if let Err((code, message)) = check_url(&wish.url, allow) {
            wrong("url", code, message);
        }
        if wish.secret.as_deref().is_some_and(|secret| !is_secret(secret)) {
            wrong("secret", "INVALID_SECRET", SecretError::Form.to_string());
        }
        if wish.retry_count.is_some_and(|count| count > CALLBACK_RETRIES_MAX) {
            let message = format!("at most {CALLBACK_RETRIES_MAX} retries are made");
            wrong("retry_count", "OUT_OF_RANGE", message);
        }
        let range = 1..=CALLBACK_SECONDS_MAX;
        if wish.timeout_seconds.is_some_and(|seconds| !range.contains(&seconds)) {
            let message = format!("a try takes from 1 to {CALLBACK_SECONDS_MAX} seconds");
            wrong("timeout_seconds", "OUT_OF_RANGE", message);
        }
    }
    problems
}

/// Whether a url may be called, as far as it can be told without asking for the addresses of its name.
fn check_url(text: &str, allow: &[IpNet]) -> Result<(), (&'static str, String)> {
    let refused = |code, message: &str| Err((code, message.to_owned()));
    let plain = text.len() <= URL_BYTES_MAX && !text.contains(|c: char| c.is_control() || c.is_whitespace());
    let Some(url) = Url::parse(text).ok().filter(|_| plain) else {
        return refused("CALLBACK_URL_UNREADABLE", "write https://host/path");
    };
    if !url.username().is_empty() || url.password().is_some() {
        return refused("CALLBACK_URL_CREDENTIALS", "a callback has no user name and no password");
    }
    let is_allowed = |address: IpAddr| {
        let canonical = address.to_canonical();
        allow.iter().any(|range| range.contains(&address) || range.contains(&canonical))
    };
    let loopback: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let (is_listed, is_hostile) = match url.host() {
        None => return refused("CALLBACK_URL_UNREADABLE", "write https://host/path"),
        Some(Host::Ipv4(v4)) => (is_allowed(v4.into()), is_forbidden(v4.into())),
        Some(Host::Ipv6(v6)) => (is_allowed(v6.into()), is_forbidden(v6.into())),
        Some(Host::Domain(name)) => {
            let bare = name.trim_end_matches('.');
            let is_local = bare == "localhost" || bare.ends_with(".localhost");
            // Which addresses a name has is looked up when it is called, and checked then.
            let is_listed = if is_local { loopback.into_iter().any(is_allowed) } else { !allow.is_empty() };
            (is_listed, is_local)
        }
    };
    match url.scheme() {
        _ if is_hostile && !is_listed => refused(
            "CALLBACK_ADDRESS_FORBIDDEN",
            "this is no public address; whoever runs Strata may allow it with STRATA_CALLBACK_ALLOW",
        ),
        "https" => Ok(()),
        "http" if is_listed => Ok(()),
        "http" => refused(
            "CALLBACK_WITHOUT_TLS",
            "a callback begins with https://; without TLS only what STRATA_CALLBACK_ALLOW lists is called",
        ),
        _ => refused("CALLBACK_URL_SCHEME", "a callback begins with https://"),
    }
}

/// The callbacks of a body: `callback_url`, or `webhook_url` with its companions, or a list of `callbacks`; all
/// of them if all are given (C-26, G-63).
pub(crate) fn wishes_of(fields: &mut Fields) -> Vec<CallbackWish> {
    let mut wishes = Vec::new();
    if let Some(url) = fields.text("callback_url", URL_BYTES_MAX) {
        wishes.push(wish("callback_", url));
    }
    let has_webhook = fields.has("webhook_url");
    let url = fields.text("webhook_url", URL_BYTES_MAX);
    let mut companion = |name: &'static str| {
        if fields.has(name) && !has_webhook {
            fields.problem(name, "INVALID", format!("`{name}` belongs to `webhook_url`, which is not given"));
        }
    };
    ["webhook_secret", "webhook_retry_count", "webhook_timeout_seconds"].map(&mut companion);
    let secret = fields.text("webhook_secret", 256);
    let retry_count = fields.number("webhook_retry_count", 0..=CALLBACK_RETRIES_MAX);
    let timeout_seconds = fields.number("webhook_timeout_seconds", 1..=CALLBACK_SECONDS_MAX);
    if let Some(url) = url {
        wishes.push(CallbackWish {
            secret,
            retry_count,
            timeout_seconds,
            ..wish("webhook_", url)
        });
    }
    match fields.take("callbacks") {
        None => {}
        Some(Value::Array(items)) if items.len() <= CALLBACKS_MAX => {
            for (index, item) in items.into_iter().enumerate() {
                wishes.extend(listed(fields, index, item));
            }
        }
        Some(_) => {
            let message = format!("`callbacks` must be a list of at most {CALLBACKS_MAX} objects");
            fields.problem("callbacks", "WRONG_TYPE", message);
        }
    }
    wishes
}

fn listed(fields: &mut Fields, index: usize, item: Value) -> Option<CallbackWish> {
    let place = format!("callbacks[{index}]");
    let Value::Object(map) = item else {
        fields.problem(&place, "WRONG_TYPE", format!("`{place}` must be an object"));
        return None;
    };
    let place = format!("{place}.");
    let mut inner = Fields::within(place.clone(), map);
    let url = inner.required_text("url", URL_BYTES_MAX);
    let secret = inner.text("secret", 256);
    let retry_count = inner.number("retry_count", 0..=CALLBACK_RETRIES_MAX);
    let timeout_seconds = inner.number("timeout_seconds", 1..=CALLBACK_SECONDS_MAX);
    fields.extend(inner.finish());
    Some(CallbackWish {
        place,
        url: url?,
        secret,
        retry_count,
        timeout_seconds,
    })
}

fn wish(place: &str, url: String) -> CallbackWish {
    CallbackWish {
        place: place.to_owned(),
        url,
        secret: None,
        retry_count: None,
        timeout_seconds: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: Value) -> (Vec<CallbackWish>, Vec<Problem>) {
        let mut fields = Fields::new(body.as_object().cloned().unwrap());
        let wishes = wishes_of(&mut fields);
        (wishes, fields.finish())
    }

    #[test]
    fn the_three_notations_may_be_mixed() {
        let (wishes, problems) = read(json!({
            "callback_url": "https://a.example/1",
            "webhook_url": "https://a.example/2", "webhook_secret": "sixteen bytes ok", "webhook_retry_count": 3,
            "callbacks": [{"url": "https://a.example/3", "timeout_seconds": 9}],
        }));
        assert_eq!(problems, vec![]);
        let urls: Vec<&str> = wishes.iter().map(|wish| &*wish.url).collect();
        assert_eq!(urls, ["https://a.example/1", "https://a.example/2", "https://a.example/3"]);
        assert_eq!(wishes[1].retry_count, Some(3));
        assert_eq!(wishes[2].timeout_seconds, Some(9));
        assert_eq!(problems_of(&wishes, &[]), vec![]);
    }

    #[test]
    fn problems_carry_the_names_of_the_callers_fields() {
        let (_, problems) = read(json!({
            "webhook_secret": "x", "callbacks": [5, {"uri": "x"}, {"url": "https://a.example", "retry_count": 99}],
        }));
        let of: Vec<(&str, &str)> = problems.iter().map(|p| (&*p.field, &*p.code)).collect();
        let expected = [
            ("webhook_secret", "INVALID"),
            ("callbacks[0]", "WRONG_TYPE"),
            ("callbacks[1].url", "MISSING"),
            ("callbacks[1].uri", "UNKNOWN_FIELD"),
            ("callbacks[2].retry_count", "WRONG_TYPE"),
        ];
        assert_eq!(of, expected);
        let (wishes, _) = read(json!({"callback_url": "http://10.0.0.1/"}));
        assert_eq!(problems_of(&wishes, &[])[0].field, "callback_url");
    }

    #[test]
    fn literal_hostile_addresses_are_refused_and_may_be_allowed() {
        for hostile in [
            "https://127.0.0.1/x", "https://2130706433/", "https://0x7f000001/", "https://0177.0.0.1/",
            "https://[::1]/", "https://[::ffff:10.0.0.1]/", "https://169.254.169.254/", "https://[64:ff9b::a00:1]/",
            "https://localhost/", "https://a.localhost./", "https://10.1.2.3:8443/", "https://[fd00::1]/",
        ] {
            let (code, _) = check_url(hostile, &[]).unwrap_err();
            assert_eq!(code, "CALLBACK_ADDRESS_FORBIDDEN", "{hostile}");
        }
        for (text, code) in [
            ("http://partner.example/", "CALLBACK_WITHOUT_TLS"),
            ("ftp://partner.example/", "CALLBACK_URL_SCHEME"),
            ("https://user:pw@partner.example/", "CALLBACK_URL_CREDENTIALS"),
            ("not a url", "CALLBACK_URL_UNREADABLE"),
            ("https://partner.example/a b", "CALLBACK_URL_UNREADABLE"),
        ] {
            assert_eq!(check_url(text, &[]).map_err(|(code, _)| code), Err(code), "{text}");
        }
        let allow = ["127.0.0.0/8".parse().unwrap()];
        for good in ["http://127.0.0.1:9/", "https://localhost/", "https://partner.example/"] {
            assert_eq!(check_url(good, &allow), Ok(()), "{good}");
        }
        assert!(check_url("https://10.0.0.1/", &allow).is_err());
    }
}
