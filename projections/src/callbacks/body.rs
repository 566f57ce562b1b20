//! What a receiver gets, and how it is signed (G-61, G-64, C-27).
//!
//! The bytes as they are sent are what the header signs, by the Standard Webhooks specification. The field
//! `signature` inside signs the same JSON without itself, for receivers that only look at bodies.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chrono::SecondsFormat;
use domain::json::canonical;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Map, Value, json};
use sha2::Sha256;

use crate::store::callbacks::claim::Due;
use crate::store::callbacks::source::Results;

/// Largest body. Results that do not fit are left out and named in `truncated`.
pub const BODY_BYTES_MAX: usize = 512 * 1024;

/// The body with its own signature by `key`.
pub(super) fn body(due: &Due, results: &Results, base_url: &str, key: &[u8]) -> Bytes {
    let parsed = |text: &Option<String>| -> Value {
        let value = text.as_deref().map(serde_json::from_str);
        value.and_then(Result::ok).unwrap_or(Value::Null)
    };
    let (mut stages, mut last) = (
        parsed(&results.stage_results),
        parsed(&results.final_results),
    );
    let (mut stages_left_out, mut last_left_out) =
        (results.stages_too_large, results.final_too_large);
    loop {
        let mut left_out = Vec::new();
        left_out.extend(stages_left_out.then_some("stage_results"));
        left_out.extend(last_left_out.then_some("final_results"));
        let bytes = signed(fields(due, base_url, &stages, &last, &left_out), key);
        if bytes.len() <= BODY_BYTES_MAX || stages.is_null() && last.is_null() {
            return bytes;
        }
        if stages.is_null() {
            (last, last_left_out) = (Value::Null, true);
        } else {
            (stages, stages_left_out) = (Value::Null, true);
        }
    }
}

fn fields(
    due: &Due,
    base_url: &str,
    stages: &Value,
    last: &Value,
    left_out: &[&str],
) -> Map<String, Value> {
    let ended = due.ended_at.unwrap_or(due.now);
    let fields = json!({
        "request_id": due.request_id,
        "job_id": due.job_id,
        "job_type": due.job_type,
        "status": due.job_status,
        "result_url": format!("{base_url}/api/jobs/{}/result", due.job_id),
        "stage_results": stages,
        "final_results": last,
        "error": due.job_error,
        "timestamp": ended.to_rfc3339_opts(SecondsFormat::Micros, true),
    });
    let Value::Object(mut fields) = fields else {
        return Map::new();
    };
    if !left_out.is_empty() {
        fields.insert("truncated".to_owned(), json!(left_out));
    }
    fields
}

fn signed(fields: Map<String, Value>, key: &[u8]) -> Bytes {
    let mut fields = Value::Object(fields);
    let mut hex = String::with_capacity(64);
    for byte in hmac(key, &[canonical(&fields).as_bytes()]) {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    if let Value::Object(fields) = &mut fields {
        fields.insert("signature".to_owned(), Value::String(hex));
    }
    canonical(&fields).into()
}

/// The header `webhook-signature`: one signature per live secret, newest first.
pub(super) fn signatures(keys: &[Vec<u8>], id: &str, timestamp: i64, body: &[u8]) -> String {
    let head = format!("{id}.{timestamp}.");
    let each = keys.iter().map(|key| {
        let mac = hmac(key, &[head.as_bytes(), body]);
        format!("v1,{}", STANDARD.encode(mac))
    });
    each.collect::<Vec<_>>().join(" ")
}

/// The key that a secret stands for: what `whsec_` wraps, or the text itself.
pub(super) fn key_of(secret: &str) -> Vec<u8> {
    let wrapped = secret.strip_prefix("whsec_");
    let wrapped = wrapped.and_then(|text| STANDARD.decode(text).ok());
    wrapped.unwrap_or_else(|| secret.as_bytes().to_vec())
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    // HMAC takes keys of any length, so there is no error to handle.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return Vec::new();
    };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due() -> Due {
        Due {
            callback_id: "msg_1".to_owned(),
            job_id: "job_1".to_owned(),
            job_status: Some("COMPLETED".to_owned()),
            ..Due::default()
        }
    }

    fn results(stages: usize, last: usize) -> Results {
        let text = |size: usize| Some(format!("\"{}\"", "x".repeat(size)));
        Results {
            stage_results: text(stages),
            final_results: text(last),
            ..Results::default()
        }
    }

    #[test]
    fn what_is_too_large_is_left_out_and_named() {
        let half = BODY_BYTES_MAX / 2;
        for (stages, last, left_out) in [
            (10, 10, json!(null)),
            (half, half, json!(["stage_results"])),
            (
                10,
                BODY_BYTES_MAX - 20,
                json!(["stage_results", "final_results"]),
            ),
        ] {
            let body = body(&due(), &results(stages, last), "https://s", b"key");
            assert!(body.len() <= BODY_BYTES_MAX);
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["truncated"], left_out);
            assert_eq!(body["stage_results"].is_null(), !left_out.is_null());
            assert_eq!(body["result_url"], "https://s/api/jobs/job_1/result");
        }
        let too_large = Results {
            final_too_large: true,
            ..results(10, 10)
        };
        let body = body(&due(), &too_large, "https://s", b"key");
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["truncated"], json!(["final_results"]));
    }

    #[test]
    fn the_signature_of_the_specification_is_ours() {
        // The example of the specification.
        let key = key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let body = br#"{"test": 2432232314}"#;
        let signed = signatures(&[key], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!(key_of("any other text"), b"any other text");
    }
}
