import { describe, expect, test } from 'vitest'
import type { BulkCall, TaskCall } from './client-log.js'
import type { TaskHistory } from './history.js'
import { type GraphRun, idOf, look, playedWorkflow } from './testing/graph-run.js'
import { checkWorkflows } from './workflows.js'

const [OPEN, CLOSED, TAKEN, SWEPT] = [idOf(1), idOf(2), idOf(3), idOf(5)]
const answered = { outcome: 'ok', status: 200, code: null } as const
const [EARLY, LATE] = [10_000, 60_000]

function taskOf({ history }: Pick<GraphRun, 'history'>, name: string): TaskHistory {
  const found = history.find(({ mark }) => mark?.split('/')[1] === name)
  if (!found) throw new Error(`no task ${name}`)
  return found
}

function change(run: GraphRun, name: string, over: Partial<TaskHistory>): void {
  const { id } = taskOf(run, name)
  run.history = run.history.map((each) => (each.id === id ? { ...each, ...over } : each))
}

function expiring(run: GraphRun, name: string, expiresAt: number | undefined): void {
  run.workflowLog = run.workflowLog.map((call) => {
    if (call.verb !== 'submit') return call
    const nodes = call.asked.nodes.map((node) => (node.name === name ? { ...node, expiresAt } : node))
    return { ...call, asked: { ...call.asked, nodes } }
  })
}

const replay = (run: Pick<GraphRun, 'history'>, name: string): TaskCall => ({
  ...{ ...answered, startedAt: 999, endedAt: 1_001, verb: 'replay', observed: null, completedAt: null },
  id: taskOf(run, name).id,
})

const bulk = (over: Partial<BulkCall>): BulkCall => ({
  ...{ ...answered, startedAt: 1, endedAt: 2, verb: 'bulk', action: 'cancel', workflow: null, doneAt: 3 },
  ...over,
})

/** Workflows whose nodes were replayed, expired, and cancelled one by one, in which every promise was kept. */
function keptPromises(): GraphRun {
  const runs = [
    playedWorkflow(
      1,
      { status: 'FAILED' },
      {
        again: { ends: ['FAILED', 'SUCCEEDED'] },
        behind: { after: ['again'], ends: ['FAILED dependency!', 'SUCCEEDED'] },
        other: { ends: ['FAILED'] },
        lost: { after: ['other'], ends: ['FAILED dependency!'] },
        slow: { ends: ['SUCCEEDED'] },
      },
    ),
    playedWorkflow(2, { status: 'SUCCEEDED' }, { closed: { ends: ['DEAD', 'SUCCEEDED'] } }),
    playedWorkflow(
      3,
      { status: 'SUCCEEDED' },
      {
        taken: { ends: ['FAILED', 'SUCCEEDED'] },
        taker: { after: ['taken'], rule: 'one_failed', ends: ['SUCCEEDED'] },
      },
    ),
    playedWorkflow(
      4,
      { status: 'SUCCEEDED' },
      { expired: { ends: ['CANCELLED expired'] }, timed: { ends: ['SUCCEEDED'] } },
    ),
    playedWorkflow(5, { status: 'CANCELLED' }, { swept: { ends: ['CANCELLED cancelled'] } }),
  ]
  const all = { history: runs.flatMap(({ history }) => history) }
  const run: GraphRun = {
    workflowLog: [
      ...runs.flatMap(({ workflowLog }) => workflowLog),
      look('get', CLOSED, { observed: 'FAILED', completedAt: 'first' }),
      look('get', CLOSED, { startedAt: 2_000, endedAt: 2_001, observed: 'SUCCEEDED', completedAt: 'second' }),
    ],
    clientLog: [...['again', 'closed', 'taken'].map((name) => replay(all, name)), bulk({ workflow: SWEPT })],
    handlerLog: runs.flatMap(({ handlerLog }) => handlerLog),
    ...all,
    workflows: runs.flatMap(({ workflows }) => workflows),
  }
  change(run, 'slow', { completedAt: LATE })
  expiring(run, 'expired', 10)
  expiring(run, 'timed', EARLY)
  return run
}

const forget = (run: GraphRun, name: string): void => {
  const { id } = taskOf(run, name)
  run.clientLog = run.clientLog.filter((call) => call.verb === 'bulk' || !('id' in call) || call.id !== id)
}
const retried = (id: string) => look('retry', id, { startedAt: 999, endedAt: 1_001, observed: 'RUNNING' })
const opened = (task: TaskHistory): Partial<TaskHistory> => ({
  status: 'SUCCEEDED',
  ...{ attempt: task.attempt + 1, startedAt: 1_100, completedAt: 1_105, reason: null },
  events: [...task.events, { transition: 'replay', from: 'FAILED', to: 'PENDING' }],
  pastRuns: [{ status: 'FAILED', reason: task.reason, attempt: task.attempt, completedAt: 100, archivedAt: 1_000 }],
})

const broken: readonly (readonly [string, (run: GraphRun) => unknown])[] = [
  ['opened again, though nobody asked', (run) => forget(run, 'again')],
  ['opened again, though nobody asked', (run) => forget(run, 'closed')],
  ['the end of a workflow was left again', (run) => forget(run, 'closed')],
  [
    'retried as a whole while it was open',
    (run) => {
      forget(run, 'again')
      run.workflowLog.push(retried(OPEN))
      for (const name of ['other', 'lost']) change(run, name, opened(taskOf(run, name)))
    },
  ],
  ['a retry opened what it had to leave', (run) => change(run, 'other', opened(taskOf(run, 'other')))],
  ['a retry opened what it had to leave', (run) => change(run, 'lost', opened(taskOf(run, 'lost')))],
  [
    'a retry left what it had to open',
    (run) =>
      change(run, 'behind', { status: 'FAILED', reason: 'dependency', attempt: 0, pastRuns: [], completedAt: 15 }),
  ],
  ['a retry opened what it had to leave', (run) => change(run, 'closed', { discardedAt: 900 - LATE })],
  [
    'a workflow that had succeeded was run again',
    (run) => {
      forget(run, 'taken')
      run.workflowLog.push(retried(TAKEN))
    },
  ],
  ['expired, though it was not to', (run) => expiring(run, 'expired', undefined)],
  ['expired before its time', (run) => expiring(run, 'expired', EARLY)],
  ['started past its expiry', (run) => expiring(run, 'timed', 5)],
  ['cancelled, though nobody asked', (run) => (run.clientLog = run.clientLog.filter(({ verb }) => verb !== 'bulk'))],
]

test('runs in which every promise was kept have no findings', () => {
  expect(checkWorkflows(keptPromises())).toEqual([])
})

test('an operation asks for each task that it comes to', () => {
  const run = keptPromises()
  forget(run, 'closed')
  run.clientLog.push(bulk({ action: 'retry', workflow: null, startedAt: 900, endedAt: 901 }))
  expect(checkWorkflows(run)).toEqual([])
  forget(run, 'again')
  expect(checkWorkflows(run)).toMatchObject([{ rule: 'opened again, though nobody asked' }])
  run.clientLog.push(bulk({ action: 'retry', workflow: OPEN, startedAt: 900, endedAt: 901 }))
  expect(checkWorkflows(run)).toEqual([])
})

test('an operation opens what it means of a workflow together, and leaves what ended after it began', () => {
  const run = keptPromises()
  forget(run, 'again')
  for (const name of ['other', 'lost']) change(run, name, { ...opened(taskOf(run, name)) })
  change(run, 'lost', { events: [{ transition: 'upstream_fail', from: 'BLOCKED', to: 'FAILED' }] })
  run.workflows = run.workflows.map((each) => (each.id === OPEN ? { ...each, status: 'SUCCEEDED' } : each))
  const open = () => checkWorkflows(run).filter(({ detail }) => detail.includes('run 2'))
  run.clientLog.push(bulk({ action: 'retry', workflow: OPEN, startedAt: 50, endedAt: 51 }))
  expect(open()).not.toEqual([])
  run.clientLog.push(bulk({ action: 'retry', workflow: OPEN, startedAt: 900, endedAt: 901 }))
  expect(open()).toEqual([])
})

describe('a broken promise is told', () => {
  test.each(broken)('%s', (rule, breakIt) => {
    const run = keptPromises()
    breakIt(run)
    expect(checkWorkflows(run)).toContainEqual(expect.objectContaining({ point: 6, rule }))
  })
})

test('of instants that are near to each other either may have come first', () => {
  const run = keptPromises()
  // what was not opened failed when the first was replayed, or just behind it
  change(run, 'slow', { completedAt: 1_050 })
  change(run, 'other', { completedAt: 1_002 })
  expect(checkWorkflows(run)).toEqual([])
})
