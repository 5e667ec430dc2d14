import { Duly } from '@duly/sdk'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { type HttpNode, openStore, startHttpNode } from '../../../server/src/dispatch/testing/http-node.js'
import { tellIfUnserved } from '../cli/unserved-note.js'
import { cli } from '../testing/captured-cli.js'

let node: HttpNode
beforeAll(async () => {
  node = await startHttpNode((await openStore()).url)
})

/** What is told of a task that waits, once the patience is over. */
async function noteOn(task: { task_type: string; queue?: string; delay_seconds?: number }): Promise<string[]> {
  const duly = new Duly({ url: node.url })
  onTestFinished(() => duly.close())
  const { task_id } = await node.api.submit(task)
  const told: string[] = []
  const { signal } = new AbortController()
  await tellIfUnserved({ duly, id: task_id, signal, afterMs: 0, tell: (note) => told.push(note) })
  return told
}

it('tells who is missing, where no live worker serves the type in the queue', async () => {
  const note = expect.stringMatching(/^note: no live worker serves the type mail in the queue post;/)
  expect(await noteOn({ task_type: 'mail', queue: 'post' })).toEqual([note])
  await node.api.worker({ queues: ['other'], taskTypes: ['mail'] })
  expect(await noteOn({ task_type: 'mail', queue: 'post' })).toEqual([note])
  await node.api.worker({ queues: ['post'], taskTypes: ['letter'] })
  expect(await noteOn({ task_type: 'mail', queue: 'post' })).toEqual([note])
  await node.api.worker({ queues: ['post'], taskTypes: ['mail'] })
  expect(await noteOn({ task_type: 'mail', queue: 'post' })).toEqual([])
})

it('tells that the queue is paused, whoever serves it', async () => {
  await node.api.worker({ queues: ['halted'], taskTypes: ['mail'] })
  expect((await node.api.call('POST', '/queues/halted/pause')).status).toBe(200)
  const note = expect.stringMatching(/^note: the queue halted is paused;.*`duly queue resume halted`/)
  expect(await noteOn({ task_type: 'mail', queue: 'halted' })).toEqual([note])
  expect((await node.api.call('POST', '/queues/halted/resume')).status).toBe(200)
  expect(await noteOn({ task_type: 'mail', queue: 'halted' })).toEqual([])
})

it('tells nothing of a task that waits for its time, nor when nothing can be known', async () => {
  expect(await noteOn({ task_type: 'late', delay_seconds: 3_600 })).toEqual([])
  const duly = new Duly({ url: 'http://127.0.0.1:1', retries: 0 })
  onTestFinished(() => duly.close())
  const told: string[] = []
  const { signal } = new AbortController()
  await tellIfUnserved({ duly, id: 'task-1', signal, afterMs: 0, tell: (note) => told.push(note) })
  expect(told).toEqual([])
})

it('waits no longer than the limit that was given, and tells how to go on', async () => {
  const { code, out, err } = await cli(['task', 'submit', 'nobody', '--wait', '10ms', '--url', node.url])
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toMatch(
    /^task-\w+ submitted, waiting …\n(task-\w+) PENDING: not finished yet; `duly task get \1 --wait 60s` waits on\n$/,
  )
})

it('takes a duration only: a type stands before it, and a file has no limit', async () => {
  const at = ['--url', node.url]
  const type = await cli(['task', 'submit', '--wait', 'send_email', ...at])
  expect(type.code).toBe(2)
  expect(type.err).toMatch(/--wait: "send_email" is not a duration\n.*`duly task submit send_email --wait`/)
  const file = await cli(['task', 'submit', '--file', 'x.jsonl', '--wait', '5s', ...at])
  expect(file).toMatchObject({ code: 2, err: expect.stringMatching(/--wait takes no limit with --file/) })
})
