import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Uuid } from '@duly/domain'
import pg from 'pg'
import { expect, test } from 'vitest'
import { FaultPlan } from '../../packages/server/src/testing/faulty-client.js'
import { checkLogs } from '../chaos/checker/check.js'
import { describeFindings, type Finding } from '../chaos/checker/finding.js'
import { readHistory, type TaskHistory } from '../chaos/checker/history.js'
import { checkInvariants } from '../chaos/checker/invariants.js'
import { seed } from '../chaos/load/random.js'
import { checkProgram } from './check-program.js'
import { FaultyNode } from './faulty-node.js'
import { Program } from './program.js'
import { checkRefused, trailOf } from './trail.js'

const isLong = process.env.DULY_LONG === '1'
const seeds = Number(process.env.DULY_SEEDS ?? (isLong ? 5_000 : 200))
const rounds = isLong ? 32 : 16
const rate = 0.1
/** Programs at once, each on a node and a database of its own, and programs on one database: the checker reads all of it. */
const lanes = 4
const programsOfNode = 25

interface Run {
  readonly seed: number
  readonly program: Program
  readonly plan: FaultPlan
  /** How long it took, and by how much the process was late at most: a machine that is short of time shows in both. */
  readonly tookMs: number
  readonly lateMs: number
}

async function runOn(node: FaultyNode, number: number): Promise<Run> {
  const program = new Program(node, String(number))
  const plan = new FaultPlan(`faults ${number}`, rate)
  const beganMs = performance.now()
  const lateness = monitorEventLoopDelay({ resolution: 10 })
  lateness.enable()
  node.faults = (statement) => plan.next(statement)
  await program.run(rounds)
  node.faults = () => null
  program.ledger.note('the faults are over')
  await program.settle()
  lateness.disable()
  return { seed: number, program, plan, tookMs: performance.now() - beganMs, lateMs: lateness.max / 1e6 }
}

/** Runs the programs of these seeds one after the other on one node; answers what was wrong with each. */
async function runAll(numbers: readonly number[]): Promise<string[]> {
  const node = await FaultyNode.open()
  try {
    const runs: Run[] = []
    for (const number of numbers) runs.push(await runOn(node, number))
    return await judge(node, runs)
  } finally {
    await node.close()
  }
}

async function judge(node: FaultyNode, runs: readonly Run[]): Promise<string[]> {
  const client = new pg.Client({ connectionString: node.url })
  await client.connect()
  const history = await readHistory(client)
  const stored = await checkInvariants(client)
  const told: string[] = []
  for (const run of runs) {
    const own = history.filter(({ mark }) => mark?.startsWith(`${run.program.name}/`))
    const ids = new Set<string>(own.map(({ id }) => id))
    const findings = [
      ...judgeOne(run, own),
      ...(await checkRefused(client, run.program.ledger)),
      ...stored.filter(({ subject }) => ids.has(subject)),
    ]
    if (findings.length + run.program.ledger.wrong.length > 0) told.push(await describeRun(client, run, findings))
  }
  await client.end()
  const known = new Set<string>(history.map(({ id }) => id))
  const others = stored.filter(({ subject }) => !known.has(subject))
  return others.length > 0 ? [...told, describeFindings(others)] : told
}

function judgeOne({ program: { ledger } }: Run, history: readonly TaskHistory[]): Finding[] {
  const { calls: clientLog, handlers: handlerLog } = ledger
  return [...checkLogs({ clientLog, handlerLog, history }), ...checkProgram(ledger, history)]
}

const uuids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

/**
 * All that explains a failure afterwards, for what depends on the moment comes back with its seed on no other machine: what was asked
 * and heard and which statements failed, with their times, and what the store has of the tasks that something is wrong with.
 */
async function describeRun(client: pg.Client, run: Run, findings: readonly Finding[]): Promise<string> {
  const { seed: number, program, plan, tookMs, lateMs } = run
  const { wrong, log } = program.ledger
  const told = [...wrong, describeFindings(findings)]
  const ids = new Set(told.flatMap((text) => text.match(uuids) ?? [])) as ReadonlySet<Uuid>
  return [
    `DULY_SEED=${number} DULY_SEEDS=1${isLong ? ' DULY_LONG=1' : ''} repeats it:`,
    ...told,
    `  took ${Math.round(tookMs)} ms, was late by ${Math.round(lateMs)} ms at most`,
    `  faults met: ${plan.met.join(', ')}`,
    ...(await trailOf(client, [...ids])),
    ...log.map((line) => `  ${line}`),
  ].join('\n')
}

test(`${seeds} programs, one statement in ten fails: every promise is kept`, {
  timeout: seeds * 5_000 + 60_000,
}, async () => {
  const numbers = Array.from({ length: seeds }, (_, n) => seed + n)
  const wrong: string[] = []
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (numbers.length > 0 && wrong.length < 3) wrong.push(...(await runAll(numbers.splice(0, programsOfNode))))
    }),
  )
  expect(wrong.join('\n\n')).toBe('')
})
