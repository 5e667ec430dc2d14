import { priorityName } from '@duly/domain'
import { type Call, type Change, isOfTask, type TaskCall } from './client-log.js'
import type { Finding } from './finding.js'
import { groupBy } from './group-by.js'
import type { HandlerRecord } from './handler-log.js'
import type { TaskHistory } from './history.js'

type Field = keyof Change
const FIELDS: readonly Field[] = ['priority', 'queue', 'edit']

/** Point 3: what was edited last stands, and what started after an edit was answered ran as edited. */
export function checkEdits(
  calls: readonly Call[],
  handlerLog: readonly HandlerRecord[],
  history: readonly TaskHistory[],
): Finding[] {
  const edits = calls.filter(isOfTask).filter(({ verb, outcome }) => verb === 'edit' && outcome !== 'fail')
  const ofTask = groupBy(edits, ({ id }) => id)
  const starts = groupBy(
    handlerLog.filter(({ event }) => event === 'start'),
    ({ id }) => id,
  )
  return history.flatMap((task) => {
    const own = ofTask.get(task.id) ?? []
    const payloads = own.filter(({ change }) => change?.edit !== undefined)
    return [
      ...FIELDS.flatMap((field) => checkField(task, field, own)),
      ...(starts.get(task.id) ?? []).flatMap((start) => checkStart(task, start, payloads)),
    ]
  })
}

const standsNow: Readonly<Record<Field, (task: TaskHistory) => string | number | null>> = {
  priority: ({ priority }) => priorityName(priority),
  queue: ({ queue }) => queue,
  edit: ({ edit }) => edit,
}

/** No accepted edit began when this one was over: it can have been the last one. */
const mayBeLast = (call: TaskCall, all: readonly TaskCall[]): boolean =>
  call.outcome === 'unknown' || !all.some((each) => each.outcome === 'ok' && each.startedAt >= call.endedAt)

function checkField(task: TaskHistory, field: Field, own: readonly TaskCall[]): Finding[] {
  const edits = own.filter(({ change }) => change?.[field] !== undefined)
  const value = standsNow[field](task)
  const told = `${field} is ${value}, edited to ${edits.map(({ change, outcome }) => `${change?.[field]} (${outcome})`).join(', ')}`
  if (edits.length === 0)
    return field === 'edit' && value !== null ? [finding('an edit that nobody made', task, told)] : []
  const isUntouched = edits.every(({ outcome }) => outcome === 'unknown')
  const isAnswered = edits.some((call) => call.change?.[field] === value && mayBeLast(call, edits))
  return isUntouched || isAnswered ? [] : [finding('an accepted edit was lost', task, told)]
}

function checkStart(task: TaskHistory, start: HandlerRecord, payloads: readonly TaskCall[]): Finding[] {
  const ran = start.edit ?? null
  const source = payloads.find(({ change }) => change?.edit === ran)
  const told = `attempt ${start.lease.attempt} ran edit ${ran}`
  if (ran !== null && !source) return [finding('ran with a payload that nobody wrote', task, told)]
  const grantedAt = grantOf(task, start.lease.attempt)
  const writtenBy = source?.outcome === 'unknown' ? Number.POSITIVE_INFINITY : (source?.endedAt ?? 0)
  const later = payloads.find(
    ({ outcome, startedAt, endedAt }) => outcome === 'ok' && startedAt >= writtenBy && endedAt < grantedAt,
  )
  return later ? [finding('ran with a payload that had been replaced', task, `${told}, not ${later.change?.edit}`)] : []
}

/** When an attempt was given out, by the store; an instant that is not known is before all edits. */
function grantOf(task: TaskHistory, attempt: number): number {
  const ended = task.attempts.find((each) => each.attempt === attempt)
  return ended?.startedAt ?? (attempt === task.attempt ? task.startedAt : null) ?? 0
}

function finding(rule: string, { id, plan }: TaskHistory, detail: string): Finding {
  return { point: 3, rule, subject: id, detail: `${plan}: ${detail}` }
}
