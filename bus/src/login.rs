//! Connecting to NATS with the login that its address holds.
//!
//! The library leaves that part of an address unused, so that every connection has to come through
//! here.

use std::str::FromStr;

use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions, ServerAddr};

/// Connects with these options to one address, or to several with commas between them. User and
/// password of the first that has them are used for all; a user alone is a token.
pub async fn connect_nats(url: &str, options: ConnectOptions) -> Result<Client, ConnectError> {
    let servers: Result<Vec<_>, _> = url
        .split(',')
        .map(str::trim)
        .map(ServerAddr::from_str)
        .collect();
    let servers = servers.map_err(|_| ConnectError::from(ConnectErrorKind::ServerParse))?;
    let login = servers
        .iter()
        .find_map(|server| Some((server.username()?, server.password())));
    let options = match login {
        Some((user, Some(password))) => options.user_and_password(decoded(user), decoded(password)),
        Some((token, None)) => options.token(decoded(token)),
        None => options,
    };
    options.connect(servers.as_slice()).await
}

/// Text with `%40` and the like as what they stand for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_in_a_login_are_read() {
        for (text, expected) in [
            ("a%40b%3A", "a@b:"),
            ("100%", "100%"),
            ("%zz%C3%A4", "%zzä"),
        ] {
            assert_eq!(decoded(text), expected);
        }
    }
}
