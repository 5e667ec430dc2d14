import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type GraphNode, rowsOf } from './layers.js'
import { drawRails, lineGlyphs, MARK, type RailLine } from './rails.js'

const node = (name: string, ...dependencies: string[]): GraphNode => ({ name, status: 'BLOCKED', dependencies })

function draw(...graph: GraphNode[]): string[] {
  const rows = rowsOf(graph)
  const lines = drawRails(rows, { glyphs: lineGlyphs, maxColumns: 100 }) ?? []
  const names = (row: number | null) => (row === null ? '' : ` ${rows[row]?.nodes.map(({ name }) => name).join()}`)
  return lines.map(({ rails, row }) => rails.replace(MARK, '●') + names(row))
}

describe('rails', () => {
  it('draw a fan and its join', () => {
    expect(draw(node('a'), node('b', 'a'), node('c', 'a'), node('d', 'b', 'c'))).toEqual([
      '● a',
      '├─╮',
      '│ ● b',
      '● │ c',
      '╰─┤',
      '  ● d',
    ])
  })

  it('tell a chain from tasks that have nothing to do with each other', () => {
    expect(draw(node('a'), node('b', 'a'))).toEqual(['● a', '│', '● b'])
    expect(draw(node('a'), node('b'))).toEqual(['● a', '● b'])
  })

  it('cross, and say where a line could be read both ways', () => {
    expect(
      draw(node('a'), node('b'), node('c', 'a', 'b'), node('d', 'a'), node('e', 'b'), node('f', 'c', 'd', 'e')),
    ).toEqual(['● a', '├─╮', '│ ● d', '│ │ ● b', '├◂│─┤', '● │ │ c', '╰─┤ │', '  │ ● e', '  ├─╯', '  ● f'])
  })

  it('stand below what they wait for as soon as they can, so that branches stay together', () => {
    const branches = [node('b', 'a'), node('d', 'a'), node('c', 'b'), node('e', 'd')]
    const lines = draw(node('a'), ...branches, node('f', 'c', 'e'))
    expect(lines).toEqual(['● a', '├─╮', '│ ● b', '│ │', '│ ● c', '● │ d', '│ │', '● │ e', '╰─┤', '  ● f'])
  })

  it('put many that are alike into one line', () => {
    const parts = ['p1', 'p2', 'p3', 'p4']
    const lines = draw(node('a'), ...parts.map((name) => node(name, 'a')), node('z', ...parts))
    expect(lines).toEqual(['● a', '│', '● p1,p2,p3,p4', '│', '● z'])
  })

  it('give up where they would get too wide', () => {
    const starts = Array.from({ length: 12 }, (_, n) => `a${n}`)
    const lone = [
      ...starts.map((name) => node(name)),
      node('gate', ...starts),
      ...starts.map((name) => node(`b-${name}`, name, 'gate')),
    ]
    const rows = rowsOf(lone)
    expect(drawRails(rows, { glyphs: lineGlyphs, maxColumns: 12 })).toBeNull()
    expect(drawRails(rows, { glyphs: lineGlyphs, maxColumns: 13 })).not.toBeNull()
  })

  it('lead each task to exactly those that wait for it, over random graphs', () => {
    const graphs = fc
      .array(fc.array(fc.nat(), { maxLength: 4 }), { minLength: 1, maxLength: 40 })
      .map((picks) =>
        picks.map((list, n) => node(`n${n}`, ...new Set(n === 0 ? [] : list.map((pick) => `n${pick % n}`)))),
      )
    fc.assert(
      fc.property(graphs, (graph) => {
        const rows = rowsOf(graph)
        const lines = drawRails(rows, { glyphs: lineGlyphs, maxColumns: 1_000 }) ?? []
        expect(lines.flatMap(({ row }) => (row === null ? [] : [row]))).toEqual([...rows.keys()])
        for (const [row, { children }] of rows.entries()) {
          if (String([...reached(lines, row)].sort((a, b) => a - b)) !== String(children)) {
            throw new Error(`${row} does not lead to ${children}:\n${lines.map(({ rails }) => rails).join('\n')}`)
          }
        }
      }),
    )
  })
})

type Side = 'u' | 'l' | 'r'

/** The sides at which a character is open, but for what goes straight on over a rail. */
const sidesOf = (glyph: string): string =>
  Object.entries(lineGlyphs.joints).find(([, joint]) => joint === glyph)?.[0] ?? (glyph === '│' ? 'ud' : '')

/** The rows that a reader comes to who follows the lines down from the mark of a row: down and across, never up. */
function reached(lines: readonly RailLine[], row: number): ReadonlySet<number> {
  const found = new Set<number>()
  const seen = new Set<string>()
  const start = lines.findIndex((line) => line.row === row)
  const at = (line: number, place: number) => lines[line]?.rails[place] ?? ' '
  const column = (lines[start]?.rails.indexOf(MARK) ?? 0) / 2
  // marks that touch each other have nothing to do with each other: what leads on is seen to
  if (at(start + 1, 2 * column) === MARK) return found
  const follow: [line: number, column: number, from: Side][] = [[start + 1, column, 'u']]
  for (let step = follow.pop(); step !== undefined; step = follow.pop()) {
    const [line, column, from] = step
    if (seen.has(step.join()) || column < 0) continue
    seen.add(step.join())
    const glyph = at(line, 2 * column)
    if (glyph === MARK && from === 'u') found.add(lines[line]?.row ?? -1)
    const sides = sidesOf(glyph)
    const isStraight = from !== 'u' && (glyph === '─' || glyph === '│')
    if (from === 'u' && !sides.includes('u')) continue
    if (sides.includes('d') && !isStraight) follow.push([line + 1, column, 'u'])
    const goesRight = isStraight ? from === 'l' : from === 'u' && sides.includes('r')
    const goesLeft = isStraight ? from === 'r' : from === 'u' && sides.includes('l')
    if (goesRight && '─▸'.includes(at(line, 2 * column + 1))) follow.push([line, column + 1, 'l'])
    if (goesLeft && '─◂'.includes(at(line, 2 * column - 1))) follow.push([line, column - 1, 'r'])
  }
  return found
}
