import type { Finding } from './finding.js'
import { isNotNeeded, mayRun, type Standing } from './graph-rules.js'
import { ROUNDING_MS, TURN_MS } from './instants.js'
import { type Asks, isReplayAsked, mayActWithin, seedsOfOperations } from './workflow-asks.js'
import { statusAfter } from './workflow-ends.js'
import { type Life, lifeIn, type NodeLives, type PlayedWorkflow, wasJudgedAway } from './workflow-lives.js'
import type { WorkflowLook } from './workflow-log.js'
import { standingAt } from './workflow-standings.js'

export interface Retried {
  readonly looks: readonly WorkflowLook[]
  readonly asks: Asks
  /** Somebody asked for the workflow to be cancelled: of an earlier run nothing tells that but what it cancelled. */
  readonly mayBeCancelled: boolean
}

/** A run begins: what was opened, and when by the clock of the store. */
interface Opening {
  readonly run: number
  readonly at: number
  readonly opened: ReadonlySet<string>
}

/** Why nodes are opened: all that did not succeed, or those that were asked for by name. */
type Cause = ReadonlySet<string> | 'all'

/**
 * Point 6: each retry opened what had failed or was cancelled and what that had kept from running, as far as it can run by how the rest
 * ended; each replay of a node the same for that node alone, and each operation for those
 * that it means together, whether the workflow was over or not; and nothing else was opened.
 */
export function checkRetries(played: PlayedWorkflow, retried: Retried): Finding[] {
  return played.openings.flatMap((at, place) => {
    const run = place + 2
    const nodes = [...played.nodes.values()].filter(({ lives }) =>
      lives.some((life) => life.run === run && life.openedAt === at),
    )
    const opening = { run, at, opened: new Set(nodes.map(({ name }) => name)) }
    return checkOpening(played, opening, retried)
  })
}

function checkOpening(played: PlayedWorkflow, opening: Opening, retried: Retried): Finding[] {
  const causes = causesOf(played, opening, retried)
  const moments = momentsOf(played, opening)
  const tries = causes.flatMap((cause) => moments.map((at) => ({ cause, at })))
  const fits = tries.filter(({ cause, at }) => fitsAt(played, opening, { cause, at }))
  const isNamed = fits.some(({ cause }) => cause !== 'all')
  const hadSucceeded = causes.includes('all') && !isNamed && statusAfter(played, opening.run - 1) === 'SUCCEEDED'
  const again = about(played, 'a workflow that had succeeded was run again', `run ${opening.run - 1}`)
  return [
    ...(hadSucceeded && !retried.mayBeCancelled ? [again] : []),
    ...(fits.length === 0 ? describe(played, opening, causes[0]) : []),
  ]
}

function causesOf(played: PlayedWorkflow, { at, run, opened }: Opening, { looks, asks }: Retried): Cause[] {
  const retries = looks.filter(({ verb }) => verb === 'retry')
  const isRetried = retries.some((call) => mayActWithin(call, at - TURN_MS, at + ROUNDING_MS + TURN_MS))
  const before = [...played.nodes.values()].flatMap((node) => {
    const life = lifeIn(node, run - 1)
    return life ? [{ node, life }] : []
  })
  const replayed = before.filter(
    ({ node, life }) => opened.has(node.name) && isReplayAsked(played, node, { at, life, asks }),
  )
  const named = replayed.map(({ node }) => new Set([node.name]))
  return [...(isRetried ? ['all' as const] : []), ...named, ...seedsOfOperations(played, before, { at, asks })]
}

/**
 * Instants around the opening at which nodes may have stood differently: nobody knows which of them came before it. What was opened had
 * ended by then, and all that ended before that.
 */
function momentsOf(played: PlayedWorkflow, { at, run, opened }: Opening): number[] {
  const ends = [...played.nodes.values()].map((node) => ({ node, end: lifeIn(node, run - 1)?.endedAt ?? at }))
  const earliest = Math.max(at - TURN_MS, ...ends.flatMap(({ node, end }) => (opened.has(node.name) ? end : [])))
  const turns = ends.flatMap(({ node, end }) => [end, node.task.discardedAt ?? at])
  const near = turns.filter((each) => each > earliest && each < at + TURN_MS)
  return [...new Set([Math.max(at, earliest), earliest, ...near])]
}

interface Try {
  readonly cause: Cause
  readonly at: number
}

function fitsAt(played: PlayedWorkflow, opening: Opening, { cause, at }: Try): boolean {
  const there = [...played.nodes.values()].filter((node) => lifeIn(node, opening.run - 1) !== undefined)
  const isOver = there.every((node) => standingBefore(node, opening, at) !== 'open')
  if (cause === 'all' && !isOver) return false
  const due = dueAt(played, opening, { cause, at })
  return due.size === opening.opened.size && [...due].every((name) => opening.opened.has(name))
}

/** What was opened had ended before, whatever the clock says. */
function standingBefore(node: NodeLives, { run, opened }: Opening, at: number): Standing {
  return standingAt(node, { run: run - 1, at: opened.has(node.name) ? Number.POSITIVE_INFINITY : at })
}

/** What is to be opened, parents before children. */
function dueAt(played: PlayedWorkflow, opening: Opening, { cause, at }: Try): ReadonlySet<string> {
  const due = new Set<string>()
  for (const node of played.nodes.values()) {
    const before = standingBefore(node, opening, at)
    const life = lifeIn(node, opening.run - 1)
    if (!life || before === 'open' || before === 'succeeded') continue
    const parents = node.parents.flatMap((name) => played.nodes.get(name) ?? [])
    const standing = parents.map((each) => (due.has(each.name) ? 'open' : standingBefore(each, opening, at)))
    const isKept = node.task.discardedAt === null || node.task.discardedAt > at
    const isNamed = cause !== 'all' && cause.has(node.name)
    const isSeed = isKept && (cause === 'all' ? before === 'failed' : isNamed)
    const isBehind = waited(life) && node.parents.some((name) => due.has(name))
    // what failed, or was cancelled by hand, and is not needed any more is skipped, unless it was asked for by name
    const maySkip = before === 'failed' && !isNamed && isNotNeeded(node.rule, standing)
    if ((isSeed || isBehind) && (mayRun(node.rule, standing) || maySkip)) due.add(node.name)
  }
  return due
}

/** It ended without having been to run. */
const waited = (life: Life): boolean => wasJudgedAway(life) || life.wasBlocked

function describe(played: PlayedWorkflow, opening: Opening, cause: Cause | undefined): Finding[] {
  const told = `run ${opening.run} opened ${[...opening.opened].join(' ')}`
  if (cause === undefined) return [about(played, 'opened again, though nobody asked', told)]
  // a workflow that is retried as a whole is over
  const due = dueAt(played, opening, { cause, at: cause === 'all' ? Number.POSITIVE_INFINITY : opening.at })
  const by = cause === 'all' ? 'a retry' : `a replay of ${[...cause].join(' ')}`
  const detail = (name: string): string => {
    const node = played.nodes.get(name)
    const life = node && lifeIn(node, opening.run - 1)
    return `${name} in run ${opening.run} by ${by}, ${life?.status} ${life?.reason ?? ''} before; ${told}`
  }
  const wrong = [...opening.opened].filter((name) => !due.has(name))
  const left = [...due].filter((name) => !opening.opened.has(name))
  if (wrong.length + left.length === 0) return [about(played, 'retried as a whole while it was open', told)]
  return [
    ...wrong.map((name) => about(played, 'a retry opened what it had to leave', detail(name))),
    ...left.map((name) => about(played, 'a retry left what it had to open', detail(name))),
  ]
}

function about({ workflow }: PlayedWorkflow, rule: string, detail: string): Finding {
  return { point: 6, rule, subject: `${workflow.id} (${workflow.mark})`, detail }
}
