import type { Uuid } from '@duly/domain'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { until } from '../../packages/server/src/dispatch/testing/http-node.js'
import type { GrantedTask, SessionRef } from '../../packages/server/src/model.js'
import type { Fault } from '../../packages/server/src/testing/faulty-client.js'
import { newTask } from '../../packages/server/src/testing/test-node.js'
import { openSharedNode } from './shared-node.js'

const node = await openSharedNode()

let queues = 0

interface Unfetched {
  readonly worker: SessionRef
  readonly id: Uuid
}

/** A task that was claimed for a poll whose client went away meanwhile, and the worker, which does not poll again. */
async function unfetched(): Promise<Unfetched> {
  const { intake, services } = node.parts
  const queue = `unfetched-${queues++}`
  const registration = { name: 'w', host: null, version: null, queues: [queue], taskTypes: ['work'], slots: 1 }
  const { id: session } = await services.workers.register({ ...registration, heartbeatMs: 60_000 }, null)
  const worker = { id: session, tenant: null }
  const { id } = await intake.submit(newTask({ queue }))
  const gone = new AbortController()
  node.faults = (statement) => {
    if (statement !== 'claim') return null
    gone.abort()
    return 'slow'
  }
  expect(await services.workers.poll(worker, { slots: 1, waitMs: 60_000, received: 0 }, gone.signal)).toEqual([])
  await until('the claim', async () => (await standing(id))?.status === 'RUNNING')
  return { worker, id }
}

const standing = async (id: Uuid): Promise<{ status: string; attempt: number } | undefined> =>
  (
    await node.query<{ status: string; attempt: number }>('select status, attempt from open_tasks where id = $1', [id])
  )[0]

/** Lets the next giving back meet this; resolves when it has. */
function nextGiveBack(fault: Fault): Promise<void> {
  return new Promise((resolve) => {
    node.faults = (statement) => {
      if (statement !== 'reopen') return null
      node.faults = () => null
      resolve()
      return fault
    }
  })
}

const poll = ({ worker }: Unfetched, received = 0): Promise<readonly GrantedTask[]> =>
  node.parts.services.workers.poll(worker, { slots: 1, waitMs: 60_000, received }, new AbortController().signal)

/** What is given out now is the worker's: its report of it counts. */
async function expectHeld(caught: Unfetched, granted: readonly GrantedTask[], attempt: number): Promise<void> {
  expect(granted).toMatchObject([{ id: caught.id, attempt }])
  const reports = granted.map(({ id, lease }) => ({ id, lease, outcome: 'succeeded' as const, result: null }))
  expect(await node.parts.services.workers.report(caught.worker, reports)).toMatchObject([{ accepted: true }])
}

/** Somebody else holds the row of the task. */
async function holding(id: Uuid): Promise<{ release(): Promise<void> }> {
  const client = new pg.Client({ connectionString: node.url })
  await client.connect()
  await client.query('begin')
  await client.query('select from open_tasks where id = $1 for update', [id])
  return { release: () => client.end() }
}

describe('a task that its worker did not fetch and whose giving back failed', () => {
  test('comes with a lease that stands when it was given back all the same', async () => {
    const caught = await unfetched()
    await nextGiveBack('timeout_after')
    await until('it waits again', async () => (await standing(caught.id))?.status === 'PENDING')
    await expectHeld(caught, await poll(caught), 2)
  })

  test('comes with the lease that it had when it was not', async () => {
    const caught = await unfetched()
    await nextGiveBack('lost_before')
    await expectHeld(caught, await poll(caught), 1)
  })

  test('does not come before the store has decided, when it may be given back still', async () => {
    const caught = await unfetched()
    const { release } = await holding(caught.id)
    await nextGiveBack('timeout_during')
    await until('the server goes on with it', async () => (await waiting('reopen')) === 1)
    const polling = poll(caught)
    await until('the store is asked', async () => (await waiting('repeat_grants')) === 1)
    await release()
    await expectHeld(caught, await polling, 2)
  })

  test('is given to another worker in the end', async () => {
    const caught = await unfetched()
    await nextGiveBack('lost_before')
    await until('it waits again', async () => (await standing(caught.id))?.status === 'PENDING')
  })
})

/** Statements of the node that wait for a lock, by what is particular to them. */
async function waiting(kind: 'reopen' | 'repeat_grants'): Promise<number> {
  const mark = kind === 'reopen' ? '%delay_wished%' : '%set deadline_at = now()%o.grant_no >%'
  const [row] = await node.query<{ count: number }>(
    `select count(*)::integer as count from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
    [mark],
  )
  return row?.count ?? 0
}

test('a poll that comes while its task is given back gets it once, with a lease that stands', async () => {
  const caught = await unfetched()
  await nextGiveBack(200)
  const granted = await poll(caught)
  const [{ grant = 0, attempt = 0 } = {}] = granted
  await expectHeld(caught, granted, attempt)
  const { id } = await node.parts.intake.submit(newTask({ queue: `unfetched-${queues - 1}` }))
  expect(await poll(caught, grant)).toMatchObject([{ id }])
})
