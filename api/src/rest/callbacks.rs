//! Where to call when a job has ended: everything about callbacks that a caller may wish for.
//!
//! REST and GraphQL bring their wishes here. An address that is hostile by itself is refused at once; names
//! are checked again when they are called. Secrets are kept beside the log, which only gets their names.

use commands::secrets::{SecretError, Secrets, is_secret};
use domain::request::{
    CALLBACK_RETRIES_MAX, CALLBACK_SECONDS_MAX, CALLBACKS_MAX, CallbackRef, URL_BYTES_MAX,
};
use projections::callbacks::guard::{Rules, check_url};
use serde_json::Value;
use sqlx::PgPool;

use super::fields::{Fields, problem};
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
    pool: &PgPool,
    rules: &Rules,
    org: &str,
    wishes: &[CallbackWish],
    keep: bool,
) -> Result<Vec<CallbackRef>, Fault> {
    let problems = problems_of(wishes, rules);
    if !problems.is_empty() {
        let remedy = "mend the callbacks that are named";
        let fault = Fault::invalid(
            "INVALID_CALLBACKS",
            "callbacks cannot be called like this",
            remedy,
        );
        return Err(fault.with(problems));
    }
    let secrets = Secrets::new(pool.clone());
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
    secrets
        .keep_given(org, secret)
        .await
        .map_err(|error| match error {
            SecretError::Log(error) => error.into(),
            _ => Fault::invalid("INVALID_SECRET", error.to_string(), "give another secret"),
        })
}

/// Everything that is wrong with these wishes, before anything is stored or called.
pub(crate) fn problems_of(wishes: &[CallbackWish], rules: &Rules) -> Vec<Problem> {
    let mut problems = Vec::new();
    if wishes.len() > CALLBACKS_MAX {
        let message = format!("a request has at most {CALLBACKS_MAX} callbacks");
        problems.push(problem("callbacks", "TOO_MANY", message));
    }
    for wish in wishes.iter().take(CALLBACKS_MAX) {
        let mut wrong = |part: &str, code: &str, message: String| {
            problems.push(problem(format!("{}{part}", wish.place), code, message));
        };
        if let Err(refusal) = check_url(&wish.url, rules) {
            wrong("url", &refusal.code().to_uppercase(), refusal.to_string());
        }
        if wish
            .secret
            .as_deref()
            .is_some_and(|secret| !is_secret(secret))
        {
            wrong("secret", "INVALID_SECRET", SecretError::Form.to_string());
        }
        if wish
            .retry_count
            .is_some_and(|count| count > CALLBACK_RETRIES_MAX)
        {
            let message = format!("at most {CALLBACK_RETRIES_MAX} retries are made");
            wrong("retry_count", "OUT_OF_RANGE", message);
        }
        let range = 1..=CALLBACK_SECONDS_MAX;
        if wish
            .timeout_seconds
            .is_some_and(|seconds| !range.contains(&seconds))
        {
            let message = format!("a try takes from 1 to {CALLBACK_SECONDS_MAX} seconds");
            wrong("timeout_seconds", "OUT_OF_RANGE", message);
        }
    }
    problems
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
    for name in [
        "webhook_secret",
        "webhook_retry_count",
        "webhook_timeout_seconds",
    ] {
        if fields.has(name) && !has_webhook {
            let message = format!("`{name}` belongs to `webhook_url`, which is not given");
            fields.problem(name, "INVALID", message);
        }
    }
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
        assert_eq!(
            urls,
            [
                "https://a.example/1",
                "https://a.example/2",
                "https://a.example/3"
            ]
        );
        assert_eq!(wishes[1].retry_count, Some(3));
        assert_eq!(wishes[2].timeout_seconds, Some(9));
        assert_eq!(problems_of(&wishes, &Rules::default()), vec![]);
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
        assert_eq!(
            problems_of(&wishes, &Rules::default())[0].field,
            "callback_url"
        );
    }

    #[test]
    fn literal_hostile_addresses_are_refused_and_may_be_allowed() {
        let code_of = |url: &str, rules: &Rules| {
            let wishes = [wish("callback_", url.to_owned())];
            problems_of(&wishes, rules)
                .pop()
                .map(|problem| problem.code)
        };
        let strict = Rules::default();
        for hostile in [
            "https://127.0.0.1/x",
            "https://2130706433/",
            "https://[::ffff:10.0.0.1]/",
            "https://169.254.169.254/",
        ] {
            let code = code_of(hostile, &strict);
            assert_eq!(
                code.as_deref(),
                Some("CALLBACK_ADDRESS_FORBIDDEN"),
                "{hostile}"
            );
        }
        assert!(code_of("ftp://partner.example/", &strict).is_some());
        assert_eq!(code_of("https://partner.example/", &strict), None);
        let allowing = Rules::parse("127.0.0.0/8").unwrap();
        assert_eq!(code_of("http://127.0.0.1:9/", &allowing), None);
    }
}
