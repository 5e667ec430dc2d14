import { expect, it } from 'vitest'
import { startOwnPostgres } from '../../../../tests/support/own-postgres.js'
import { enough, startHttpNode, timed } from '../dispatch/testing/http-node.js'

/** The drain and a statement's time, and as much again for a loaded machine. */
const GRACE_MS = 20_000

it.each([
  ['is gone', 'stop'],
  ['answers nothing any more', 'freeze'],
] as const)('a node whose database %s ends within its grace, with submissions and polls under way', async (_, how) => {
  const postgres = await startOwnPostgres()
  const node = await startHttpNode(postgres.url, { drainSeconds: 2, statementTimeoutSeconds: 2 })
  const worker = await node.api.worker()
  const poll = worker.tryPoll(1, { wait: 60 }).catch(() => null)
  await enough()
  if (how === 'stop') await postgres.stop('immediate')
  else postgres.freeze()
  const submissions = Array.from({ length: 20 }, () =>
    node.api.call<{ code: string }>('POST', '/tasks', { task_type: 'work', queue: 'other' }).catch(() => null),
  )
  await enough()
  const { ms } = await timed(() => node.stop())
  expect(ms).toBeLessThan(GRACE_MS)
  await poll
  const codes = (await Promise.all(submissions)).map((answer) => answer?.body.code ?? 'cut off')
  for (const code of codes) expect(['store_unavailable', 'commit_unknown', 'shutting_down', 'cut off']).toContain(code)
  postgres.thaw()
})
