/** Rows as a table of padded columns. */
export function table(rows) {
  const widths = rows.reduce((all, row) => row.map((cell, at) => Math.max(all[at] ?? 0, cell.length)), [])
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
