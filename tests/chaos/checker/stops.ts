import type { Uuid } from '@duly/domain'
import { type BulkCall, type Call, type CallBase, isOfTask, type QueueCall } from './client-log.js'
import type { Finding } from './finding.js'
import { groupBy } from './group-by.js'
import type { TaskHistory } from './history.js'
import { ROUNDING_MS, TURN_MS } from './instants.js'

/** A time, epoch ms, in which nothing was to be given out. */
interface Silence {
  readonly from: number
  readonly to: number
}

/**
 * Point 3: what was cancelled, by itself or with others, starts no attempt more unless it is run again; and nothing starts from a queue that
 * is paused.
 */
export function checkStops(calls: readonly Call[], history: readonly TaskHistory[]): Finding[] {
  const cancelled = groupBy(
    calls.filter(isOfTask).filter(({ verb, outcome }) => verb === 'cancel' && outcome === 'ok'),
    ({ id }) => id,
  )
  const swept = groupBy(calls.filter(isSweep), ({ workflow }) => workflow)
  const silences = silencesOf(calls)
  const moved = new Set(calls.filter(isOfTask).flatMap(({ id, change }) => (change?.queue === undefined ? [] : [id])))
  return history.flatMap((task) => {
    const starts = grantsOf(task)
    const ends: Stop[] = [
      ...(cancelled.get(task.id) ?? []).map(({ startedAt, endedAt }) => ({ startedAt, endedAt })),
      ...(task.workflowId === null ? [] : sweepsOf(task, task.workflowId, swept)),
    ]
    const paused = moved.has(task.id) ? [] : (silences.get(task.queue) ?? [])
    return [
      ...starts.flatMap((at) => (ends.some((stop) => isAfter(task, stop, at)) ? [finding(LATE, task, at)] : [])),
      ...starts.flatMap((at) =>
        paused.some(({ from, to }) => at > from + ROUNDING_MS && at < to - ROUNDING_MS)
          ? [finding(PAUSED, task, at)]
          : [],
      ),
    ]
  })
}

const LATE = 'started after it was cancelled'
const PAUSED = 'started from a queue that was paused'

type Stop = Pick<CallBase, 'startedAt' | 'endedAt'>

const isSweep = (call: Call): call is BulkCall =>
  call.verb === 'bulk' && call.action === 'cancel' && call.doneAt !== null

/** Operations that it was there for when they began. */
function sweepsOf(task: TaskHistory, workflow: Uuid, swept: ReadonlyMap<Uuid | null, readonly BulkCall[]>): Stop[] {
  const own = (swept.get(workflow) ?? []).filter(({ startedAt }) => task.createdAt < startedAt - TURN_MS)
  return own.map(({ startedAt, doneAt }) => ({ startedAt, endedAt: doneAt ?? Number.POSITIVE_INFINITY }))
}

/** Nobody can have run it again in between. */
const isAfter = ({ pastRuns }: TaskHistory, { startedAt, endedAt }: Stop, at: number): boolean =>
  at > endedAt + ROUNDING_MS && !pastRuns.some(({ archivedAt }) => archivedAt > startedAt - TURN_MS && archivedAt <= at)

/** Times in which a queue was paused for sure: from an answer that says so until somebody asks for it to go on. */
function silencesOf(calls: readonly Call[]): ReadonlyMap<string, readonly Silence[]> {
  const ofQueue = groupBy(
    calls.filter((call): call is QueueCall => call.verb === 'pause' || call.verb === 'resume'),
    ({ queue }) => queue,
  )
  const silences = [...ofQueue].map(([queue, own]): [string, Silence[]] => {
    const resumes = own.filter(({ verb }) => verb === 'resume')
    const pauses = own.filter(({ verb, outcome, startedAt }) => {
      // one without an answer may come yet
      const isHaunted = resumes.some(
        (each) => each.outcome !== 'ok' && each.startedAt < startedAt && each.endedAt > startedAt - 6 * TURN_MS,
      )
      return verb === 'pause' && outcome === 'ok' && !isHaunted
    })
    return [
      queue,
      pauses.map(({ startedAt, endedAt }) => ({
        from: endedAt,
        to: Math.min(...resumes.flatMap((each) => (each.endedAt > startedAt ? each.startedAt : []))),
      })),
    ]
  })
  return new Map(silences)
}

/** When its attempts were given out, by the store. */
function grantsOf({ attempts, attempt, startedAt }: TaskHistory): number[] {
  const last = attempts.at(-1)?.attempt === attempt ? [] : [startedAt]
  return [...attempts.map((each) => each.startedAt), ...last].flatMap((at) => at ?? [])
}

function finding(rule: string, { id, plan, queue }: TaskHistory, at: number): Finding {
  return { point: 3, rule, subject: id, detail: `${plan} of ${queue}, at ${at}` }
}
