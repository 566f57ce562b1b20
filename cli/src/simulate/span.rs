//! Times for people.

/// A span of virtual time: `4.5 s`, `2 min 05 s`, `1 h 30 min`.
pub(super) fn span(ms: i64) -> String {
    let seconds = ms / 1_000;
    if seconds < 120 {
        let tenths = (ms % 1_000) / 100;
        return if tenths == 0 {
            format!("{seconds} s")
        } else {
            format!("{seconds}.{tenths} s")
        };
    }
    let minutes = seconds / 60;
    if minutes < 120 {
        return format!("{minutes} min {:02} s", seconds % 60);
    }
    format!("{} h {:02} min", minutes / 60, minutes % 60)
}

/// Seconds for programs.
pub(super) fn seconds(ms: i64) -> serde_json::Value {
    // A simulation is far shorter than the 285,000 years that a float keeps apart.
    serde_json::json!(ms as f64 / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_well() {
        let cases = [
            (0, "0 s"),
            (4_500, "4.5 s"),
            (119_900, "119.9 s"),
            (125_000, "2 min 05 s"),
        ];
        for (ms, text) in cases {
            assert_eq!(span(ms), text);
        }
        assert_eq!(span(5_400_000), "90 min 00 s");
        assert_eq!(span(9_000_000), "2 h 30 min");
    }
}
