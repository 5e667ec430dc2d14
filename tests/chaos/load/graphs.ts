import { type TriggerRule, triggerRules } from '@duly/domain'
import type { LaunchedGraph, PlanName, PlannedNode, PlannedPayload } from './plans.js'
import type { Random } from './random.js'
import { SIDE_QUEUE, submissionOf, TENANTS } from './submissions.js'

/** A workflow as the load asks for it. */
export interface AskedWorkflow {
  /** Stands in its metadata, so that it is found again without its id. */
  readonly mark: string
  readonly key: string | null
  readonly failurePolicy: 'fail_dependents' | 'fail_fast'
  readonly nodes: readonly PlannedNode[]
}

/** What is asked for, and the body that asks for it; the same body again is the same request. */
export interface DrawnWorkflow {
  readonly asked: AskedWorkflow
  readonly body: object
}

/** How often a node of a graph has which plan; what fails is rare, since its whole graph does. */
const MIX = {
  ...{ succeed: 560, work: 200, flaky: 80, snooze: 40, grow: 60 },
  ...{ permanent: 35, doomed: 10, overrun: 8, crash: 7 },
} as const
const ADDED_MIX = { succeed: 60, work: 25, flaky: 10, permanent: 5 } as const
/** A node waits for nodes that are not far before it, so that graphs get deep. */
const REACH = 12
/** Some of what is to start within so long does, some does not. */
const EXPIRES_MS = [300, 6_000] as const
/** Four such results are more than a grant brings along. */
const LARGE_RESULT = 300_000

/** Draws a graph of 1 to 60 nodes, mostly small, and how it is asked for. */
export function drawWorkflow(random: Random, mark: string): DrawnWorkflow {
  const size = random.integer(1, random.pick([4, 10, 25, 60]))
  const isLarge = size < 10 && random.next() < 0.1
  const nodes = Array.from({ length: size }, (_, place) => drawNode(random, { mark, place, isLarge }))
  const asked: AskedWorkflow = {
    mark,
    key: random.next() < 0.5 ? `key-${mark}` : null,
    failurePolicy: random.next() < 0.3 ? 'fail_fast' : 'fail_dependents',
    nodes,
  }
  const startsAt = random.next() < 0.1 ? new Date(Date.now() + random.between(0, 2_000)).toISOString() : undefined
  return { asked, body: bodyOf(random, asked, startsAt) }
}

interface Place {
  readonly mark: string
  readonly place: number
  readonly isLarge: boolean
}

const nameOf = (place: number): string => `n${place}`

function drawNode(random: Random, { mark, place, isLarge }: Place): PlannedNode {
  const name = nameOf(place)
  const payload = drawPayload(random, `${mark}/${name}`, random.weighted<PlanName>(MIX as Record<PlanName, number>))
  const adds = payload.plan === 'grow' ? { adds: drawAdded(random, { mark, name }) } : {}
  const after = drawParents(random, place)
  const pad = isLarge ? { pad: LARGE_RESULT } : {}
  const expiry = random.next() < 0.06 ? { expiresAt: Date.now() + random.integer(...EXPIRES_MS) } : {}
  const queue = random.next() < 0.15 ? { queue: SIDE_QUEUE } : {}
  const rule = drawRule(random, after.length)
  return { name, after, rule, ...expiry, ...queue, payload: { ...payload, ...adds, ...pad } }
}

/** A graph that a task launches again and again: what is in it is not bound to an instant. */
export function drawLaunched(random: Random): LaunchedGraph {
  const { asked } = drawWorkflow(random, 'launched')
  const nodes = asked.nodes.map(({ name, rule, after, payload }) => ({ name, rule, after, payload }))
  return { failurePolicy: asked.failurePolicy, nodes }
}

/** Mostly some of the nodes before it; now and then all of them, a join of the whole graph so far. */
function drawParents(random: Random, place: number): string[] {
  if (place === 0 || random.next() < 0.1) return []
  if (random.next() < 0.06) return Array.from({ length: place }, (_, each) => nameOf(each))
  const count = random.integer(1, Math.min(place, 4))
  const drawn = Array.from({ length: count }, () => random.integer(Math.max(0, place - REACH), place - 1))
  return [...new Set(drawn)].map(nameOf)
}

const drawRule = (random: Random, parents: number): TriggerRule =>
  parents === 0 || random.next() < 0.4 ? 'all_succeeded' : random.pick(triggerRules)

function drawPayload(random: Random, mark: string, plan: PlanName): PlannedPayload {
  return {
    mark,
    plan,
    ...(plan === 'work' ? { work_ms: random.integer(20, 600) } : {}),
    ...(plan === 'flaky' ? { fail_times: random.integer(1, 2) } : {}),
    ...(plan === 'grow' && random.next() < 0.4 ? { fail_times: 1 } : {}),
  }
}

/** What a running node adds: some behind itself, some behind each other, some behind the first node of the graph. */
function drawAdded(random: Random, { mark, name }: { readonly mark: string; readonly name: string }): PlannedNode[] {
  const names = Array.from({ length: random.integer(1, 4) }, (_, place) => `${name}.${place}`)
  return names.map((added, place) => {
    const before = names.slice(0, place)
    const choices: readonly (readonly string[])[] = [[], before, [name, ...before], [nameOf(0), ...before]]
    const after = random.pick(choices.filter((each, index) => index === 0 || each.length > 0))
    const plan = random.weighted<PlanName>(ADDED_MIX as Record<PlanName, number>)
    const payload = drawPayload(random, `${mark}/${added}`, plan)
    return { name: added, after: [...new Set(after)], rule: drawRule(random, 1), payload }
  })
}

function bodyOf(random: Random, { mark, key, failurePolicy, nodes }: AskedWorkflow, startsAt: string | undefined) {
  return {
    workflow_name: 'chaos',
    failure_policy: failurePolicy,
    metadata: { mark, tenant_id: random.pick(TENANTS) },
    ...(key === null ? {} : { idempotency_key: key }),
    ...(startsAt === undefined ? {} : { scheduled_at: startsAt }),
    tasks: nodes.map(({ name, rule, after, payload, expiresAt, queue }) => ({
      ...submissionOf(payload.plan, payload.mark, payload),
      ...{ task_id: name, dependencies: after, trigger_rule: rule },
      ...(queue === undefined ? {} : { queue }),
      ...(expiresAt === undefined ? {} : { expires_at: new Date(expiresAt).toISOString() }),
      ...(random.next() < 0.1 ? { delay_seconds: random.between(0.05, 1.5) } : {}),
    })),
  }
}
