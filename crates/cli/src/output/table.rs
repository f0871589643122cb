//! Tables for people: a line of heads, and rows below them.

/// Columns as wide as what is in them; the last one runs free.
pub(crate) fn columns<const N: usize>(head: [&str; N], rows: Vec<[String; N]>) -> String {
    let mut widths = head.map(|word| word.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    std::iter::once(head.map(str::to_owned)).chain(rows).map(|row| line(&row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_as_wide_as_its_widest_and_lines_do_not_trail() {
        let rows = vec![["a".to_owned(), "längst".to_owned(), "x y".to_owned()], Default::default()];
        assert_eq!(columns(["ONE", "TWO", "3"], rows), "ONE  TWO     3\na    längst  x y\n\n");
    }
}
