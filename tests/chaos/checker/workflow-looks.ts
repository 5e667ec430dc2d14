import type { Finding } from './finding.js'
import { groupBy } from './group-by.js'
import type { NodeLives, PlayedWorkflow } from './workflow-lives.js'
import type { WorkflowCall, WorkflowLook } from './workflow-log.js'

/** Clocks are read to the millisecond. */
const ROUNDING_MS = 2

/** The calls about each workflow. */
export function looksOf(log: readonly WorkflowCall[]): ReadonlyMap<string, readonly WorkflowLook[]> {
  const looks = log.filter((call): call is WorkflowLook => call.verb !== 'submit')
  return groupBy(looks, ({ id }) => id)
}

/** Point 6: what a client saw of a workflow holds: an end is left by a retry alone, and what was stopped starts nothing more. */
export function checkLooks(played: PlayedWorkflow, looks: readonly WorkflowLook[]): Finding[] {
  return [...checkEndsSeen(played, looks), ...checkStops(played, looks)]
}

const mayRetry = (looks: readonly WorkflowLook[], from: number, to: number): boolean =>
  looks.some(({ verb, outcome, startedAt, endedAt }) => {
    const until = outcome === 'unknown' ? Number.POSITIVE_INFINITY : endedAt
    return verb === 'retry' && outcome !== 'fail' && startedAt < to && until > from
  })

function checkEndsSeen(played: PlayedWorkflow, looks: readonly WorkflowLook[]): Finding[] {
  const seen = looks.filter(({ outcome, verb }) => outcome === 'ok' && verb !== 'retry')
  const inOrder = [...seen].sort((a, b) => a.endedAt - b.endedAt)
  return inOrder.flatMap((second, place) => {
    const first = inOrder.slice(0, place).findLast(({ endedAt }) => endedAt <= second.startedAt)
    if (!first?.observed || first.observed === 'RUNNING') return []
    const isSame = second.observed === first.observed && second.completedAt === first.completedAt
    if (isSame || mayRetry(looks, first.startedAt, second.endedAt)) return []
    const refused = looks.filter(({ verb }) => verb === 'retry').map(({ status, code }) => `${status} ${code}`)
    const detail = `${first.observed} of ${first.completedAt} became ${second.observed}; retries: ${refused.join(', ')}`
    return [about(played, 'the end of a workflow was left again', detail)]
  })
}

function checkStops(played: PlayedWorkflow, looks: readonly WorkflowLook[]): Finding[] {
  const stops = looks.filter(({ isStopping }) => isStopping)
  return [...played.nodes.values()].flatMap((node) =>
    startsOf(node).flatMap(([attempt, at]) => {
      const stop = stops.find((each) => at > each.endedAt + ROUNDING_MS && !mayRetry(looks, each.startedAt, at))
      if (!stop) return []
      const detail = `${node.name}, attempt ${attempt}, ${(at - stop.endedAt).toFixed(0)} ms after a ${stop.verb} told that it is`
      return [about(played, 'started in a workflow that was stopped', detail)]
    }),
  )
}

/** When its attempts were given out, by the store. */
function startsOf({ task }: NodeLives): (readonly [attempt: number, at: number])[] {
  const ended = task.attempts.map(({ attempt, startedAt }) => [attempt, startedAt] as const)
  const last = ended.at(-1)?.[0] === task.attempt ? [] : [[task.attempt, task.startedAt] as const]
  return [...ended, ...last].flatMap(([attempt, at]) => (at === null ? [] : [[attempt, at] as const]))
}

function about({ workflow }: PlayedWorkflow, rule: string, detail: string): Finding {
  return { point: 6, rule, subject: `${workflow.id} (${workflow.mark})`, detail }
}
