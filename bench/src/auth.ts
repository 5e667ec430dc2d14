import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startPostgres } from 'duly'
import { Connection } from './connection.js'
import { cpuOf } from './cpu.js'
import { program, Server } from './server.js'
import { type Spread, spreadOf } from './stats.js'

export interface AuthOptions {
  readonly rounds: number
  /** Requests to each server in a round. */
  readonly requests: number
}

const inFlight = 16
/** Refused (400) for its id, before any service: what is measured is HTTP, the key, and the answer. */
const path = '/api/v1/tasks/nonsense/cancel'

/**
 * What asking for a key costs: the same requests to a server that runs open and to one that asks, in turn, round after round.
 * Prints the CPU time of each server a request.
 */
export async function benchAuth({ rounds, requests }: AuthOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'duly-bench-auth-'))
  chmodSync(folder, 0o755) // PostgreSQL's user looks in
  const undo: (() => Promise<void>)[] = [async () => rmSync(folder, { recursive: true, force: true })]
  try {
    const postgres = await startPostgres({ dataDir: join(folder, 'postgres') })
    undo.push(() => postgres.stop())
    const shared = { databaseUrl: postgres.url, folder, nodeArguments: [] }
    const open = await Server.start({ ...shared, isOpen: true })
    undo.push(() => open.stop())
    const asking = await Server.start({ ...shared, isOpen: false })
    undo.push(() => asking.stop())
    const headers = { authorization: `Bearer ${await makeKey(postgres.url)}` }
    const costs: Record<'open' | 'asking', number[]> = { open: [], asking: [] }
    for (let round = 0; round <= rounds; round += 1) {
      const inOpen = await costOf(open, requests, {})
      const inAsking = await costOf(asking, requests, headers)
      if (round === 0) continue // warm-up
      costs.open.push(inOpen)
      costs.asking.push(inAsking)
    }
    const added = costs.asking.map((cost, round) => cost - (costs.open[round] ?? Number.NaN))
    console.log(`server CPU µs a request, ${rounds} rounds of ${requests}: median (least–most)`)
    console.log(`  open      ${text(spreadOf(costs.open))}`)
    console.log(`  with keys ${text(spreadOf(costs.asking))}`)
    console.log(`  added     ${text(spreadOf(added))}`)
  } finally {
    for (const step of undo.reverse()) await step()
  }
}

const text = ({ median, least, most }: Spread): string =>
  `${median.toFixed(1)} (${least.toFixed(1)}–${most.toFixed(1)})`

async function makeKey(databaseUrl: string): Promise<string> {
  const args = [program, 'key', 'create', '--name', 'bench', '--scopes', 'submit', '--database-url']
  const env = { ...process.env, DULY_DATABASE_URL: databaseUrl }
  return (await promisify(execFile)(process.execPath, args, { env })).stdout.trim()
}

/** CPU time of the server for one request, µs. */
async function costOf(server: Server, requests: number, headers: Readonly<Record<string, string>>): Promise<number> {
  const connections = await Promise.all(Array.from({ length: inFlight }, () => Connection.open(new URL(server.url))))
  const before = cpuOf(server.pid)
  let left = requests
  const send = async (connection: Connection): Promise<void> => {
    while (left > 0) {
      left -= 1
      const { status, body } = await connection.post(path, '', headers)
      if (status !== 400) throw new Error(`answered ${status}: ${body}`)
    }
  }
  await Promise.all(connections.map(send))
  const cost = (cpuOf(server.pid) - before) / requests
  for (const connection of connections) connection.close()
  return cost
}
