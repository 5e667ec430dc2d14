import type { CallBase } from './client-log.js'
import type { Finding } from './finding.js'
import { groupBy } from './group-by.js'
import { ROUNDING_MS } from './instants.js'
import { mayActWithin } from './workflow-asks.js'
import { type PlayedWorkflow, startsOf } from './workflow-lives.js'
import type { WorkflowCall, WorkflowLook } from './workflow-log.js'

/** The calls about each workflow. */
export function looksOf(log: readonly WorkflowCall[]): ReadonlyMap<string, readonly WorkflowLook[]> {
  const looks = log.filter((call): call is WorkflowLook => call.verb !== 'submit')
  return groupBy(looks, ({ id }) => id)
}

/**
 * Point 6: what a client saw of a workflow holds: an end is left by a retry or the replay of a node alone, and what was stopped starts
 * nothing more.
 * @param opens the calls that may have opened something of it again
 */
export function checkLooks(
  played: PlayedWorkflow,
  looks: readonly WorkflowLook[],
  opens: readonly CallBase[],
): Finding[] {
  return [...checkEndsSeen(played, looks, opens), ...checkStops(played, looks, opens)]
}

const mayOpen = (opens: readonly CallBase[], from: number, to: number): boolean =>
  opens.some((call) => mayActWithin(call, from, to))

function checkEndsSeen(played: PlayedWorkflow, looks: readonly WorkflowLook[], opens: readonly CallBase[]): Finding[] {
  const seen = looks.filter(({ outcome, verb }) => outcome === 'ok' && verb !== 'retry')
  const inOrder = [...seen].sort((a, b) => a.endedAt - b.endedAt)
  return inOrder.flatMap((second, place) => {
    const first = inOrder.slice(0, place).findLast(({ endedAt }) => endedAt <= second.startedAt)
    if (!first?.observed || first.observed === 'RUNNING') return []
    const isSame = second.observed === first.observed && second.completedAt === first.completedAt
    if (isSame || mayOpen(opens, first.startedAt, second.endedAt)) return []
    const refused = looks.filter(({ verb }) => verb === 'retry').map(({ status, code }) => `${status} ${code}`)
    const detail = `${first.observed} of ${first.completedAt} became ${second.observed}; retries: ${refused.join(', ')}`
    return [about(played, 'the end of a workflow was left again', detail)]
  })
}

function checkStops(played: PlayedWorkflow, looks: readonly WorkflowLook[], opens: readonly CallBase[]): Finding[] {
  const stops = looks.filter(({ isStopping }) => isStopping)
  return [...played.nodes.values()].flatMap((node) =>
    [...startsOf(node)].flatMap(([attempt, at]) => {
      const stop = stops.find((each) => at > each.endedAt + ROUNDING_MS && !mayOpen(opens, each.startedAt, at))
      if (!stop) return []
      const detail = `${node.name}, attempt ${attempt}, ${(at - stop.endedAt).toFixed(0)} ms after a ${stop.verb} told that it is`
      return [about(played, 'started in a workflow that was stopped', detail)]
    }),
  )
}

function about({ workflow }: PlayedWorkflow, rule: string, detail: string): Finding {
  return { point: 6, rule, subject: `${workflow.id} (${workflow.mark})`, detail }
}
