import { describe, expect, it } from 'vitest'
import { evidenceFaults, evidenceRows } from './evidence.js'
import { filesUnder, root } from './files.js'

const page = filesUnder('tests', ['evidence.md'])[0]?.text ?? ''

describe('the table of evidence', () => {
  const rows = evidenceRows(page)

  it('has every case once, in order', () => {
    const ids = rows.map(({ id }) => id)
    expect(ids).toHaveLength(119)
    expect(ids).toEqual([...new Set(ids)].sort())
    expect(page.split('\n').filter((line) => /^\| F/.test(line))).toHaveLength(119)
  })

  it('names tests that exist, or why there is none', () => {
    expect(rows.flatMap((row) => evidenceFaults(row, root))).toEqual([])
  })
})

describe('the checker of evidence', () => {
  const look = (cell: string) => evidenceFaults({ id: 'F001', text: '', cell }, root)
  const here = 'repo/evidence.test.ts'

  it.each([
    ['nothing', /no test and no reason/],
    ['[a](repo/missing.test.ts) “x”', /no test file/],
    ['[a](repo/evidence.ts) “x”', /no test file/],
    [`[a](${here})`, /without a test/],
    [`[a](${here}) “has every case twice”`, /has no test/],
    [`[a](${here}) “has every case once, in order”; “nor this”`, /“nor this”/],
    [`[a](${here}) “it”`, /has no test/],
  ])('refuses %s', (cell, message) => {
    expect(look(cell)).toEqual([expect.stringMatching(message)])
  })

  it.each([
    'Later, with cron.',
    'Cannot occur: nothing does it.',
    `[a](${here}) “the table of evidence”; “has every case once, in order” · Later, with more.`,
    `[a](${here}) “refuses %s”`,
  ])('admits %s', (cell) => {
    expect(look(cell)).toEqual([])
  })
})
