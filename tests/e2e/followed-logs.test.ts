import { Duly } from '@duly/sdk'
import { expect, it } from 'vitest'
import { cli } from '../../packages/duly/src/testing/captured-cli.js'
import { Api, openStore, startHttpNode } from '../../packages/server/src/dispatch/testing/http-node.js'
import { freePort } from '../support/ports.js'

const lines = 40

/** Over a restart of the one node that it asks, while a second one takes what the handler says. */
it('duly task logs -f goes on over a restart of its node, losing and repeating nothing', async () => {
  const { url: databaseUrl } = await openStore()
  const flags = { graceSeconds: 30 }
  // of its own, so that nobody has it while no node serves there
  const port = await freePort()
  const [first, other] = [await startHttpNode(databaseUrl, { ...flags, port }), await startHttpNode(databaseUrl, flags)]
  const worker = await other.api.worker()
  const { task_id: id } = await other.api.submit()
  const [grant] = await worker.poll(1, { wait: 10 })
  if (grant === undefined) throw new Error('nothing was granted')
  const say = async (message: string): Promise<void> => {
    const log = { lease: grant.lease, task_id: id, at: '2026-04-03T10:00:00.000Z', level: 'info', message }
    const beat = { leases: [grant.lease], logs: [log] }
    expect((await other.api.call('POST', `/workers/${worker.id}/heartbeat`, beat)).status).toBe(200)
  }
  let out = ''
  let reached = (): void => {}
  const shown = (text: string) =>
    new Promise<void>((resolve) => {
      reached = () => {
        if (out.includes(text)) resolve()
      }
      reached()
    })
  const follows = cli(['task', 'logs', id, '-f', '--json', '--url', first.url], {
    out: (text) => {
      out += text
      reached()
    },
  })
  const duly = new Duly({ url: `${first.url},${other.url}` })
  const handleLogs = (async () => {
    const messages: string[] = []
    for await (const { message } of duly.tasks.logs(id, { follow: true })) messages.push(message)
    return messages
  })()
  const names = Array.from({ length: lines }, (_, n) => `line-${n}`)
  for (const [n, name] of names.entries()) {
    await say(name)
    if (n !== lines / 2) continue
    await shown(`"${name}"`)
    await first.stop()
    // said while nobody serves there
    await say('between')
    await startHttpNode(databaseUrl, { ...flags, port })
  }
  await worker.report([grant])
  expect((await follows).code).toBe(0)
  const expected = names.toSpliced(lines / 2 + 1, 0, 'between')
  const told = out.trim().split('\n')
  expect(told.map((line) => (JSON.parse(line) as { message: string }).message)).toEqual(expected)
  expect(await handleLogs).toEqual(expected)
  duly.close()
  expect(await new Api(first.url).get(id)).toMatchObject({ status: 'SUCCEEDED' })
}, 120_000)
