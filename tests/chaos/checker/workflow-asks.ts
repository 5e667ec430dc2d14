import type { Uuid } from '@duly/domain'
import { type BulkCall, type Call, type CallBase, isOfTask, type TaskCall } from './client-log.js'
import { groupBy } from './group-by.js'
import { ROUNDING_MS, TURN_MS } from './instants.js'
import type { Life, NodeLives, PlayedWorkflow } from './workflow-lives.js'
import type { WorkflowLook } from './workflow-log.js'

/** What clients asked to be run again. */
export interface Asks {
  readonly replays: ReadonlyMap<Uuid, readonly TaskCall[]>
  readonly operations: readonly BulkCall[]
}

export function asksOf(calls: readonly Call[]): Asks {
  const replays = calls.filter(isOfTask).filter(({ verb, outcome }) => verb === 'replay' && outcome !== 'fail')
  const operations = calls.filter((call): call is BulkCall => call.verb === 'bulk' && call.outcome !== 'fail')
  return {
    replays: groupBy(replays, ({ id }) => id),
    operations: operations.filter(({ action }) => action === 'retry'),
  }
}

/** Whether a call can have had its effect in between; without an answer it may come late, and so does an operation. */
export const mayActWithin = (call: CallBase, from: number, to: number): boolean => {
  const until = call.outcome === 'unknown' || isOperation(call) ? Number.POSITIVE_INFINITY : call.endedAt
  return call.outcome !== 'fail' && call.startedAt < to && until > from
}

const isOperation = (call: CallBase & { readonly verb?: string }): boolean => call.verb === 'bulk'

/** The calls that may open something of a workflow again: its retries, replays of its nodes, operations that come by it. */
export function opensOf(
  { workflow, nodes }: PlayedWorkflow,
  looks: readonly WorkflowLook[],
  { replays, operations }: Asks,
): readonly CallBase[] {
  return [
    ...looks.filter(({ verb }) => verb === 'retry'),
    ...[...nodes.values()].flatMap(({ task }) => replays.get(task.id) ?? []),
    ...operations.filter((call) => call.workflow === null || call.workflow === workflow.id),
  ]
}

/** Whether somebody asked for this node by itself to run again about then; operations may try each by itself. */
export function isReplayAsked({ workflow }: PlayedWorkflow, { task }: NodeLives, { at, life, asks }: Replay): boolean {
  const covering = asks.operations.filter((call) =>
    call.workflow === null ? life.status === 'DEAD' : call.workflow === workflow.id,
  )
  const calls: readonly CallBase[] = [...(asks.replays.get(task.id) ?? []), ...covering]
  return calls.some((call) => mayActWithin(call, at - TURN_MS, at + ROUNDING_MS + TURN_MS))
}

/** A node was opened at an instant that had ended so. */
export interface Replay {
  readonly at: number
  readonly life: Life
  readonly asks: Asks
}

/**
 * What operations may have opened together: all that each of them means of the workflow. What ended after an operation began is not its
 * matter, and it began while its client called, or at some time after a call without an answer.
 */
export function seedsOfOperations(
  { workflow }: PlayedWorkflow,
  before: readonly { readonly node: NodeLives; readonly life: Life }[],
  { at, asks }: Omit<Replay, 'life'>,
): ReadonlySet<string>[] {
  const acting = asks.operations.filter((call) => mayActWithin(call, at - TURN_MS, at + ROUNDING_MS + TURN_MS))
  return acting.flatMap((call) => {
    if (call.workflow !== null && call.workflow !== workflow.id) return []
    const meant = before.filter(({ life }) =>
      call.workflow === null ? life.status === 'DEAD' : life.status !== 'SUCCEEDED',
    )
    const until = (call.outcome === 'unknown' ? Number.POSITIVE_INFINITY : call.endedAt) + ROUNDING_MS
    const ends = meant.map(({ life }) => life.endedAt).filter((end) => end > call.startedAt && end < until)
    const seeds = [call.startedAt, ...new Set(ends)].map(
      (began) => new Set(meant.filter(({ life }) => life.endedAt <= began).map(({ node }) => node.name)),
    )
    return seeds.filter(({ size }) => size > 0)
  })
}
