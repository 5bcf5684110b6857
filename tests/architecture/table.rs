//! Reads a markdown table, just enough for the tables that tests depend on.

/// The rows of every table in `text` whose heading is exactly `heading`, cells trimmed.
pub(crate) fn rows(text: &str, heading: &[&str]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let Some(cells) = cells(line) else {
            inside = false;
            continue;
        };
        if cells == heading {
            inside = true;
        } else if inside && !cells.iter().all(|cell| is_rule(cell)) {
            rows.push(cells);
        }
    }
    rows
}

fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(|cell| cell.trim().to_owned()).collect())
}

fn is_rule(cell: &str) -> bool {
    !cell.is_empty() && cell.chars().all(|character| "-:".contains(character))
}

#[test]
fn a_table_is_found_by_its_heading() {
    let text = "| a | b |\n|---|--:|\n| 1 | 2 |\n\n| c | d |\n|---|---|\n| 3 | 4 |\n";
    assert_eq!(rows(text, &["a", "b"]), [["1", "2"]]);
    assert_eq!(rows(text, &["c", "d"]), [["3", "4"]]);
    assert!(rows(text, &["a", "d"]).is_empty());
}
