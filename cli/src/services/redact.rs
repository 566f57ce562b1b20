//! Addresses as they may be shown: without what opens the door.

const HIDDEN: &str = "***";

/// The address without its password or token. Hides too much rather than too little.
#[must_use]
pub fn redact(url: &str) -> String {
    // What is no address may be one in another notation, password and all.
    let is_other = !url.contains("://") && url.contains('=');
    if is_other || url.contains(char::is_whitespace) {
        return "(not an address)".to_owned();
    }
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), url),
    };
    // The last one: a password may contain more of them.
    let (login, rest) = match rest.rsplit_once('@') {
        Some((login, rest)) => (Some(login), rest),
        None => (None, rest),
    };
    let login = match login.map(|login| (login, login.split_once(':'))) {
        Some((_, Some((user, _)))) => format!("{user}:{HIDDEN}@"),
        // Of a database it is the user; of NATS it is a token.
        Some((login, None)) if scheme.starts_with("postgres") => format!("{login}@"),
        Some((_, None)) => format!("{HIDDEN}@"),
        None => String::new(),
    };
    let mut parts = rest.split(['?', '&']);
    let mut text = format!("{scheme}{login}{}", parts.next().unwrap_or_default());
    for (index, pair) in parts.enumerate() {
        text.push(if index == 0 { '?' } else { '&' });
        match pair.split_once('=') {
            Some((name, _)) if name.contains("pass") => text.push_str(&format!("{name}={HIDDEN}")),
            _ => text.push_str(pair),
        }
    }
    text
}

/// Words about an address, freed of its secrets in case they quote it.
pub(crate) fn without_secrets(text: &str, url: &str) -> String {
    let mut text = text.replace(url, &redact(url));
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    if let Some((login, _)) = rest.rsplit_once('@') {
        let secret = login
            .split_once(':')
            .map_or(login, |(_, password)| password);
        // Shorter ones are part of any word.
        if secret.len() > 3 {
            text = text.replace(secret, HIDDEN);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown() {
        let cases = [
            ("postgres://a:b@h:1/d", "postgres://a:***@h:1/d"),
            (
                "postgres://a@h/d?password=x&y=z",
                "postgres://a@h/d?password=***&y=z",
            ),
            ("postgres://a:p@ss/w@h/d", "postgres://a:***@h/d"),
            ("postgres://a:p?w@h/d", "postgres://a:***@h/d"),
            ("nats://token@h:4222", "nats://***@h:4222"),
            ("nats://u:p@h1,nats://u:p@h2", "nats://u:***@h2"),
            ("u:secret@h", "u:***@h"),
            ("nats://h:4222", "nats://h:4222"),
            ("host=h user=u password=secret", "(not an address)"),
            ("password=secret", "(not an address)"),
            ("garbage secret", "(not an address)"),
        ];
        for (url, shown) in cases {
            assert_eq!(redact(url), shown);
        }
        let url = "postgres://a:hunter2@h/d";
        assert_eq!(without_secrets("bad hunter2 in it", url), "bad *** in it");
    }
}
