import type { WorkflowStatus } from '@duly/domain'
import { describe, expect, test } from 'vitest'
import type { HandlerRecord } from './handler-log.js'
import type { PastRun, TaskHistory } from './history.js'
import { type GraphRun, idOf, look, playedWorkflow, submission } from './testing/graph-run.js'
import type { StoredNode, WorkflowHistory } from './workflow-history.js'
import type { WorkflowLook } from './workflow-log.js'
import { checkWorkflows } from './workflows.js'

const [FAILED_ONCE, FAST, STOPPED, ALONE] = [idOf(1), idOf(2), idOf(3), idOf(4)]

/** Three workflows in which every promise was kept; each test breaks one thing and must be told so. */
function keptPromises(): GraphRun {
  const runs = [
    // what failed was run again; what it had blocked ran then, its clean-up had run before
    playedWorkflow(
      1,
      { status: 'SUCCEEDED' },
      {
        a: { ends: ['SUCCEEDED'] },
        b: { after: ['a'], ends: ['FAILED', 'SUCCEEDED'] },
        c: { after: ['b'], ends: ['FAILED dependency!', 'SUCCEEDED'] },
        clean: { after: ['b'], rule: 'one_failed', ends: ['SUCCEEDED'] },
        unneeded: { after: ['a'], rule: 'one_failed', ends: ['CANCELLED skipped!'] },
        behind: { after: ['unneeded', 'a'], ends: ['CANCELLED skipped!'] },
        any: { after: ['a', 'b'], rule: 'one_succeeded', ends: ['SUCCEEDED'] },
        grow: { after: ['a'], adds: ['more', 'most'], ends: ['SUCCEEDED'] },
        more: { after: ['grow'], ends: ['SUCCEEDED'] },
        most: { after: ['more', 'a'], rule: 'none_failed', ends: ['SUCCEEDED'] },
      },
    ),
    playedWorkflow(
      2,
      { status: 'FAILED', failurePolicy: 'fail_fast' },
      {
        x: { ends: ['DEAD'] },
        y: { ends: ['CANCELLED workflow_failed'] },
        z: { after: ['y'], rule: 'all_done', ends: ['CANCELLED workflow_failed!'] },
      },
    ),
    playedWorkflow(
      3,
      { status: 'CANCELLED', isCancelRequested: true },
      {
        p: { ends: ['SUCCEEDED'] },
        q: { after: ['p'], ends: ['CANCELLED workflow_cancelled'] },
        r: { after: ['q'], ends: ['CANCELLED workflow_cancelled!'] },
      },
    ),
    playedWorkflow(
      4,
      { status: 'FAILED' },
      {
        s: { ends: ['CANCELLED cancelled'] },
        t: { after: ['s'], ends: ['FAILED dependency!'] },
      },
    ),
  ]
  const cancelNode = { verb: 'cancel', id: taskOf(runs[3], 's').id, observed: 'CANCELLED', completedAt: null } as const
  return {
    workflowLog: [
      ...runs.flatMap(({ workflowLog }) => workflowLog),
      look('get', FAILED_ONCE, { observed: 'FAILED', completedAt: 'first' }),
      look('retry', FAILED_ONCE, { startedAt: 999, endedAt: 1_001, observed: 'RUNNING' }),
      look('get', FAILED_ONCE, { startedAt: 2_000, endedAt: 2_001, observed: 'SUCCEEDED', completedAt: 'second' }),
      look('cancel', STOPPED, { observed: 'CANCELLED', completedAt: 'third', isStopping: true }),
    ],
    clientLog: [{ outcome: 'ok', status: 200, code: null, startedAt: 1, endedAt: 2, ...cancelNode }],
    handlerLog: runs.flatMap(({ handlerLog }) => handlerLog),
    history: runs.flatMap(({ history }) => history),
    workflows: runs.flatMap(({ workflows }) => workflows),
  }
}

const marks = ['', FAILED_ONCE, FAST, STOPPED, ALONE]

function taskOf(run: Pick<GraphRun, 'history'> | undefined, name: string): TaskHistory {
  const found = run?.history.find(({ mark }) => mark?.split('/')[1] === name)
  if (!found) throw new Error(`no task ${name}`)
  return found
}

function changeTask(run: GraphRun, name: string, over: Partial<TaskHistory>): void {
  const { id } = taskOf(run, name)
  run.history = run.history.map((each) => (each.id === id ? { ...each, ...over } : each))
}

function changeWorkflow(run: GraphRun, id: string, over: Partial<WorkflowHistory>): void {
  run.workflows = run.workflows.map((each) => (each.id === id ? { ...each, ...over } : each))
}

function changeNodes(run: GraphRun, id: string, change: (nodes: readonly StoredNode[]) => readonly StoredNode[]): void {
  const { nodes = [] } = run.workflows.find((each) => each.id === id) ?? {}
  changeWorkflow(run, id, { nodes: change(nodes) })
}

function changeRecord(run: GraphRun, name: string, event: HandlerRecord['event'], over: Partial<HandlerRecord>): void {
  const { id, attempt } = taskOf(run, name)
  const fits = (each: HandlerRecord) => each.id === id && each.event === event && each.lease.attempt === attempt
  run.handlerLog = run.handlerLog.map((each) => (fits(each) ? { ...each, ...over } : each))
}

const drop = (name: string) => (nodes: readonly StoredNode[]) => nodes.filter((node) => node.name !== name)
const edit = (name: string, over: Partial<StoredNode>) => (nodes: readonly StoredNode[]) =>
  nodes.map((node) => (node.name === name ? { ...node, ...over } : node))
const forget = (run: GraphRun, fits: (look: WorkflowLook) => boolean): void => {
  run.workflowLog = run.workflowLog.filter((call) => call.verb === 'submit' || !fits(call))
}
const pastRun = (status: PastRun['status'], reason: string | null, attempt: number): PastRun => ({
  ...{ status, reason, attempt, completedAt: 500, archivedAt: 1_000 },
})
const cancelled = (reason: string): Partial<TaskHistory> => ({ status: 'CANCELLED', reason })
const ended = (from: 'BLOCKED' | 'PENDING' | 'RUNNING'): Partial<TaskHistory> => ({
  events: [{ transition: 'cancel', from, to: 'CANCELLED' }],
})
const firstAsked = ({ workflowLog: [first] }: GraphRun) => {
  if (first?.verb !== 'submit') throw new Error('the first call submits')
  return first.asked
}

test('runs in which every promise was kept have no findings', () => {
  expect(checkWorkflows(keptPromises())).toEqual([])
})

const submissions: readonly (readonly [string, (run: GraphRun) => unknown])[] = [
  ['an accepted workflow is missing', (run) => run.workflows.shift()],
  [
    'one workflow was answered with two ids',
    (run) => run.workflowLog.push(submission(firstAsked(run), { id: idOf(9) })),
  ],
  [
    'one submission made several workflows',
    (run) => run.workflows.push({ ...run.workflows[0], id: idOf(9) } as WorkflowHistory),
  ],
  [
    'a refused submission made a workflow',
    (run) => (run.workflowLog[0] = submission(firstAsked(run), { outcome: 'fail', status: 503 })),
  ],
  ['a workflow that nobody submitted', (run) => changeWorkflow(run, FAST, { mark: 'w9' })],
  ['a node is missing', (run) => changeNodes(run, FAST, drop('z'))],
  ['a node is missing', (run) => changeNodes(run, FAILED_ONCE, drop('more'))],
  ['a node is missing', (run) => changeNodes(run, FAILED_ONCE, (nodes) => drop('more')(drop('most')(nodes)))],
  ['a node that nobody asked for', (run) => changeNodes(run, FAST, edit('z', { name: 'zz' }))],
  ['a node is not as it was asked for', (run) => changeNodes(run, FAST, edit('z', { rule: 'none_failed' }))],
  ['a node is not as it was asked for', (run) => changeNodes(run, FAST, edit('z', { parents: ['x', 'y'] }))],
  ['a node is not as it was asked for', (run) => changeNodes(run, FAILED_ONCE, edit('more', { addedBy: null }))],
]

const ends: readonly (readonly [string, (run: GraphRun) => unknown])[] = [
  ['a workflow never ended', (run) => changeWorkflow(run, FAST, { status: 'RUNNING' })],
  ['runs and retries differ', (run) => changeWorkflow(run, FAILED_ONCE, { run: 3 })],
  [
    'a workflow that had succeeded was run again',
    (run) => {
      changeTask(run, 'b', { pastRuns: [] })
      changeTask(run, 'c', { pastRuns: [pastRun('CANCELLED', 'skipped', 0)] })
    },
  ],
  [
    'a node ended against its trigger rule',
    (run) => changeTask(run, 'behind', { status: 'FAILED', reason: 'dependency' }),
  ],
  [
    'a node ended against its trigger rule',
    (run) => changeTask(run, 'unneeded', { status: 'FAILED', reason: 'dependency' }),
  ],
  ['a node ended against its trigger rule', (run) => changeTask(run, 'most', cancelled('skipped'))],
  [
    'a node ended against its trigger rule',
    (run) => changeTask(run, 'any', { status: 'FAILED', reason: 'dependency' }),
  ],
  ['a node ended against its trigger rule', (run) => changeTask(run, 't', cancelled('skipped'))],
  ['a node that was not to run has run', (run) => changeTask(run, 'unneeded', { attempt: 1 })],
  [
    'a node ran against its trigger rule',
    (run) => changeTask(run, 'unneeded', { status: 'SUCCEEDED', reason: null, attempt: 1 }),
  ],
  [
    'a node ran against its trigger rule',
    (run) => changeTask(run, 'c', { pastRuns: [pastRun('FAILED', null, 1)], attempt: 2 }),
  ],
  ['a node ran against its trigger rule', (run) => changeTask(run, 'r', ended('PENDING'))],
  ['a node ended without having run', (run) => changeTask(run, 'a', { attempt: 0 })],
  ['cancelled, though nobody asked', (run) => forget(run, ({ verb }) => verb === 'cancel')],
  ['cancelled, though nobody asked', (run) => run.clientLog.pop()],
  ['cancelled for a failure that is not there', (run) => changeTask(run, 'x', { status: 'SUCCEEDED' })],
  ['cancelled for a failure that is not there', (run) => changeTask(run, 'q', cancelled('workflow_failed'))],
  ['cancelled for a reason that nothing here has', (run) => changeTask(run, 'q', cancelled('purged'))],
  ['a cancellation that nobody asked for', (run) => changeWorkflow(run, FAST, { isCancelRequested: true })],
  ...marks
    .slice(1)
    .flatMap((id) =>
      (['SUCCEEDED', 'FAILED', 'CANCELLED'] as const)
        .filter((status) => keptPromises().workflows.every((each) => each.id !== id || each.status !== status))
        .map(
          (status: WorkflowStatus) =>
            [
              'the workflow ended otherwise than its nodes',
              (run: GraphRun) => changeWorkflow(run, id, { status }),
            ] as const,
        ),
    ),
  ['the workflow ended otherwise than its nodes', (run) => changeTask(run, 'most', { status: 'DEAD' })],
]

const once = { status: 'SUCCEEDED', attempt: 1, events: [], pastRuns: [] } as const
const retries: readonly (readonly [string, (run: GraphRun) => unknown])[] = [
  [
    'a retry opened what it had to leave',
    (run) => changeTask(run, 'a', { pastRuns: [pastRun('SUCCEEDED', null, 1)], attempt: 2 }),
  ],
  [
    'a retry opened what it had to leave',
    (run) => changeTask(run, 'unneeded', { pastRuns: [pastRun('CANCELLED', 'skipped', 0)] }),
  ],
  ['a retry left what it had to open', (run) => changeTask(run, 'b', { ...once, status: 'FAILED' })],
  [
    'a retry left what it had to open',
    (run) => changeTask(run, 'c', { ...once, status: 'FAILED', reason: 'dependency', attempt: 0 }),
  ],
]

const results: readonly (readonly [string, (run: GraphRun) => unknown])[] = [
  [
    'told of a dependency that it does not have',
    (run) => changeRecord(run, 'b', 'start', { statuses: { a: 'SUCCEEDED', p: 'SUCCEEDED' } }),
  ],
  ['a dependency ended otherwise than was told', (run) => changeRecord(run, 'b', 'start', { statuses: { a: 'DEAD' } })],
  ['started before a dependency had returned', (run) => changeRecord(run, 'c', 'start', { at: 0 })],
  [
    'started before its dependencies had ended',
    (run) => changeRecord(run, 'most', 'start', { statuses: { a: 'SUCCEEDED' } }),
  ],
  [
    'started before its dependencies had ended',
    (run) => changeRecord(run, 'any', 'start', { statuses: { b: 'FAILED' } }),
  ],
  ['started before its dependencies had ended', (run) => changeRecord(run, 'clean', 'start', { statuses: {} })],
  ['a result was not handed over', (run) => changeRecord(run, 'most', 'given', { results: { a: 'digest of a' } })],
  [
    'a result is not what its handler returned',
    (run) => changeRecord(run, 'b', 'given', { results: { a: 'digest of b' } }),
  ],
  ['a result is not what its handler returned', (run) => changeRecord(run, 'a', 'end', { digest: 'another' })],
]

const looks: readonly (readonly [string, (run: GraphRun) => unknown])[] = [
  ['the end of a workflow was left again', (run) => forget(run, ({ verb }) => verb === 'retry')],
  [
    'the end of a workflow was left again',
    (run) => run.workflowLog.push(look('get', STOPPED, { startedAt: 600, endedAt: 601, observed: 'RUNNING' })),
  ],
  [
    'the end of a workflow was left again',
    (run) =>
      run.workflowLog.push(
        look('get', STOPPED, { startedAt: 600, endedAt: 601, observed: 'CANCELLED', completedAt: 'fourth' }),
      ),
  ],
  ['started in a workflow that was stopped', (run) => changeTask(run, 'p', { startedAt: 510 })],
  [
    'started in a workflow that was stopped',
    (run) => run.workflowLog.push(look('get', FAST, { startedAt: 5, endedAt: 6, isStopping: true })),
  ],
]

describe.each([
  [1, submissions],
  [6, ends],
  [6, retries],
  [6, results],
  [6, looks],
] as const)('a broken promise is told (%i)', (point, broken) => {
  test.each(broken)('%s', (rule, breakIt) => {
    const run = keptPromises()
    breakIt(run)
    expect(checkWorkflows(run)).toContainEqual(expect.objectContaining({ point, rule }))
  })
})

test('what was stopped may go on after a retry that may have been accepted', () => {
  const run = keptPromises()
  changeTask(run, 'p', { startedAt: 5_000 })
  const rules = () => checkWorkflows(run).map(({ rule }) => rule)
  expect(rules()).toEqual(['started in a workflow that was stopped'])
  run.workflowLog.push(look('retry', STOPPED, { startedAt: 600, endedAt: 700, outcome: 'fail', status: 409 }))
  expect(rules()).toEqual(['started in a workflow that was stopped'])
  run.workflowLog.push(look('retry', STOPPED, { startedAt: 600, endedAt: 700, outcome: 'unknown', status: null }))
  expect(rules()).toEqual([])
})
