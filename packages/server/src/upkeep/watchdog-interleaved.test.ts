import { pino } from 'pino'
import { afterEach, describe, expect, test } from 'vitest'
import type { AttemptStore } from '../store/attempt-store.js'
import { expectSound, openRow, statusOf } from '../testing/facts.js'
import { claimLife, type Life, mark, passDeadline, say, silence, startLife, words } from '../testing/lives.js'
import { openTestStore } from '../testing/test-node.js'
import { Watchdog } from './watchdog.js'

const store = await openTestStore()
const { node } = store
afterEach(() => expectSound(node))

describe('what happens between the look and the act', () => {
  /** A pass that does `between` after it has judged and before it writes. */
  async function passWith(between: () => Promise<unknown>): Promise<void> {
    await node.query(
      `update store_marks set marked_at = now() + interval '1 hour', judge_after = least(judge_after, now())`,
    )
    const judged =
      <A extends unknown[], R>(look: (...args: A) => Promise<R[]>) =>
      async (...args: A): Promise<R[]> => {
        const rows = await look(...args)
        if (rows.length > 0) await between()
        return rows
      }
    const { attempts: real, watch: watchStore } = node.stores
    const judgeLost = judged(real.judgeLost.bind(real))
    const judgeOverdue = judged(real.judgeOverdue.bind(real))
    const watchdog = new Watchdog({
      ...{ store: watchStore, attempts: node.attempts, random: () => 0.5, log: pino({ level: 'silent' }) },
      attemptStore: { judgeLost, judgeOverdue } as AttemptStore,
      ...{ maxCrashes: 3, batch: 500, onLost: () => {}, onTimedOut: () => {} },
    })
    await watchdog.runOnce()
  }

  /** The attempt ends by its worker, and a newer one begins. */
  async function renew(life: Life): Promise<Life> {
    await say(node, life, words.release)
    return claimLife(node, life)
  }

  for (const [what, prepare] of [
    ['a lost session', (life: Life) => silence(node, life.worker)],
    ['a passed deadline', (life: Life) => passDeadline(node, life.id)],
  ] as const) {
    test(`${what}: a newer attempt is not ended`, async () => {
      const life = await startLife(node)
      await prepare(life)
      let heir: Life | undefined
      await passWith(async () => {
        heir = await renew(life)
        // the newer one is in no better place, but it was not looked at
        if (what === 'a passed deadline') await passDeadline(node, life.id)
      })
      expect(await openRow(node, life.id)).toMatchObject({
        status: 'RUNNING',
        attempt: 2,
        session: heir?.worker.row.id,
        crashes: 0,
      })
      expect(heir && (await say(node, heir, words.succeed))).toMatchObject({ accepted: true, status: 'SUCCEEDED' })
    })

    test(`${what}: a success that came first stands`, async () => {
      const life = await startLife(node)
      await prepare(life)
      await passWith(() => say(node, life, words.succeed))
      expect(await node.tasks.get(life.id, null)).toMatchObject({ status: 'SUCCEEDED', crashes: 0, failures: 0 })
    })

    test(`${what}: a mark that came first ends it`, async () => {
      const life = await startLife(node)
      await prepare(life)
      await passWith(() => mark(node, life.id))
      expect(await statusOf(node, life.id)).toBe('CANCELLED')
    })
  }

  test('a session that was given a fresh lease keeps its task', async () => {
    const life = await startLife(node)
    await silence(node, life.worker)
    await passWith(() =>
      node.query(`update worker_sessions set ended_at = null, live_until = now() + interval '15 s' where id = $1`, [
        life.worker.row.id,
      ]),
    )
    expect(await openRow(node, life.id)).toMatchObject({ status: 'RUNNING', crashes: 0 })
  })

  test('a deadline that was started afresh is not passed', async () => {
    const life = await startLife(node)
    await passDeadline(node, life.id)
    await passWith(() =>
      node.query(`update open_tasks set wake_at = now() + interval '1 min' where id = $1`, [life.id]),
    )
    expect(await openRow(node, life.id)).toMatchObject({ status: 'RUNNING', failures: 0 })
  })
})
