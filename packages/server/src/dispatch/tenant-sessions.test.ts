import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { SessionRef } from '../model.js'
import { expectSound } from '../testing/facts.js'
import { newTask, openTestNode, openTestStore, type TestNode } from '../testing/test-node.js'

const store = await openTestStore()
const { node } = store
let elsewhere: TestNode
beforeAll(async () => {
  elsewhere = await openTestNode(store.url, { number: 1 })
})
afterEach(() => expectSound(node))
afterAll(async () => {
  await elsewhere.close()
})

const never = new AbortController().signal
const poll = { slots: 1, waitMs: 60_000, received: 0 }
const nothing = { progress: [], checkpoints: [], logs: [], lagMs: null, rssBytes: null }
const beat = { received: 0, leases: [], waitMs: 60_000, ...nothing }

/** Every call of the worker protocol that names a session. */
const calls = {
  poll: (at: TestNode, session: SessionRef) => at.workers.poll(session, poll, never),
  report: (at: TestNode, session: SessionRef) => at.workers.report(session, []),
  exchange: (at: TestNode, session: SessionRef) => at.workers.exchange(session, [], poll, never),
  heartbeat: (at: TestNode, session: SessionRef) => at.workers.heartbeat(session, beat, never),
  leave: (at: TestNode, session: SessionRef) => at.workers.leave(session),
}

test.each(Object.keys(calls) as (keyof typeof calls)[])(
  '%s takes a session only from a key of the same binding, at any node',
  async (name) => {
    const queue = `sessions-${name}`
    const bound = (await node.worker({ queues: [queue] }, 'acme')).row.id
    const free = (await node.worker({ queues: [queue] })).row.id
    await node.intake.submit(newTask({ queue }))
    const strangers = [
      { id: bound, tenant: 'rival' },
      { id: bound, tenant: null },
      { id: free, tenant: 'acme' },
    ]
    for (const at of [node, elsewhere]) {
      for (const session of strangers) {
        await expect(calls[name](at, session), JSON.stringify(session)).rejects.toMatchObject({ code: 'session_lost' })
      }
    }
    for (const id of [bound, free]) expect(await node.stores.sessions.load(id)).toMatchObject({ lastGrant: 0 })
    for (const session of [
      { id: bound, tenant: 'acme' },
      { id: free, tenant: null },
    ]) {
      await expect(elsewhere.workers.leave(session)).resolves.toBeUndefined()
    }
  },
)
