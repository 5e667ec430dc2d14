import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One row of `tests/evidence.md`. */
export interface EvidenceRow {
  readonly id: string
  readonly text: string
  readonly cell: string
}

export function evidenceRows(markdown: string): EvidenceRow[] {
  return [...markdown.matchAll(/^\| (F\d{3}) \| (.+?) \| (.+) \|$/gm)].map(([, id = '', text = '', cell = '']) => ({
    id,
    text,
    cell,
  }))
}

/** A test that a row names: its file, from the folder of the page, and its title as it stands there. */
export interface Citation {
  readonly path: string
  readonly names: readonly string[]
}

function citationsOf(cell: string): Citation[] {
  return [...cell.matchAll(/\]\(([^)]+)\)((?: “[^”]+”;?)*)/g)].map(([, path = '', names = '']) => ({
    path,
    names: [...names.matchAll(/“([^”]+)”/g)].map(([, name = '']) => name),
  }))
}

const reason = /\b(Later, with|Cannot occur)\b/

/** What is wrong with a row; empty when each file and each test that it names exists, or it says why there is none. */
export function evidenceFaults({ id, cell }: EvidenceRow, root: string): string[] {
  const citations = citationsOf(cell)
  if (citations.length === 0) return reason.test(cell) ? [] : [`${id} names no test and no reason`]
  return citations.flatMap(({ path, names }) => {
    const file = join(root, 'tests', path)
    if (!path.endsWith('.test.ts') || !existsSync(file)) return [`${id}: ${path} is no test file`]
    if (names.length === 0) return [`${id}: ${path} without a test`]
    const text = readFileSync(file, 'utf8')
    return names.filter((name) => !hasTest(text, name)).map((name) => `${id}: ${path} has no test “${name}”`)
  })
}

/** Whether a file has a test or a group of that title, written in any kind of quotes. */
function hasTest(text: string, name: string): boolean {
  const spellings = [`'${name.replaceAll("'", "\\'")}'`, `"${name}"`, `\`${name}\``]
  return spellings.some((spelling) =>
    new RegExp(`\\(\\s*${spelling.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')}`).test(text),
  )
}
