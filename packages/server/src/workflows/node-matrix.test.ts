import { DulyError } from '@duly/domain'
import { describe, expect, test } from 'vitest'
import type { WaitingEnd } from '../store/workflow-rows.js'
import { expectSound, wholeStateOf } from '../testing/facts.js'
import { claimLife, type Life, say, words } from '../testing/lives.js'
import {
  expectLanding,
  landingsOfTasks,
  namesOf,
  type Places,
  passExpiry,
  placeNames,
  placesOf,
  type Step,
  type Steps,
  stepsOf,
  stepsThatMayLand,
  stopOf,
} from '../testing/matrix.js'
import { openTestStore } from '../testing/test-node.js'
import { newWorkflow } from '../testing/workflows.js'
import { endingOf } from './settlement.js'

// The same matrix as that of tasks by themselves, by the ways that end and open a task of a workflow.
const { node } = await openTestStore()
const { nodeEnds, stores } = node
const api = { kind: 'api', name: 'tester' } as const

/** The only task of a workflow, running. */
async function start(): Promise<Life> {
  const { queue, ...workflow } = newWorkflow({ it: {} })
  const { nodes } = await node.workflows.submit(workflow)
  return claimLife(node, { id: nodes[0]?.id as string, queue })
}

const places: Places = {
  ...placesOf(node),
  BLOCKED: async (life) => {
    await say(node, life, words.snooze)
    await node.query(`update open_tasks set status = 'BLOCKED', blockers = 1 where id = $1`, [life.id])
    await node.query('update workflow_nodes set triggered_at = null where id = $1', [life.id])
  },
}

/** What an end of a parent means for the node, written under the lock of its workflow. */
function endBy(how: WaitingEnd['how'], reason: string): Step['step'] {
  return ({ id }) =>
    nodeEnds.ofTasks([id], async ({ client, settlement, slot }) => {
      const ended = await stores.settle.endWaiting(client, [{ id, how, reason }], { actor: 'dependency', slot })
      await settlement.began(ended.map(endingOf))
    })
}

const refusedIs = (code: string) => (error: unknown) => {
  if (!(error instanceof DulyError) || error.code !== code) throw error
}

const plain = stepsOf(node)
const steps: Steps = {
  ...plain,
  unblock: {
    step: ({ id }) =>
      nodeEnds.ofTasks([id], ({ client, slot }) => stores.settle.unblock(client, [{ id, handoff: null }], slot)),
  },
  skip: { step: endBy('skip', 'skipped') },
  upstream_fail: { step: endBy('upstream_fail', 'dependency') },
  stop: { step: (life) => nodeEnds.finish([stopOf(life)]) },
  cancel: { step: ({ id }) => nodeEnds.cancel(id, null, { actor: 'api:tester', reason: 'cancelled' }) },
  purge: { step: ({ id }) => nodeEnds.purge([id], 'api:tester') },
  expire: { given: ({ id }) => passExpiry(node, id), step: ({ id }) => nodeEnds.expire([id]) },
  replay: { step: ({ id }) => node.tasks.replay(id, null, api).catch(refusedIs('wrong_state')) },
}

const landings: Readonly<Record<string, string>> = {
  ...landingsOfTasks,
  'skip BLOCKED': 'CANCELLED snoozes=1 reason=skipped | 1 snoozed | skip BLOCKED>CANCELLED @- dependency',
  'upstream_fail BLOCKED':
    'FAILED snoozes=1 reason=dependency | 1 snoozed | upstream_fail BLOCKED>FAILED @- dependency',
  'purge PENDING': 'CANCELLED releases=1 reason=purged | 1 released | cancel PENDING>CANCELLED @- api',
}

const matrix = { node, start, places, steps, landings }

describe.each(namesOf(steps))('%s of a node', (name) => {
  test.each([...placeNames])('from %s', (place) => expectLanding(matrix, name, place))
})

test('the table and the hand-written landings name the same steps', () => {
  expect(Object.keys(landings).sort()).toEqual(stepsThatMayLand(steps).sort())
})

// whatever is not under the lock of its workflow must not end or open a task of one
describe.each(['cancel', 'expire', 'stop', 'replay'] as const)('the %s of tasks by themselves', (name) => {
  test.each([...placeNames])('leaves a node alone that is %s', async (place) => {
    const { given, step } = plain[name] as Step
    const life = await start()
    await places[place](life)
    await given?.(life)
    const before = await wholeStateOf(node, life.id)
    await step(life)
    expect(await wholeStateOf(node, life.id)).toEqual(before)
  })
})

test('through all of it each node stood in one place and was counted, and its workflow followed', () =>
  expectSound(node, /open or finished|asked for|counters|dead letters|numbered|partition|workflow runs|node has ended/))
