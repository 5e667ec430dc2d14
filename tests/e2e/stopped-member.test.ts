import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Duly } from '@duly/sdk'
import pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { checkInvariants } from '../chaos/checker/invariants.js'
import { cleanUpLater } from '../support/clean-up.js'
import { createDatabase } from '../support/database.js'
import { startServer, startWorker } from '../support/processes.js'

const file = fileURLToPath(new URL('./worker.mjs', import.meta.url))
const GRACE_MS = 300
/** When the second signal comes after the first one: before, while and after the worker gives back what it holds, ms. */
const moments =
  process.env.DULY_LONG === '1' ? Array.from({ length: 40 }, (_, n) => n * 25) : [0, 100, 250, 300, 350, 500, 700]

let url: string
let duly: Duly
let client: pg.Client
beforeAll(async () => {
  const { url: databaseUrl } = await createDatabase()
  client = new pg.Client({ connectionString: databaseUrl })
  cleanUpLater(() => client.end())
  await client.connect()
  const env = { DULY_LEASE_SECONDS: '2', DULY_HEARTBEAT_SECONDS: '0.5' }
  url = (await startServer({ databaseUrl, env })).url
  duly = new Duly({ url })
})

const begin = () => startWorker({ url, file, env: { GRACE_MS: String(GRACE_MS) } })

/** A workflow whose first attempt at one member does not end by itself. */
async function submit() {
  const workflow = duly.workflow('stopped')
  const slow = workflow.task('slow', 'member', 60_000)
  const quick = workflow.task('quick', 'member', 0)
  workflow.task('join', 'join', null, { after: [slow, quick] })
  return workflow.submit()
}

test('a worker that is killed while it stops costs its workflow nothing: members end once, the join runs once', {
  timeout: 300_000,
}, async () => {
  const workflows = []
  for (const moment of moments) {
    const worker = begin()
    await worker.line(/registered as/)
    const handle = await submit()
    workflows.push(handle)
    const slow = handle.node('slow').id
    await worker.line(new RegExp(`began ${slow}, attempt 1`))
    worker.signal('SIGTERM')
    await delay(moment)
    await worker.kill('SIGKILL')
  }
  const last = begin()
  for (const { id } of workflows) {
    const { status, graph } = await duly.workflows.wait(id, { timeout: '60s' })
    expect(status).toBe('SUCCEEDED')
    const [slow, quick, join] = await Promise.all(graph.map((node) => duly.tasks.get(node.id)))
    expect(slow?.attempts).toBeGreaterThan(1)
    expect(slow?.failures).toBe(0)
    // what the join was given is what each of them ended with
    expect(join?.result).toEqual({ slow: slow?.result, quick: quick?.result })
  }
  await last.kill('SIGTERM')
  expect(await checkInvariants(client)).toEqual([])
  // each member and each join has one accepted end
  const { rows } = await client.query('select count(*)::integer as ends from outcomes')
  expect(rows).toEqual([{ ends: 3 * moments.length }])
})
