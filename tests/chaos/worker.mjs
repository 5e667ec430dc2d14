// The worker of the fault tests: obeys the plan in each payload (tests/chaos/load/plans.ts) and writes what it does to the
// file DULY_CHAOS_LOG, one line at each start and end of a handler.
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

/** @type {Record<import('./load/plans.js').PlanName, (payload: Payload, context: Context) => Promise<unknown>>} */
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
  poison: async () => {
    process.kill(process.pid, 'SIGKILL')
    await delay(60_000)
  },
}

/**
 * @param {'start' | 'end'} event
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
    queues: ['chaos'],
    slots: Number(process.env.DULY_CHAOS_SLOTS ?? 10),
    ...(process.env.DULY_CHAOS_HEARTBEAT_MS ? { heartbeat: Number(process.env.DULY_CHAOS_HEARTBEAT_MS) } : {}),
  })
  for (const [plan, handler] of Object.entries(handlers)) {
    worker.handle(
      defineTask(`chaos.${plan}`),
      async (/** @type {Payload} */ payload, /** @type {Context} */ context) => {
        record('start', payload, context)
        try {
          await handler(payload, context)
          record('end', payload, context, { left: 'returned', aborted: context.signal.aborted })
        } catch (error) {
          record('end', payload, context, { left: 'threw', aborted: context.signal.aborted })
          throw error
        }
        return { attempt: context.attempt }
      },
    )
  }
  return worker
}
