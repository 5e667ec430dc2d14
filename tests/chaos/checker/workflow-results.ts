import type { Uuid } from '@duly/domain'
import type { Finding } from './finding.js'
import { type Standing, verdictsOf } from './graph-rules.js'
import type { HandlerRecord } from './handler-log.js'
import { ROUNDING_MS, TURN_MS } from './instants.js'
import { type Life, type NodeLives, type PlayedWorkflow, standingOf, startsOf } from './workflow-lives.js'

type Records = ReadonlyMap<Uuid, readonly HandlerRecord[]>

/**
 * Point 6: no handler of a node started before what it waits for had ended, each was told how its dependencies ended, and was handed exactly
 * the results that their handlers returned.
 */
export function checkResults(played: PlayedWorkflow, records: Records): Finding[] {
  return [...played.nodes.values()].flatMap((node) => {
    const own = records.get(node.task.id) ?? []
    return own.flatMap((record) => {
      const life = node.lives.find(({ attempts: { first, last } }) => {
        const { attempt } = record.lease
        return first <= attempt && attempt <= last
      })
      if (!life) return []
      if (record.event === 'start') return checkStart({ played, records }, { node, life, record })
      return record.event === 'given' ? checkGiven({ played, records }, { node, life, record }) : []
    })
  })
}

interface Evidence {
  readonly played: PlayedWorkflow
  readonly records: Records
}

interface Told {
  readonly node: NodeLives
  readonly life: Life
  readonly record: HandlerRecord
}

function checkStart({ played, records }: Evidence, { node, life, record }: Told): Finding[] {
  const statuses = new Map(Object.entries(record.statuses ?? {}))
  const strangers = [...statuses.keys()].filter((name) => !node.parents.includes(name))
  const findings = strangers.map((name) =>
    about(played, 'told of a dependency that it does not have', `${node.name}: ${name}`),
  )
  const standing = node.parents.map((name): Standing => {
    const [told, parent] = [statuses.get(name), played.nodes.get(name)]
    if (told === undefined || !parent) return 'open'
    const end = endsToldOf(parent, { node, life, record }).find(({ status }) => status === told)
    if (!end) {
      const lives = parent.lives.map(({ status, run }) => `${status} in run ${run}`).join(', ')
      const detail = `${node.name}: ${name} ${told}, not ${lives}`
      findings.push(about(played, 'a dependency ended otherwise than was told', detail))
      return 'open'
    }
    const isLater = told === 'SUCCEEDED' && (returnOf(parent, records)?.at ?? 0) > record.at
    if (isLater) findings.push(about(played, 'started before a dependency had returned', `${node.name}: ${name}`))
    return standingOf(end)
  })
  const mayBeOpenAgain = node.parents.some((name) => isOpenedWithin(played.nodes.get(name), life, record.at))
  if (!mayBeOpenAgain && !verdictsOf(node.rule, standing).includes('run'))
    findings.push(
      about(played, 'started before its dependencies had ended', `${node.name}: ${node.rule} of ${standing.join(' ')}`),
    )
  return findings
}

/** The ends of a dependency that a handler can have been told of: it was over by then, and not taken back before the grant. */
function endsToldOf({ lives }: NodeLives, { node, life, record }: Told): readonly Life[] {
  const grantedAt = startsOf(node).get(record.lease.attempt) ?? record.at
  return lives.filter((end, place) => {
    const next = lives[place + 1]
    // when a success came, its handler says better
    const wasThere = end.status === 'SUCCEEDED' || end.endedAt <= record.at + ROUNDING_MS
    return (
      wasThere &&
      end.run < life.until &&
      end.until > life.run &&
      (next === undefined || next.openedAt > grantedAt - TURN_MS)
    )
  })
}

/** A dependency was taken back after the node was opened, and perhaps after it was judged. */
const isOpenedWithin = (parent: NodeLives | undefined, { run, until }: Life, at: number): boolean =>
  parent?.lives.some((each) => each.run > run && each.run < until && each.openedAt < at + ROUNDING_MS) ?? false

function checkGiven({ played, records }: Evidence, { node, record }: Told): Finding[] {
  const start = (records.get(node.task.id) ?? []).find(
    ({ event, lease }) => event === 'start' && lease.attempt === record.lease.attempt,
  )
  const results = new Map(Object.entries(record.results ?? {}))
  const due = Object.entries(start?.statuses ?? {}).flatMap(([name, status]) => (status === 'SUCCEEDED' ? [name] : []))
  const lacking = due.filter((name) => !results.has(name))
  const wrong = [...results].filter(([name, digest]) => returnOf(played.nodes.get(name), records)?.digest !== digest)
  return [
    ...lacking.map((name) => about(played, 'a result was not handed over', `${node.name}: ${name}`)),
    ...wrong.map(([name]) => about(played, 'a result is not what its handler returned', `${node.name}: ${name}`)),
  ]
}

/** How the handler left that made the success which stands. */
function returnOf(node: NodeLives | undefined, records: Records): HandlerRecord | undefined {
  const own = node ? (records.get(node.task.id) ?? []) : []
  return own.find(
    ({ event, left, lease }) => event === 'end' && left === 'returned' && lease.attempt === node?.task.attempt,
  )
}

function about({ workflow }: PlayedWorkflow, rule: string, detail: string): Finding {
  return { point: 6, rule, subject: `${workflow.id} (${workflow.mark})`, detail }
}
