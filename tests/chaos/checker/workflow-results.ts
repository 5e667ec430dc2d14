import type { Uuid } from '@duly/domain'
import type { Finding } from './finding.js'
import { mayHaveStarted } from './graph-rules.js'
import type { HandlerRecord } from './handler-log.js'
import { type Life, lifeIn, type NodeLives, type PlayedWorkflow, standingOf } from './workflow-lives.js'

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
  const standing = node.parents.map((name) => {
    const told = statuses.get(name)
    const parent = played.nodes.get(name)
    const end = parent && lifeIn(parent, life.run)
    if (told === undefined) return 'open'
    if (told !== end?.status)
      findings.push(
        about(
          played,
          'a dependency ended otherwise than was told',
          `${node.name}: ${name} ${told}, not ${end?.status}`,
        ),
      )
    const isLater = told === 'SUCCEEDED' && (returnOf(parent, records)?.at ?? 0) > record.at
    if (isLater) findings.push(about(played, 'started before a dependency had returned', `${node.name}: ${name}`))
    return standingOf(end)
  })
  if (!mayHaveStarted(node.rule, standing))
    findings.push(
      about(played, 'started before its dependencies had ended', `${node.name}: ${node.rule} of ${standing.join(' ')}`),
    )
  return findings
}

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
