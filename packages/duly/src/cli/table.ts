/** A cell as text: nothing shows as a hyphen, an object as JSON. Control characters of a hostile value are made visible. */
export function cell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  return visible(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

/** Makes control characters harmless to a terminal: those of ASCII, and C1, which JSON leaves as they are. */
export function visible(text: string): string {
  return [...text].map((character) => (isControl(character) ? escaped(character) : character)).join('')
}

function isControl(character: string): boolean {
  const code = character.codePointAt(0) ?? 0
  return code < 0x20 || (code >= 0x7f && code < 0xa0)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Left-aligned columns under their headings, two spaces apart; no trailing blanks. */
export function table(headings: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const lines = [headings, ...rows.map((row) => row.map(cell))]
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map(
      (line) =>
        `${line
          .map((text, column) => text.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}

/** One `name  value` line per entry; entries without a value are left out. */
export function facts(entries: readonly (readonly [string, unknown])[]): string {
  const shown = entries.filter(([, value]) => value !== null && value !== undefined && value !== '')
  const width = Math.max(0, ...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}\n`).join('')
}
