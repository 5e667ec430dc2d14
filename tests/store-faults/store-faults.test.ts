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
}

async function runOn(node: FaultyNode, number: number): Promise<Run> {
  const program = new Program(node, String(number))
  const plan = new FaultPlan(`faults ${number}`, rate)
  node.faults = (statement) => plan.next(statement)
  await program.run(rounds)
  node.faults = () => null
  await program.settle()
  return { seed: number, program, plan }
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
  await client.end()
  const told = runs.flatMap((run) => {
    const own = history.filter(({ mark }) => mark?.startsWith(`${run.program.name}/`))
    const ids = new Set<string>(own.map(({ id }) => id))
    const findings = [...judgeOne(run, own), ...stored.filter(({ subject }) => ids.has(subject))]
    return findings.length + run.program.ledger.wrong.length > 0 ? [describeRun(run, findings)] : []
  })
  const known = new Set<string>(history.map(({ id }) => id))
  const others = stored.filter(({ subject }) => !known.has(subject))
  return others.length > 0 ? [...told, describeFindings(others)] : told
}

function judgeOne({ program: { ledger } }: Run, history: readonly TaskHistory[]): Finding[] {
  const { calls: clientLog, handlers: handlerLog } = ledger
  return [...checkLogs({ clientLog, handlerLog, history }), ...checkProgram(ledger, history)]
}

/** What was done to the tasks that something is wrong with, and what was done last. */
function excerpt(log: readonly string[], wrong: readonly string[]): string[] {
  const named = new Set(wrong.flatMap((text) => text.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? []))
  const isTold = (line: string, place: number) => place >= log.length - 30 || [...named].some((id) => line.includes(id))
  return log.filter(isTold).map((line) => `  ${line}`)
}

function describeRun({ seed: number, program: { ledger }, plan }: Run, findings: readonly Finding[]): string {
  return [
    `DULY_SEED=${number} DULY_SEEDS=1 repeats it:`,
    ...ledger.wrong,
    describeFindings(findings),
    `  faults met: ${plan.met.join(', ')}`,
    ...excerpt(ledger.log, ledger.wrong),
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
