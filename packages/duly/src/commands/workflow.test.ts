import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  type HttpNode,
  openStore,
  type RawWorker,
  startHttpNode,
  type WireGrant,
} from '../../../server/src/dispatch/testing/http-node.js'
import { cli } from '../testing/captured-cli.js'

let node: HttpNode
let folder: string
beforeAll(async () => {
  node = await startHttpNode((await openStore()).url)
  folder = await mkdtemp(join(tmpdir(), 'duly-workflow-'))
})

const run = (...args: string[]) => cli(['workflow', ...args, '--url', node.url])
const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).out)

/** So many tasks, in however many answers they come. */
async function taken(worker: RawWorker, count: number): Promise<WireGrant[]> {
  const grants: WireGrant[] = []
  while (grants.length < count) grants.push(...(await worker.poll(count - grants.length, { wait: 10 })))
  return grants
}

let files = 0
async function fileOf(workflow: object): Promise<string> {
  const path = join(folder, `${files++}.json`)
  await writeFile(path, JSON.stringify(workflow))
  return path
}

const diamond = (queue: string) => ({
  workflow_name: 'user-onboarding',
  tasks: [
    { task_id: 'create-account', task_type: 'work', queue },
    { task_id: 'send-mail', task_type: 'work', queue, dependencies: ['create-account'] },
    { task_id: 'set-up', task_type: 'work', queue, dependencies: ['create-account'], max_retries: 0 },
    { task_id: 'notify', task_type: 'work', queue, dependencies: ['send-mail', 'set-up'] },
  ],
})

const submitted = async (queue: string): Promise<string> =>
  (await json('submit', await fileOf(diamond(queue)))).workflow_id

describe('duly workflow submit', () => {
  it('prints the id and where it stands; with --json what the API answered, and whether it was a replay', async () => {
    const file = await fileOf(diamond('plain'))
    expect((await run('submit', file)).out).toMatch(/^wf-\w{26} {2}RUNNING\n$/)
    const first = await json('submit', file, '--idempotency-key', 'k')
    expect(first).toMatchObject({ status: 'RUNNING', replayed: false, tasks: { notify: 'BLOCKED' } })
    const again = await run('submit', file, '--idempotency-key', 'k')
    expect(again.out).toBe(`${first.workflow_id}  RUNNING  (submitted before, with the same key)\n`)
  })

  it('reads the standard input', async () => {
    const text = JSON.stringify(diamond('stdin'))
    const { code, out } = await cli(['workflow', 'submit', '-', '--url', node.url], { readStdin: async () => text })
    expect([code, out]).toEqual([0, expect.stringMatching(/^wf-/)])
  })

  it('names the cycle, and each place that is wrong', async () => {
    const task = (task_id: string, ...dependencies: string[]) => ({ task_id, task_type: 't', dependencies })
    const file = await fileOf({ workflow_name: 'w', tasks: [task('a', 'b'), task('b', 'a'), task('c', 'x')] })
    const { code, err } = await run('submit', file)
    expect(code).toBe(2)
    expect(err).toContain('tasks[0].dependencies[0] closes a cycle: a → b → a')
    expect(err).toContain('tasks[2].dependencies[0] no task of this workflow is called "x"')
  })

  it('says what is wrong with the file', async () => {
    expect(await run('submit', join(folder, 'nowhere.json'))).toMatchObject({
      code: 2,
      err: expect.stringContaining('does not exist'),
    })
    const broken = join(folder, 'broken.json')
    await writeFile(broken, '{')
    expect(await run('submit', broken)).toMatchObject({ code: 2, err: expect.stringContaining('is not JSON') })
  })

  it('waits for the end: 0 when it SUCCEEDED, else 1', async () => {
    const worker = await node.api.worker({ queues: ['waited'], taskTypes: ['work'] })
    const one = { workflow_name: 'one', tasks: [{ task_id: 'only', task_type: 'work', queue: 'waited' }] }
    const file = await fileOf(one)
    const well = run('submit', file, '--wait')
    await worker.report(await taken(worker, 1))
    expect(await well).toMatchObject({ code: 0, out: expect.stringMatching(/\nstatus +SUCCEEDED\n/) })
    const badly = run('submit', file, '--wait')
    const error = { class: 'SmtpError', message: 'no route', retryable: false }
    await worker.report(await taken(worker, 1), { outcome: 'failed', error })
    expect(await badly).toMatchObject({ code: 1, out: expect.stringContaining('SmtpError: no route') })
    expect(await run('submit', file, '--wait', '50ms')).toMatchObject({
      code: 1,
      out: expect.stringMatching(/\nstatus +RUNNING\n/),
    })
  })
})

describe('duly workflow get --wait and graph --follow', () => {
  const one = { workflow_name: 'one', tasks: [{ task_id: 'only', task_type: 'work', queue: 'followed' }] }

  it('show how far it is, and end with it: 0 when it SUCCEEDED, else 1', async () => {
    const worker = await node.api.worker({ queues: ['followed'], taskTypes: ['work'], slots: 2 })
    const [well, badly] = [
      (await json('submit', await fileOf(one))).workflow_id,
      (await json('submit', await fileOf(one))).workflow_id,
    ]
    const [first, second] = await taken(worker, 2)
    const waiting = [run('get', well, '--wait'), run('graph', well, '--follow'), run('graph', badly, '-f', '--json')]
    if (first && second) {
      await worker.report([first])
      await worker.report([second], { outcome: 'failed', error: { class: 'E', message: 'no', retryable: false } })
    }
    const [got, drawn, asJson] = await Promise.all(waiting)
    expect(got).toMatchObject({
      code: 0,
      out: expect.stringMatching(/\nstatus +SUCCEEDED\n/),
      err: expect.stringMatching(/\] 1\/1 finished · 1 succeeded\n$/),
    })
    expect(drawn).toMatchObject({ code: 0, out: expect.stringMatching(/1 of 1 ended\n✓ only {2}SUCCEEDED/) })
    expect(asJson?.code).toBe(1)
    expect(JSON.parse(asJson?.out ?? '')).toMatchObject({ workflow_id: badly, status: 'FAILED' })
  })

  it('stop waiting at their limit', async () => {
    const file = await fileOf({ ...one, tasks: [{ task_id: 'only', task_type: 'nobody', queue: 'nowhere' }] })
    const id = (await json('submit', file)).workflow_id
    expect(await run('get', id, '--wait', '50ms')).toMatchObject({
      code: 1,
      out: expect.stringMatching(/\nstatus +RUNNING\n/),
    })
  })
})

describe('duly workflow', () => {
  it('shows, draws, lists, cancels and retries', async () => {
    const worker = await node.api.worker({ queues: ['whole'], taskTypes: ['work'], slots: 10 })
    const id = await submitted('whole')
    await worker.report(await taken(worker, 1))
    const [mail, setUp] = await taken(worker, 2)
    expect((await run('graph', id)).out.split('\n').map((line) => line.replace(/ {2,}[A-Z].*/, ''))).toEqual([
      expect.stringMatching(new RegExp(`^user-onboarding {2}${id}`)),
      '✓   create-account',
      '├─╮',
      '│ ▶ send-mail',
      '▶ │ set-up',
      '╰─┤',
      '  ○ notify',
      '',
    ])
    const error = { class: 'SmtpError', message: 'no route', retryable: false }
    if (mail && setUp) {
      await worker.report([mail])
      await worker.report([setUp], { outcome: 'failed', error })
    }
    const shown = (await run('get', id)).out
    expect(shown).toMatch(/\nstatus +FAILED\ntasks +4: 2 SUCCEEDED, 2 FAILED\n/)
    expect(shown).toMatch(/\nlongest chain +create-account → /)
    expect(shown).toMatch(/\nNAME +STATUS +TYPE .*\ncreate-account +SUCCEEDED +work +1 /)
    expect((await run('list', '--status', 'failed', '--name', 'user-onboarding')).out).toMatch(
      new RegExp(`^WORKFLOW .*\n${id} +user-onboarding +FAILED +4/4 +2 `),
    )
    expect((await run('retry', id)).out).toBe(`${id}  RUNNING: 2 of 4 tasks run again\n`)
    expect(await json('graph', id)).toMatchObject({
      workflow_id: id,
      run: 2,
      graph: [{ node_name: 'create-account' }, {}, {}, {}],
    })
    expect((await run('cancel', id)).out).toBe(`${id}  CANCELLED\n`)
    expect((await run('cancel', id)).code).toBe(0)
  })

  it('says that what runs was told of a cancellation', async () => {
    const worker = await node.api.worker({ queues: ['held'], taskTypes: ['work'] })
    const id = await submitted('held')
    await taken(worker, 1)
    expect((await run('cancel', id)).out).toBe(`${id}  RUNNING, cancellation requested: 1 task runs still\n`)
    expect((await run('get', id)).out).toMatch(/\nstatus +RUNNING \(cancellation requested\)\n/)
  })

  it.each(['get', 'graph', 'cancel', 'retry'])('%s of one that nobody knows ends with 4', async (name) => {
    expect((await run(name, 'wf-00000000000000000000000000')).code).toBe(4)
    expect((await run(name, 'task-00000000000000000000000000')).code).toBe(2)
  })
})
