// A month of schedules in a second, on a real server whose time the test moves. Run: node --test examples/testing/
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Worker } from '@duly/sdk'
import { startTestServer } from 'duly/testing'
import { handleTrials, startTrial } from './trial.mjs'

let server
before(async () => {
  server = await startTestServer({ at: '2026-01-01T09:00:00Z' })
})
after(() => server.stop())

/** A worker whose mails are kept with their time; the first `failing` of "it was nice" do not go out. */
async function startWorker(t, failing = 0) {
  const mails = []
  let fails = failing
  const mail = async (text) => {
    if (text === 'it was nice' && fails-- > 0) throw new Error('no route to the mail server')
    mails.push(`${server.now().toISOString()} ${text}`)
  }
  const worker = handleTrials(new Worker(server.client), mail)
  await worker.start()
  t.after(() => worker.stop())
  return mails
}

test('a trial tells of itself after 23 and 30 days', async (t) => {
  const mails = await startWorker(t)
  await server.client.submit(startTrial, { to: 'ada@example.com' })
  await server.advance('60d')
  assert.deepEqual(mails, [
    '2026-01-01T09:00:00.000Z welcome',
    '2026-01-24T09:00:00.000Z one week left',
    '2026-01-31T09:00:00.000Z it was nice',
  ])
  assert.equal(server.now().toISOString(), '2026-03-02T09:00:00.000Z')
})

test('the last mail is tried again after 6, 12 and 24 hours', async (t) => {
  const mails = await startWorker(t, 3)
  await server.client.submit(startTrial, { to: 'bob@example.com' })
  await server.advance('40d')
  assert.equal(mails.at(-1), '2026-04-03T03:00:00.000Z it was nice')
})
