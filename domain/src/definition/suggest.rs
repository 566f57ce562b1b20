//! "Did you mean ...?": the nearest of the known names.

/// Longest name that is compared; nobody mistypes more.
const CHARS_MAX: usize = 64;

/// The candidate nearest to `name`, if one is near enough to be meant.
#[must_use]
pub fn suggest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = fold(name);
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| *candidate != name)
        .filter_map(|candidate| {
            let other = fold(candidate);
            let distance = if plain == other {
                0
            } else {
                distance(&plain, &other, limit)?
            };
            Some((distance, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// The hint for [`suggest`].
#[must_use]
pub fn did_you_mean<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    suggest(name, candidates).map(|found| format!("did you mean `{found}`?"))
}

/// Case and the kind of separator do not count.
fn fold(name: &str) -> Vec<char> {
    let plain = |c: char| if c == '-' { '_' } else { c };
    name.to_lowercase().chars().map(plain).collect()
}

/// Damerau-Levenshtein distance (insert, delete, replace, swap neighbours) if within `limit`.
fn distance(a: &[char], b: &[char], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit || a.len().max(b.len()) > CHARS_MAX {
        return None;
    }
    // Rows of the table: `before` is two rows up, `last` one row up.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut above: Option<char> = None;
    for (i, &x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(last.len());
        row.push(i + 1);
        let mut left: Option<char> = None;
        for (j, &y) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX / 2);
            let cost = usize::from(x != y);
            let mut best = (at(&last, j) + cost)
                .min(at(&last, j + 1) + 1)
                .min(at(&row, j) + 1);
            if above == Some(y) && left == Some(x) && j > 0 {
                best = best.min(at(&before, j - 1) + 1);
            }
            row.push(best);
            left = Some(y);
        }
        before = std::mem::replace(&mut last, row);
        above = Some(x);
    }
    last.last().copied().filter(|found| *found <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, candidates: &[&'static str], expected: Option<&str>) {
        assert_eq!(suggest(name, candidates.iter().copied()), expected);
    }

    #[test]
    fn slips_of_the_hand_are_recognised() {
        let known = ["process_docker", "validate", "route_by_size", "END"];
        check("process_doker", &known, Some("process_docker"));
        check("valdiate", &known, Some("validate"));
        check("validat", &known, Some("validate"));
        check("Process-Docker", &known, Some("process_docker"));
        check("end", &known, Some("END"));
    }

    #[test]
    fn what_is_far_away_is_not_suggested() {
        check("x", &["validate"], None);
        check("process_fa", &["validate", "process_docker"], None);
        check("", &["validate"], None);
        check(&"a".repeat(200), &["validate"], None);
    }

    #[test]
    fn a_swap_of_neighbours_counts_once() {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        assert_eq!(distance(&chars("ab"), &chars("ba"), 1), Some(1));
        assert_eq!(distance(&chars("abcd"), &chars("acbd"), 1), Some(1));
        assert_eq!(distance(&chars("abcd"), &chars("dcba"), 2), None);
    }
}
