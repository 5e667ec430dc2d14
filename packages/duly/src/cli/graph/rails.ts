import type { Row } from './layers.js'

/** A line of a drawing: rails at the left, and beside the mark of a node which row it is. */
export interface RailLine {
  readonly rails: string
  /** Place of the row that stands here; null: rails alone. */
  readonly row: number | null
}

/** Characters that rails are made of; each column of rails takes two of them. */
export interface RailGlyphs {
  readonly down: string
  readonly across: string
  readonly toRight: string
  readonly toLeft: string
  /** By the sides that meet: `u`p, `d`own, `l`eft, `r`ight, in this order. */
  readonly joints: Readonly<Record<string, string>>
}

export const lineGlyphs: RailGlyphs = {
  ...{ down: '│', across: '─', toRight: '▸', toLeft: '◂' },
  joints: { udr: '├', udl: '┤', ur: '╰', ul: '╯', dr: '╭', dl: '╮' },
}

/** For terminals that know ASCII alone. */
export const plainGlyphs: RailGlyphs = {
  ...{ down: '|', across: '-', toRight: '>', toLeft: '<' },
  joints: { udr: '|', udl: '|', ur: '`', ul: "'", dr: '.', dl: '.' },
}

/** Stands for the mark of a node, which is put in by whoever knows its status. */
export const MARK = '\u0000'

/**
 * Draws rows, each below all that it waits for. All that lead to the same rows share a rail, which they join and those branch off: so a fan and
 * its join take two rails, however wide it is. A row stands at the end of a rail that it is the last to branch off, else in a column of its
 * own. A line across leads from one rail to one other, and says where it may be read both ways.
 *
 * @param options.maxColumns columns of rails; null if the drawing needs more
 */
export function drawRails(
  rows: readonly Row[],
  { glyphs, maxColumns }: { readonly glyphs: RailGlyphs; readonly maxColumns: number },
): readonly RailLine[] | null {
  const drawing = new Drawing(rows, glyphs)
  for (const row of rows.keys()) {
    drawing.draw(row)
    if (drawing.columns > maxColumns) return null
  }
  return drawing.lines
}

/** By the rows that it leads to, and how many of them have not branched off yet. */
interface Rail {
  readonly key: string
  left: number
}

interface Across {
  readonly from: number
  readonly to: number
  /** The rail that it comes from goes on below. */
  readonly goesOn: boolean
  /** What it leads to comes from above. */
  readonly isJoined: boolean
}

class Drawing {
  readonly lines: RailLine[] = []
  /** The most columns so far. */
  columns = 0
  readonly #rows: readonly Row[]
  readonly #glyphs: RailGlyphs
  readonly #rails: (Rail | null)[] = []
  /** Keys of the rails that lead to each row. */
  readonly #inputs: readonly ReadonlySet<string>[]
  /** The column of the mark in the last line, if it has one: a rail below it has not been seen. */
  #markAt: number | null = null

  constructor(rows: readonly Row[], glyphs: RailGlyphs) {
    this.#rows = rows
    this.#glyphs = glyphs
    const inputs: Set<string>[] = rows.map(() => new Set())
    for (const { children } of rows) for (const child of children) inputs[child]?.add(children.join())
    this.#inputs = inputs
  }

  draw(row: number): void {
    const from = this.#columnsTo(row)
    for (const column of from) this.#branch(column)
    const own = from.find((column) => this.#isOver(column))
    const at = own ?? this.#freeColumn()
    this.#leadTo(at, from)
    this.#rails[at] = null
    this.#push(
      this.#cells(at, (column) => (column === at ? MARK : undefined)),
      row,
    )
    this.#markAt = at
    this.#leadOn(row, at)
  }

  #columnsTo(row: number): readonly number[] {
    const keys = this.#inputs[row]
    return this.#rails.flatMap((rail, column) => (rail !== null && keys?.has(rail.key) ? [column] : []))
  }

  #branch(column: number): void {
    const rail = this.#rails[column]
    if (rail) rail.left -= 1
  }

  #isOver(column: number): boolean {
    return this.#rails[column]?.left === 0
  }

  #freeColumn(): number {
    const free = this.#rails.indexOf(null)
    return free === -1 ? this.#rails.length : free
  }

  /** The lines down to a mark from the rails that lead to it; none where its own rail is seen already. */
  #leadTo(at: number, from: readonly number[]): void {
    let isJoined = from.includes(at)
    const others = from.filter((column) => column !== at)
    if (others.length === 0 && isJoined && this.#markAt === at) this.#push(this.#cells(at), null)
    for (const column of others) {
      const goesOn = !this.#isOver(column)
      this.#across({ from: column, to: at, goesOn, isJoined })
      if (!goesOn) this.#rails[column] = null
      isJoined = true
    }
  }

  /** Where a node leads on: a rail that begins below its mark, or one that is there, which it joins. */
  #leadOn(row: number, at: number): void {
    const { children = [] } = this.#rows[row] ?? {}
    if (children.length === 0) return
    const key = children.join()
    const open = this.#rails.findIndex((rail) => rail?.key === key)
    if (open === -1) this.#rails[at] = { key, left: children.length }
    else this.#across({ from: at, to: open, goesOn: false, isJoined: true })
  }

  #across({ from, to, goesOn, isJoined }: Across): void {
    const [first, last, fromSide, toSide] = from < to ? [from, to, 'r', 'l'] : [to, from, 'l', 'r']
    const { joints, down, across, toRight, toLeft } = this.#glyphs
    const joint = (sides: string) => joints[sides] ?? down
    const drawn = (column: number) => {
      if (column === from) return joint(`u${goesOn ? 'd' : ''}${fromSide}`)
      if (column === to) return joint(`${isJoined ? 'u' : ''}d${toSide}`)
      return column > first && column < last && !this.#rails[column] ? across : undefined
    }
    const arrowAt = !(goesOn && isJoined) ? null : from < to ? last - 1 : first
    const arrow = from < to ? toRight : toLeft
    const between = (column: number) => (column < first || column >= last ? ' ' : column === arrowAt ? arrow : across)
    this.#push(this.#cells(last, drawn, between), null)
  }

  /** One line: in each column what is drawn there, else the rail that passes; and what stands between the columns. */
  #cells(
    least: number,
    drawn: (column: number) => string | undefined = () => undefined,
    between: (column: number) => string = () => ' ',
  ): string {
    const count = Math.max(this.#rails.length, least + 1)
    this.columns = Math.max(this.columns, count)
    const passing = (column: number) => (this.#rails[column] ? this.#glyphs.down : ' ')
    return Array.from({ length: count }, (_, column) => (drawn(column) ?? passing(column)) + between(column)).join('')
  }

  #push(rails: string, row: number | null): void {
    this.lines.push({ rails: rails.trimEnd(), row })
    this.#markAt = null
  }
}
