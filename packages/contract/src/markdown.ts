/** Lines of a Markdown table; bars in cells are escaped and line ends become spaces. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)]
}
