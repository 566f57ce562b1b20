//! "Did you mean ...?" for names.

/// The candidate that `word` most likely was meant to be, if any is near enough.
pub(super) fn nearest<'a>(
    word: &str,
    candidates: impl Iterator<Item = &'a String>,
) -> Option<&'a String> {
    // A name that long is no slip of the finger, and the distance costs the product of both.
    if word.len() > 64 {
        return None;
    }
    let reach = (word.chars().count() / 3).max(1);
    candidates
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= reach)
        .min()
        .map(|(_, candidate)| candidate)
}

/// How many letters must be added, dropped or changed, ignoring case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.to_lowercase().chars().enumerate() {
        let mut left = i + 1;
        let mut next = vec![left];
        for ((y, diagonal), above) in b.iter().zip(&row).zip(row.iter().skip(1)) {
            let change = diagonal + usize::from(x != *y);
            left = change.min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_single_letter_edits() {
        for (a, b, edits) in [
            ("", "", 0),
            ("", "ab", 2),
            ("ab", "", 2),
            ("kitten", "sitting", 3),
            ("Item_ID", "item_id", 0),
            ("dataset", "datasets", 1),
        ] {
            assert_eq!(distance(a, b), edits, "{a} {b}");
        }
    }

    #[test]
    fn only_a_near_name_is_suggested() {
        let names = ["dataset_id".to_owned(), "resource_id".to_owned()];
        assert_eq!(nearest("datasetid", names.iter()), names.first());
        assert_eq!(nearest("colour", names.iter()), None);
        assert_eq!(nearest(&"d".repeat(1_000), names.iter()), None);
    }
}
