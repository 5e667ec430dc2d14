import { gates } from '../lane.js'
import { type Cause, cause } from './cause.js'
import type { ExplainFacts, NearWorker, WorkerFacts } from './facts.js'
import { count, lengthOf, many } from './words.js'

/** Whether its queue is paused, and who could run it: what keeps any waiting task from its start, now or when its time comes. */
export function hurdles(facts: ExplainFacts): Cause[] {
  return [...paused(facts), ...withoutWorker(facts)]
}

function paused({ task: { queue }, queue: { isPaused, pausedAtMs }, nowMs }: ExplainFacts): Cause[] {
  if (!isPaused) return []
  const since = pausedAtMs === null ? '' : ` for ${lengthOf(nowMs - pausedAtMs)}`
  const forMs = pausedAtMs === null ? {} : { forMs: nowMs - pausedAtMs }
  return [cause('queue_paused', `Its queue ${queue} has been paused${since}.`, { queue, pausedAtMs, ...forMs })]
}

/** Why no live worker may run it; nothing when one may. */
function withoutWorker({ task: { queue, taskType, tenant }, workers }: ExplainFacts): Cause[] {
  if (workers === null || workers.fitting > 0) return []
  const { live, forQueue, draining, ofOtherTenants, near: nearWorkers } = workers
  const at = { queue, taskType }
  if (draining > 0) {
    const message =
      draining === 1
        ? 'The only live worker that could run it is draining and takes nothing more.'
        : `All ${count(draining)} live workers that could run it are draining and take nothing more.`
    return [cause('worker_draining', message, { ...at, workers: draining })]
  }
  if (ofOtherTenants > 0) {
    const message = `${many(ofOtherTenants, 'live worker')} ${ofOtherTenants === 1 ? 'serves' : 'serve'} its queue ${queue} and its type ${taskType}, but none of them its tenant ${tenant}.`
    return [cause('workers_of_other_tenants', message, { ...at, tenant, workers: ofOtherTenants, nearWorkers })]
  }
  if (forQueue > 0) {
    const who = forQueue === 1 ? '1 live worker serves' : `${count(forQueue)} live workers serve`
    const message = `${who} its queue ${queue}, but none its type ${taskType}${nearestText(nearWorkers)}.`
    return [cause('no_worker_for_type', message, { ...at, workers: forQueue, nearWorkers })]
  }
  const others =
    live === 0
      ? 'no worker is there at all'
      : `${many(live, 'live worker')} ${live === 1 ? 'serves' : 'serve'} other queues`
  const message = `No live worker serves its queue ${queue}: ${others}${nearestText(nearWorkers)}.`
  return [cause('no_worker_for_queue', message, { ...at, workers: live, nearWorkers })]
}

/** The nearest one in words: a name that was misspelt is seen at once. */
function nearestText([nearest]: readonly NearWorker[]): string {
  if (nearest === undefined) return ''
  const served = nearest.missing.includes('queue') ? nearest.queues : nearest.taskTypes
  const more = served.length > 3 ? ', …' : ''
  return `; the nearest, ${nearest.name}, serves ${served.slice(0, 3).join(', ')}${more}`
}

/** Of a PENDING task: whether those that may run it have room for it. */
export function room(facts: ExplainFacts): Cause[] {
  const { workers, task, queue } = facts
  if (workers === null || workers.fitting === 0) return []
  const isHeldBack = queue.isPaused || task.gate === gates.overflow
  const turn = task.gate === gates.suspect && workers.withSuspect >= workers.fitting
  return [
    ...(turn ? [suspectTurn(workers)] : []),
    ...(workers.running >= workers.slots ? [busy(workers, facts.nowMs)] : isHeldBack || turn ? [] : [free(workers)]),
    ...(workers.draining > 0 ? [someDraining(workers)] : []),
  ]
}

const suspectTurn = ({ fitting }: WorkerFacts): Cause =>
  cause(
    'suspect_turn',
    `Each of the ${many(fitting, 'worker')} that may run it holds another suspect, and takes the next when that has ended.`,
    { workers: fitting },
  )

function busy({ fitting, slots, running, oldestStartedAtMs }: WorkerFacts, nowMs: number): Cause {
  const forMs = oldestStartedAtMs === null ? {} : { forMs: nowMs - oldestStartedAtMs }
  const longest = oldestStartedAtMs === null ? '' : `, the longest for ${lengthOf(nowMs - oldestStartedAtMs)}`
  const message = `All slots of the ${many(fitting, 'worker')} that may run it are busy: ${count(running)} of ${count(slots)}${longest}.`
  return cause('slots_busy', message, { workers: fitting, slots, running, startedAtMs: oldestStartedAtMs, ...forMs })
}

function free({ fitting, slots, running }: WorkerFacts): Cause {
  const left = slots - running
  const message = `${many(left, 'slot')} of ${count(slots)} ${left === 1 ? 'is' : 'are'} free on the ${many(fitting, 'worker')} that may run it: it starts with a next claim.`
  return cause('slot_free', message, { workers: fitting, slots, running })
}

function someDraining({ draining }: WorkerFacts): Cause {
  const message =
    draining === 1
      ? '1 more worker that could run it is draining and takes nothing more.'
      : `${count(draining)} more workers that could run it are draining and take nothing more.`
  return cause('worker_draining', message, { workers: draining })
}
