//! Server-sent events, out of the bytes as they come.

/// Bytes of one event, at most.
const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// One event of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) data: String,
}

/// An event that has no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

/// What has come and is not a whole line or event yet.
#[derive(Debug, Default)]
pub(super) struct Parser {
    rest: Vec<u8>,
    name: String,
    data: String,
}

impl Parser {
    /// The events that end within these bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        self.rest.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            self.line(line.trim_end_matches(['\r', '\n']), &mut events);
        }
        if self.rest.len() + self.data.len() > EVENT_BYTES_MAX {
            return Err(TooLong);
        }
        Ok(events)
    }

    fn line(&mut self, line: &str, events: &mut Vec<Event>) {
        if line.is_empty() {
            let (name, data) = (
                std::mem::take(&mut self.name),
                std::mem::take(&mut self.data),
            );
            if !name.is_empty() || !data.is_empty() {
                events.push(Event { name, data });
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            // A comment, to keep the line alive; or something that we have no use for.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_whole_wherever_the_bytes_are_cut() {
        let text =
            ":\n\nevent: next\ndata: {\"a\":\ndata: 1}\n\nevent: complete\ndata\n\n".as_bytes();
        let event = |name: &str, data: &str| Event {
            name: name.to_owned(),
            data: data.to_owned(),
        };
        let expected = [event("next", "{\"a\":\n1}"), event("complete", "")];
        for size in 1..text.len() {
            let mut parser = Parser::default();
            let parts = text.chunks(size).map(|part| parser.push(part).unwrap());
            let events: Vec<Event> = parts.flatten().collect();
            assert_eq!(events, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn an_event_without_an_end_is_refused() {
        let mut parser = Parser::default();
        let line = [b'x'; 1024 * 1024];
        let refused = (0..20).find_map(|_| parser.push(&line).err());
        assert_eq!(refused, Some(TooLong));
    }
}
