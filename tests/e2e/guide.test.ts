import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it } from 'vitest'
import { filesUnder } from '../repo/files.js'
import { createDatabase } from '../support/database.js'
import { startServer } from '../support/processes.js'
import { startNode } from '../support/test-process.js'

let url = ''
beforeAll(async () => {
  url = (await startServer({ databaseUrl: (await createDatabase()).url })).url
})

const ran = new Set<string>()

/** Runs an example to its end; what it printed, line by line. */
async function run(name: string): Promise<readonly string[]> {
  ran.add(`examples/guide/${name}`)
  const file = fileURLToPath(new URL(`../../examples/guide/${name}`, import.meta.url))
  const example = startNode([file], { name, env: { DULY_URL: url } })
  const { code } = await example.exited
  if (code !== 0) throw new Error(example.describe(`ended with ${code}`))
  return example.output
}

it('first-workflow.mjs prints the sum of its parts', async () => {
  expect(await run('first-workflow.mjs')).toEqual(['{ words: 10 }'])
})

it('first-worker.mjs prints the result', async () => {
  expect(await run('first-worker.mjs')).toEqual(["{ greeting: 'Hello Ada', attempt: 1 }"])
})

it('retries.mjs shows every end of an attempt', async () => {
  expect(await run('retries.mjs')).toEqual([
    'flaky { attempts: 3 }',
    '  attempt 1 failed',
    '  attempt 2 failed',
    '  attempt 3 succeeded',
    'busy { attempts: 2 }',
    '  attempt 1 failed',
    '  attempt 2 succeeded',
    'early { attempts: 2, failures: 0 }',
    '  attempt 1 snoozed',
    '  attempt 2 succeeded',
    'wrong FAILED no such customer',
    '  attempt 1 failed',
    'slow { attempts: 2 }',
    '  attempt 1 timed_out',
    '  attempt 2 succeeded',
  ])
})

it('idempotency.mjs makes one task and one payment', async () => {
  expect(await run('idempotency.mjs')).toEqual([
    'the same task: true replay: true',
    '{ charged: 1200, attempt: 2 } payments: 1',
    'another request: 409 idempotency_conflict',
  ])
})

it('dead-letters.mjs groups what died, runs one group again and gives the other up', async () => {
  const output = await run('dead-letters.mjs')
  expect(output.slice(0, 3)).toEqual([
    expect.stringMatching(/^3 × ServiceDown: no answer for order <n> \([0-9a-f]{16}\)$/),
    expect.stringMatching(/^2 × NoSuchOrder: no such order: <n> \([0-9a-f]{16}\)$/),
    'run again: 3, skipped: 0',
  ])
  expect(output.at(-1)).toBe('2 of 2')
})

it('lists.mjs finds what waits and brings it forward', async () => {
  expect(await run('lists.mjs')).toEqual(Array.from({ length: 3 }, () => 'send_letter high'))
})

it('recurring.mjs tells when it comes, and fires', async () => {
  expect(await run('recurring.mjs')).toEqual([
    'At 09:00, Monday to Friday, in America/New_York.',
    'the next one is the one that is foretold: true',
    "{ region: 'east', day: 'by hand' }",
    'fired',
  ])
})

it('logs.mjs shows each line as it comes, and says why its task waited', async () => {
  expect(await run('logs.mjs')).toEqual(['no_worker_for_queue', 'info row 1', 'warn row 2', 'info row 3', 'succeeded'])
})

it('leaves no example of the guide out', () => {
  expect([...ran].sort()).toEqual(filesUnder('examples/guide', ['.mjs']).map(({ path }) => path))
})
