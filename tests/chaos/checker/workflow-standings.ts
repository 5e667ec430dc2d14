import type { Standing } from './graph-rules.js'
import { TURN_MS } from './instants.js'
import {
  hasRun,
  type Life,
  lifeIn,
  type NodeLives,
  type PlayedWorkflow,
  standingOf,
  startsOf,
} from './workflow-lives.js'

/** A point of the time of a workflow: before, in or behind the turns of others that are near. */
interface Moment {
  readonly run: number
  readonly at: number
}

/** How a node stands at a moment of a run. */
export function standingAt(node: NodeLives | undefined, { run, at }: Moment): Standing {
  const life = node && lifeIn(node, run)
  return life && life.endedAt <= at ? standingOf(life) : 'open'
}

/**
 * Every way in which the dependencies of a node may have stood together while it was open and nobody had decided about it yet. Runs come one
 * after the other, whatever the clock says; within them instants that are near may have come in any order.
 */
export function standingsDuring(played: PlayedWorkflow, node: NodeLives, life: Life): Standing[][] {
  const parents = node.parents.map((name) => played.nodes.get(name))
  const decided = decidedAt(node, life) + TURN_MS
  const first = life === node.lives[0] ? Math.min(life.run, 1 + before(played, life.openedAt - TURN_MS)) : life.run
  const last = Math.min(life.until - 1, played.runs)
  return Array.from({ length: last - first + 1 }, (_, place) => first + place).flatMap((run) => {
    const from = (played.openings[run - 2] ?? Number.NEGATIVE_INFINITY) - TURN_MS
    const to = Math.min((played.openings[run - 1] ?? Number.POSITIVE_INFINITY) + TURN_MS, decided)
    const ends = parents.flatMap((parent) => (parent && lifeIn(parent, run)?.endedAt) ?? [])
    const instants = [from, ...ends].filter((at) => at >= from && at <= to)
    return instants.map((at) => parents.map((parent) => standingAt(parent, { run, at })))
  })
}

const before = ({ openings }: PlayedWorkflow, at: number): number => openings.filter((each) => each < at).length

/** When at the latest it was decided what becomes of it: it ran, or had ended. */
function decidedAt(node: NodeLives, life: Life): number {
  const started = hasRun(life) ? startsOf(node).get(life.attempts.first) : undefined
  return started ?? life.endedAt
}
