//! "Did you mean …?": the known word that a misspelt one is closest to.

/// The closest of `known`, if it is close enough to be a slip of the finger.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    // Nobody misspells a word into a novel; and the table below is quadratic.
    if word.chars().count() > 64 {
        return None;
    }
    let folded = fold(word);
    let distance = |candidate: &&'a str| distance(&folded, &fold(candidate));
    let allowed = |candidate: &str| (candidate.chars().count() / 3).clamp(1, 3);
    let (best, slips) =
        known.iter().map(|it| (*it, distance(it))).min_by_key(|(_, distance)| *distance)?;
    (slips <= allowed(best)).then_some(best)
}

/// A hyphen for an underscore, or a capital letter, is no difference at all.
fn fold(word: &str) -> Vec<char> {
    word.chars().map(|c| if c == '_' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// How many letters are inserted, left out, replaced or swapped with a neighbour.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    let mut previous: Option<char> = None;
    for (position, letter) in from.iter().enumerate() {
        let mut next = vec![position + 1];
        let mut left_letter: Option<char> = None;
        for (column, target) in to.iter().enumerate() {
            let at =
                |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
            let replaced = at(&row, column) + usize::from(letter != target);
            let cheapest = replaced.min(at(&row, column + 1) + 1).min(at(&next, column) + 1);
            let is_swap = previous == Some(*target) && left_letter == Some(*letter);
            let swapped = if is_swap { at(&before, column.wrapping_sub(1)) + 1 } else { cheapest };
            next.push(cheapest.min(swapped));
            left_letter = Some(*target);
        }
        before = row;
        row = next;
        previous = Some(*letter);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_slips_and_nothing_wild() {
        let known = ["memory", "cpu", "timeout", "post_start"];
        assert_eq!(nearest("memroy", &known), Some("memory"));
        assert_eq!(nearest("Memory", &known), Some("memory"));
        assert_eq!(nearest("time_out", &known), Some("timeout"));
        assert_eq!(nearest("post-start", &known), Some("post_start"));
        assert_eq!(nearest("gpu", &known), Some("cpu"));
        assert_eq!(nearest("banana", &known), None);
        assert_eq!(nearest("", &[]), None);
        assert_eq!(nearest("ab", &["ba"]), Some("ba"));
    }
}
