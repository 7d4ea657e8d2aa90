//! Rows of text as columns.

use std::fmt::Write;

/// Appends a line for each row, its cells below those of the rows before.
pub(crate) fn lay_out<const N: usize>(out: &mut String, indent: &str, rows: &[[String; N]]) {
    let width = |i: usize| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths);
        let cells = cells.map(|(cell, w)| format!("{cell:w$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(out, "{indent}{}", line.trim_end());
    }
}
