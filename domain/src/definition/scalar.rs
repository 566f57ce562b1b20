//! What a plain scalar means: the core schema of YAML 1.2.

use serde_json::{Number, Value};

/// The value of a plain scalar, or why it has none.
pub(super) fn resolve(text: &str) -> Result<Value, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(format!("`{text}` is no number that a value can have"));
    }
    if let Some(number) = integer(text, unsigned)? {
        return Ok(Value::Number(number));
    }
    if is_float(unsigned) {
        let number = text.parse().ok().and_then(Number::from_f64);
        return number.map(Value::Number).ok_or_else(|| too_large(text));
    }
    Ok(Value::String(text.to_owned()))
}

fn integer(text: &str, unsigned: &str) -> Result<Option<Number>, String> {
    let radix = |prefix: &str, radix: u32| {
        let digits = text.strip_prefix(prefix)?;
        let all = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
        all.then(|| u64::from_str_radix(digits, radix).ok())
    };
    if let Some(number) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return number
            .map(|n| Some(n.into()))
            .ok_or_else(|| too_large(text));
    }
    if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(None);
    }
    let positive = text.strip_prefix('+').unwrap_or(text);
    let number = positive.parse::<i64>().map(Number::from);
    let number = number.or_else(|_| positive.parse::<u64>().map(Number::from));
    number.map(Some).map_err(|_| too_large(text))
}

/// `[0-9]+(\.[0-9]*)?` or `\.[0-9]+`, then perhaps an exponent.
fn is_float(unsigned: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let exponent_fits = exponent.is_none_or(|e| {
        let e = e.strip_prefix(['+', '-']).unwrap_or(e);
        !e.is_empty() && digits(e)
    });
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let some = !whole.is_empty() || !fraction.is_empty();
    some && exponent_fits && digits(whole) && digits(fraction)
}

fn too_large(text: &str) -> String {
    let start: String = text.chars().take(40).collect();
    format!("the number `{start}` is too large")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        for (text, value) in [
            ("", json!(null)),
            ("~", json!(null)),
            ("True", json!(true)),
            ("yes", json!("yes")),
            ("on", json!("on")),
            ("-12", json!(-12)),
            ("+7", json!(7)),
            ("0o17", json!(15)),
            ("0x1F", json!(31)),
            ("18446744073709551615", json!(u64::MAX)),
            ("1.5", json!(1.5)),
            ("1.", json!(1.0)),
            (".5", json!(0.5)),
            ("-1e3", json!(-1000.0)),
            ("1e", json!("1e")),
            ("e5", json!("e5")),
            (".", json!(".")),
            ("-", json!("-")),
            ("1.2.3", json!("1.2.3")),
            ("EPSG:4326", json!("EPSG:4326")),
            ("< 100", json!("< 100")),
        ] {
            assert_eq!(resolve(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn what_json_cannot_say_is_refused() {
        for text in [
            ".nan",
            ".inf",
            "-.INF",
            "1e999",
            "99999999999999999999",
            "0xfffffffffffffffff",
        ] {
            assert!(resolve(text).is_err(), "{text}");
        }
    }
}
