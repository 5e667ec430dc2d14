import pg from 'pg'
import { describe, expect, test } from 'vitest'
import type { SessionState } from '../../packages/server/src/dispatch/session-state.js'
import { until } from '../../packages/server/src/dispatch/testing/http-node.js'
import type { Fault } from '../../packages/server/src/testing/faulty-client.js'
import { newTask } from '../../packages/server/src/testing/test-node.js'
import { openSharedNode } from './shared-node.js'

const node = await openSharedNode()

let queues = 0

/** A worker of one slot, and two tasks for it. */
async function hire(): Promise<SessionState> {
  const { services, sessions, intake } = node.parts
  const queue = `late-${queues++}`
  const registration = { name: 'w', host: null, version: null, queues: [queue], taskTypes: ['work'], slots: 1 }
  const { id } = await services.workers.register({ ...registration, heartbeatMs: 60_000 }, null)
  const state = await sessions.require({ id, tenant: null })
  await poll(state, 0)
  await intake.submitBatch([newTask({ queue }), newTask({ queue })])
  return state
}

const poll = ({ row: { id } }: SessionState, waitMs: number) =>
  node.parts.services.workers.poll(
    { id, tenant: null },
    { slots: 1, waitMs, received: 0 },
    new AbortController().signal,
  )

/** Claims stand still at the server, before they have asked for the session. */
async function holdClaims(): Promise<{ release(): Promise<void> }> {
  const client = new pg.Client({ connectionString: node.url })
  await client.connect()
  await client.query('begin')
  await client.query('lock table queues in access exclusive mode')
  return { release: () => client.end() }
}

async function claimsAtServer(): Promise<number> {
  const [row] = await node.query<{ count: number }>(
    `select count(*)::integer as count from pg_stat_activity
     where datname = current_database() and state = 'active' and query like '%wanted as materialized%' and pid <> pg_backend_pid()`,
  )
  return row?.count ?? 0
}

const leasesOf = async ({ row }: SessionState): Promise<number> =>
  (await node.query('select from open_tasks where session = $1', [row.id])).length

describe('a claim that was given up while the server goes on with it', () => {
  const ends: Readonly<Record<string, Fault | null>> = {
    'and is ended there at once': null,
    'and can only be ended later': 'lost_before',
  }
  for (const [name, fault] of Object.entries(ends)) {
    test(`${name} brings nothing beside what the session is given after it`, async () => {
      const state = await hire()
      const { release } = await holdClaims()
      const met: string[] = []
      node.faults = (statement) => {
        if (met.includes(statement)) return null
        if (statement !== 'claim' && statement !== 'end_backend') return null
        met.push(statement)
        return statement === 'claim' ? 'timeout_during' : fault
      }
      const polled = poll(state, 60_000)
      await until('the claim was given up', () => state.doubts > 0 && state.promised === 0)
      const looking = node.parts.dispatcher.look()
      await until('the node claims anew', async () => state.promised === 1 && (await claimsAtServer()) > 0)
      await release()
      expect(await polled).toHaveLength(1)
      await looking
      await until('all claims are over', async () => state.promised === 0 && (await claimsAtServer()) === 0)
      expect(await leasesOf(state)).toBe(1)
    })
  }
})
