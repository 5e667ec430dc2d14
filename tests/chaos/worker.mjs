// The worker of the fault tests: obeys the plan in each payload (tests/chaos/load/plans.ts) and writes what it does to the
// file DULY_CHAOS_LOG, one line at each start and end of a handler, and one when it has the results of its dependencies.
import { createHash } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { defineTask, PermanentError, Worker } from '@duly/sdk'

/**
 * @typedef {import('./load/plans.js').PlannedPayload} Payload
 * @typedef {import('@duly/sdk').TaskContext} Context
 */

// O_APPEND and one write a line: nothing that was written is lost by SIGKILL, and several workers don't mix their lines.
const log = openSync(process.env.DULY_CHAOS_LOG ?? '/dev/null', 'a')
process.on('exit', () => closeSync(log))

let isTold = false
/** Says when it is told to stop, by its own clock. Listens only once it works: before, a signal ends the process. */
function tellStop() {
  if (isTold) return
  isTold = true
  process.once('SIGTERM', () => console.log(`told to stop at ${Date.now()}`))
}

/** @type {Record<import('./load/plans.js').PlanName, (payload: Payload, context: Context) => Promise<object | void>>} */
const handlers = {
  succeed: async () => {},
  work: async ({ work_ms, first_ms = work_ms }, { attempt, signal }) =>
    delay(attempt === 1 ? first_ms : work_ms, undefined, { signal }),
  overrun: async (_, { signal }) => delay(60_000, undefined, { signal }),
  flaky: async ({ fail_times = 1 }, { attempt }) => {
    if (attempt <= fail_times) throw new Error(`attempt ${attempt} of ${fail_times} that fail`)
  },
  snooze: async (_, context) => {
    if (context.attempt === 1) throw context.snooze(200)
  },
  permanent: async () => {
    throw new PermanentError('not for this world')
  },
  doomed: async () => {
    throw new Error('never')
  },
  poison: () => die(),
  crash: async (_, { attempt }) => {
    if (attempt === 1) await die()
  },
  grow: async ({ adds = [], fail_times = 0 }, context) => {
    await context.addTasks((graph) => {
      for (const { name, rule, after, payload } of adds)
        graph.task(name, `chaos.${payload.plan}`, payload, optionsOf(payload.plan, rule, after))
    })
    if (context.attempt <= fail_times) throw new Error(`attempt ${context.attempt} of ${fail_times} that fail`)
  },
  launch: async ({ graph }, context) => {
    if (graph === undefined) throw new PermanentError('nothing to launch')
    const mark = `launch-${context.taskId}`
    const { failurePolicy, nodes } = graph
    const workflow = context.workflow('launched', { failurePolicy, metadata: { mark } })
    /** @type {Map<string, import('@duly/sdk').WorkflowNode>} */
    const made = new Map()
    for (const { name, rule, after, payload } of nodes) {
      const behind = after.flatMap((each) => made.get(each) ?? [])
      const options = { ...optionsOf(payload.plan, rule, []), after: behind }
      made.set(name, workflow.task(name, `chaos.${payload.plan}`, { ...payload, mark: `${mark}/${name}` }, options))
    }
    const { id } = await workflow.submit({ idempotencyKey: context.idempotencyKey })
    return { launched: id }
  },
}

async function die() {
  process.kill(process.pid, 'SIGKILL')
  await delay(60_000)
}

/**
 * What an added task is beside its name and its payload, as `submissionOf` says it of others (tests/chaos/load/submissions.ts).
 *
 * @param {import('./load/plans.js').PlanName} plan
 * @param {import('./load/plans.js').PlannedNode['rule']} triggerRule
 * @param {readonly string[]} after
 */
function optionsOf(plan, triggerRule, after) {
  const retry = { limit: 3, delay: 100, maxDelay: 500 }
  return { ...{ queue: 'chaos', retry, timeout: plan === 'overrun' ? 300 : 60_000 }, triggerRule, after }
}

/** @param {unknown} value */
const digestOf = (value) => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)

/**
 * Whatever succeeded before must be here, whether it came along or is fetched.
 *
 * @param {Payload} payload
 * @param {Context} context
 */
async function takeResults(payload, context) {
  /** @type {Record<string, string>} */
  const results = {}
  for await (const [name, result] of context.dependencies.results()) results[name] = digestOf(result)
  record('given', payload, context, { results })
}

/**
 * @param {'start' | 'given' | 'end'} event
 * @param {Payload} payload
 * @param {Context} context
 * @param {object} [more]
 */
function record(event, payload, context, more) {
  const { taskId: task, fence: lease } = context
  writeSync(
    log,
    `${JSON.stringify({ event, at: Date.now(), pid: process.pid, task, mark: payload.mark, lease, ...more })}\n`,
  )
}

/** @param {import('@duly/sdk').Duly} duly */
export default function chaosWorker(duly) {
  const worker = new Worker(duly, {
    name: `chaos-${process.pid}`,
    queues: ['chaos', 'chaos-side'],
    slots: Number(process.env.DULY_CHAOS_SLOTS ?? 10),
    ...(process.env.DULY_CHAOS_HEARTBEAT_MS ? { heartbeat: Number(process.env.DULY_CHAOS_HEARTBEAT_MS) } : {}),
  })
  for (const [plan, handler] of Object.entries(handlers)) {
    worker.handle(
      defineTask(`chaos.${plan}`),
      async (/** @type {Payload} */ payload, /** @type {Context} */ context) => {
        const { attempt, taskId, signal } = context
        tellStop()
        const statuses = Object.fromEntries(context.dependencies.statuses)
        record('start', payload, context, { statuses, edit: payload.edit })
        try {
          if (context.workflowId !== null) await takeResults(payload, context)
          const told = await handler(payload, context)
          const result = { attempt, of: taskId, ...told, ...(payload.pad ? { pad: 'x'.repeat(payload.pad) } : {}) }
          record('end', payload, context, { left: 'returned', aborted: signal.aborted, digest: digestOf(result) })
          return result
        } catch (error) {
          record('end', payload, context, { left: 'threw', aborted: signal.aborted })
          throw error
        }
      },
    )
  }
  return worker
}
