import { Connection } from './connection.js'
import type { Database } from './database.js'
import type { Server } from './server.js'
import type { Case } from './size-cases.js'
import { type Percentiles, percentilesOf } from './stats.js'

/** What every call should stay below, ms. */
const barMs = 50

const warmUpCalls = 5
const together = 4
/** Pages deep inside a list, asked for by turns: few enough to find, enough that most are read for the first time. */
const deepPlaces = 20

/** The calls of one page of a list, or of one window of figures. */
export interface CallsResult {
  readonly name: string
  readonly page: 'first' | 'deep' | 'whole'
  /** Items of the first answer. */
  readonly items: number
  /** Blocks (8 KB) a call, cached or not, one call after the other: what grows with the data shows here on any machine. */
  readonly blocksPerCall: number | null
  /** Times in ms of calls one after the other. */
  readonly alone: Percentiles
  /** With 4 in flight. */
  readonly together: Percentiles
}

interface Measuring {
  readonly server: Server
  readonly database: Database
  readonly calls: number
}

/** A list is measured at its first page, and deep inside if it has pages there; figures as they are. */
export async function measureCase(each: Case, measuring: Measuring): Promise<readonly CallsResult[]> {
  const url = new URL(measuring.server.url)
  const connections = await Promise.all(Array.from({ length: together }, () => Connection.open(url)))
  const [first] = connections
  if (first === undefined) throw new Error('no connection')
  try {
    const measure = (page: CallsResult['page'], paths: readonly string[]) =>
      measurePaths({ ...measuring, first, connections, name: each.name, page, paths })
    if (each.span === undefined) return [await measure('whole', each.paths)]
    const deep = await deepPaths(first, each.paths[0] ?? '', {
      span: each.span,
      most: Math.min(deepPlaces, measuring.calls),
    })
    const results = [await measure('first', each.paths)]
    return deep.length === 0 ? results : [...results, await measure('deep', deep)]
  } finally {
    for (const connection of connections) connection.close()
  }
}

/** The second pages of the same list from several instants on, by their cursors. */
async function deepPaths(
  connection: Connection,
  path: string,
  { span: [fromMs, toMs], most }: { readonly span: readonly [number, number]; readonly most: number },
): Promise<string[]> {
  const paths: string[] = []
  for (let place = 1; place <= most; place += 1) {
    const before = new Date(fromMs + ((toMs - fromMs) * place) / (most + 1)).toISOString()
    const from = `${path}&created_before=${before}`
    const { next_cursor: cursor } = await read(connection, from)
    if (cursor !== null) paths.push(`${from}&cursor=${cursor}`)
  }
  return paths
}

interface Paths extends Measuring {
  readonly first: Connection
  readonly connections: readonly Connection[]
  readonly name: string
  readonly page: CallsResult['page']
  /** Asked for by turns. */
  readonly paths: readonly string[]
}

async function measurePaths({ first, connections, name, page, paths, database, calls }: Paths): Promise<CallsResult> {
  let turn = 0
  const nextPath = () => paths[turn++ % paths.length] ?? ''
  const { items } = await read(first, nextPath())
  for (let n = 1; n < Math.min(warmUpCalls, calls); n += 1) await read(first, nextPath())
  const isCounted = await database.resetStatements()
  const alone = await timesOf([first], calls, nextPath)
  const blocksPerCall = isCounted ? (await database.blocks()) / calls : null
  const inFlight = await timesOf(connections, calls, nextPath)
  const times = { alone: percentilesOf(alone), together: percentilesOf(inFlight) }
  return { name, page, items: items.length, blocksPerCall, ...times }
}

async function timesOf(
  connections: readonly Connection[],
  calls: number,
  nextPath: () => string,
): Promise<readonly number[]> {
  const times: number[] = []
  let left = calls
  const send = async (connection: Connection): Promise<void> => {
    while (left > 0) {
      left -= 1
      const path = nextPath()
      const began = performance.now()
      const { status, body } = await connection.get(path)
      times.push(performance.now() - began)
      if (status !== 200) throw new Error(`GET ${path} was answered with ${status}: ${body}`)
    }
  }
  await Promise.all(connections.map(send))
  return times
}

interface Body {
  readonly items: readonly unknown[]
  /** Absent in figures. */
  readonly next_cursor?: string | null
}

async function read(connection: Connection, path: string): Promise<Body & { readonly next_cursor: string | null }> {
  const { status, body } = await connection.get(path)
  if (status !== 200) throw new Error(`GET ${path} was answered with ${status}: ${body}`)
  const answer: Body = JSON.parse(body)
  return { ...answer, next_cursor: answer.next_cursor ?? null }
}

/** Every result as a Markdown table; the last column says which of its times is above the bar. */
export function sizeTable(results: readonly CallsResult[]): string {
  const head = [
    'list or figures',
    'page',
    'items',
    'blocks',
    'p50 ms',
    'p99',
    'max',
    '4 at once: p50 ms',
    'p99',
    'max',
    `over ${barMs} ms`,
  ]
  const rows = results.map((result) => [
    result.name,
    result.page,
    String(result.items),
    result.blocksPerCall?.toFixed(0) ?? '–',
    ...[result.alone, result.together].flatMap(({ p50, p99, max }) => [p50, p99, max].map((ms) => ms.toFixed(1))),
    overOf(result),
  ])
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

/** The largest of what is over, since what is smaller is over less often. */
function overOf({ alone, together: inFlight }: CallsResult): string {
  const over = (which: 'p50' | 'p99' | 'max') => Math.max(alone[which], inFlight[which]) > barMs
  return (['p50', 'p99', 'max'] as const).find(over) ?? ''
}
