import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { postJson } from './api-call.js'
import type { Options } from './options.js'
import { withStack } from './with-stack.js'

/** Workflows that fail in the same moment. */
const workflows = 8

const longest = `
select coalesce(max(extract(epoch from clock_timestamp() - a.xact_start)), 0)::float8 * 1000 as ms from pg_stat_activity a
where a.datname = current_database() and a.xact_start is not null and a.pid <> pg_backend_pid() and a.backend_type = 'client backend'`

const open = `
select (select count(*) from workflows where status = 'RUNNING')::integer as workflows,
  (select count(*) from open_tasks where workflow_id is not null)::integer as tasks`

interface Grant {
  readonly grant: number
  readonly task_id: string
  readonly lease: string
}

/** A worker that speaks the protocol by hand. */
class HandWorker {
  readonly #url: string
  #received = 0

  private constructor(url: string) {
    this.#url = url
  }

  static async register(api: string, queue: string): Promise<HandWorker> {
    const registration = { name: queue, queues: [queue], task_types: ['bench'], slots: 100, heartbeat_seconds: 60 }
    const { worker_id } = await postJson<{ worker_id: string }>(`${api}/workers`, registration)
    return new HandWorker(`${api}/workers/${worker_id}`)
  }

  async poll(slots: number): Promise<readonly Grant[]> {
    const request = { slots, wait_seconds: 5, received: this.#received }
    const { tasks } = await postJson<{ tasks: Grant[] }>(`${this.#url}/poll`, request)
    for (const { grant } of tasks) this.#received = Math.max(this.#received, grant)
    return tasks
  }

  async report(grants: readonly Grant[], outcome: object): Promise<void> {
    const reports = grants.map(({ task_id, lease }) => ({ task_id, lease, ...outcome }))
    await postJson(`${this.#url}/report`, { reports })
  }
}

/**
 * Workflows of `size` tasks, fail_fast, of which half wait for the first one and half are ready in a queue that nobody serves. Their first
 * tasks fail in one report; meanwhile single tasks are submitted, run and reported one after the other, in a queue of their own.
 */
export async function benchSweep(options: Options, size: number): Promise<void> {
  await withStack(options, async (stack, client) => {
    const api = `${stack.servers[0].url}/api/v1`
    for (let n = 0; n < workflows; n++) await postJson(`${api}/workflows`, workflowOf(size))
    const failing = await HandWorker.register(api, 'first')
    const grants: Grant[] = []
    while (grants.length < workflows) grants.push(...(await failing.poll(workflows - grants.length)))
    const beside = await HandWorker.register(api, 'beside')
    for (let n = 0; n < 20; n++) await single(api, beside)
    const began = performance.now()
    let isOver = false
    const watched = watch(client, () => isOver)
    const singles = singlesUntil(
      () => isOver,
      () => single(api, beside),
    )
    await failing.report(grants, { outcome: 'failed', error: { class: 'E', message: 'no', retryable: false } })
    const answeredMs = performance.now() - began
    await closed(client)
    const closedMs = performance.now() - began
    isOver = true
    const { submitMs, wholeMs, count } = await singles
    console.log(
      [
        `${workflows} fail_fast workflows of ${size} tasks that failed in one report, answered after ${answeredMs.toFixed(0)} ms, closed after ${(closedMs / 1000).toFixed(2)} s`,
        `longest transaction ${(await watched).toFixed(0)} ms, looked at every 5 ms`,
        `${count} single tasks beside it: longest answer to a submission ${submitMs.toFixed(0)} ms, longest from submission to the answer of its report ${wholeMs.toFixed(0)} ms`,
      ].join('\n'),
    )
  })
}

function workflowOf(size: number): object {
  const task = { task_type: 'bench', payload: null }
  const others = Array.from({ length: size - 1 }, (_, n) => ({
    ...{ ...task, task_id: `task-${n}`, queue: 'unserved' },
    ...(n % 2 === 0 ? { dependencies: ['first'] } : {}),
  }))
  return {
    ...{ workflow_name: 'sweep', failure_policy: 'fail_fast' },
    tasks: [{ ...task, task_id: 'first', queue: 'first' }, ...others],
  }
}

async function single(
  api: string,
  worker: HandWorker,
): Promise<{ readonly submitMs: number; readonly wholeMs: number }> {
  const began = performance.now()
  const granted = worker.poll(1)
  await postJson(`${api}/tasks`, { task_type: 'bench', queue: 'beside', payload: null })
  const submitMs = performance.now() - began
  await worker.report(await granted, { outcome: 'succeeded', result: null })
  return { submitMs, wholeMs: performance.now() - began }
}

async function singlesUntil(isOver: () => boolean, one: () => ReturnType<typeof single>) {
  const most = { submitMs: 0, wholeMs: 0, count: 0 }
  while (!isOver()) {
    const { submitMs, wholeMs } = await one()
    most.submitMs = Math.max(most.submitMs, submitMs)
    most.wholeMs = Math.max(most.wholeMs, wholeMs)
    most.count++
  }
  return most
}

/** @returns the age of the oldest transaction that was seen, ms */
async function watch(client: pg.Client, isOver: () => boolean): Promise<number> {
  let most = 0
  while (!isOver()) {
    const { rows } = await client.query<{ ms: number }>(longest)
    most = Math.max(most, rows[0]?.ms ?? 0)
    await delay(5)
  }
  return most
}

async function closed(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ workflows: number; tasks: number }>(open)
    if (rows[0]?.workflows === 0 && rows[0].tasks === 0) return
    await delay(20)
  }
}
