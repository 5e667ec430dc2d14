import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { benchAuth } from './auth.js'
import { benchBurst } from './burst.js'
import { benchChain } from './chain.js'
import { benchCron } from './cron.js'
import { benchCronBurst } from './cron-burst.js'
import type { Statement } from './database.js'
import { benchFan } from './fan.js'
import { benchGraph } from './graph.js'
import { type LineResult, Run } from './lines.js'
import { type Options, parseOptions, usage } from './options.js'
import { profileTable, selfTimes } from './profile.js'
import { summarise, table } from './report.js'
import { benchRetention } from './retention.js'
import { benchSize, sizeTable } from './size.js'
import { startStack } from './stack.js'
import { benchSweep } from './sweep.js'
import { benchTimers } from './timers.js'

/** What `scripts/bench.mjs` knows about where this runs. */
export interface Place {
  readonly commit: string | null
  readonly machine: object
}

const resultsFolder = fileURLToPath(new URL('../results', import.meta.url))

/** Runs the benchmark that the arguments describe, prints its tables and keeps its result. */
export async function bench(args: readonly string[], place: Place): Promise<void> {
  if (args.includes('--help')) {
    console.log(usage)
    return
  }
  if (args.includes('--auth')) return benchAuth({ rounds: 5, requests: args.includes('--small') ? 200 : 20_000 })
  if (args.includes('--cron')) return benchCron({ rounds: 5, definitions: args.includes('--small') ? 100 : 9_000 })
  const options = parseOptions(args, resultsFolder)
  if (options.timers !== null) return benchTimers(options, options.timers)
  if (options.burst !== null) return benchBurst(options, options.burst)
  if (options.cronBurst !== null) return benchCronBurst(options, options.cronBurst)
  if (options.fan !== null) return benchFan(options, options.fan)
  if (options.graph !== null) return benchGraph(options, options.graph)
  if (options.chain !== null) return benchChain(options, options.chain)
  if (options.sweep !== null) return benchSweep(options, options.sweep)
  if (options.retention !== null) return benchRetention(options, options.retention)
  if (options.size !== null) {
    const { postgres, open, calls } = await benchSize(options, options.size)
    console.log(`\n${sizeTable(calls)}`)
    keep({ options, place, name: '-size' }, { postgres, openTasks: open, calls })
    return
  }
  const results: LineResult[] = []
  let postgres: Readonly<Record<string, string>> = {}
  for (let run = 1; run <= options.runs; run += 1) {
    for (const nodes of options.nodes) {
      const done = await once(options, nodes, `run ${run} of ${options.runs}${nodes === 1 ? '' : `, ${nodes} nodes`}`)
      results.push(...done.results)
      postgres = done.postgres
    }
  }
  const summary = summarise(results, options)
  console.log(`\n${table(summary)}\n\nEvery task was delivered exactly once.`)
  keep({ options, place, name: '' }, { postgres, summary, runs: results })
}

interface Kept {
  readonly options: Options
  readonly place: Place
  /** Added to the file's name. */
  readonly name: string
}

/** Writes a result beside what gave it; nothing without a folder for it. */
function keep({ options, place, name }: Kept, result: Readonly<Record<string, unknown>>): void {
  if (options.out === null) return
  const date = new Date().toISOString()
  const commit = place.commit?.replace('+', '-changed') ?? 'unknown'
  const file = join(options.out, `${date.slice(0, 10)}-${commit}${name}.json`)
  mkdirSync(options.out, { recursive: true })
  writeFileSync(
    file,
    `${JSON.stringify({ date, ...place, options: { ...options, out: undefined }, ...result }, null, 2)}\n`,
  )
  console.log(`Result kept in ${file}`)
}

interface Once {
  readonly results: readonly LineResult[]
  readonly postgres: Readonly<Record<string, string>>
}

async function once(options: Options, nodes: number, title: string): Promise<Once> {
  const profiles = options.profile ? mkdtempSync(join(tmpdir(), 'duly-profile-')) : null
  const stack = await startStack(options, profiles, { nodes })
  let statements: readonly Statement[] = []
  try {
    const run = new Run(stack, options)
    await run.warmUp()
    if (options.profile) await stack.database.resetStatements()
    const results: LineResult[] = []
    for (const line of options.lines) {
      const result = await run.line(line)
      console.log(
        `${title}: ${line} ${Math.round(result.tasksPerSecond)} tasks/s (${result.tasks} in ${result.seconds.toFixed(1)} s)`,
      )
      results.push(result)
    }
    await run.verify()
    if (options.profile) statements = await stack.database.statements(12)
    return { results, postgres: await stack.database.settings() }
  } finally {
    await stack.stop()
    if (profiles !== null) printProfiles(profiles, statements)
  }
}

function printProfiles(folder: string, statements: readonly Statement[]): void {
  for (const name of ['server', 'worker']) console.log(profileTable(name, selfTimes(join(folder, name), 40)))
  console.log('\nPostgreSQL: statements by time, with waiting')
  for (const statement of statements) console.log(statementLine(statement))
  console.log(`\nProfiles: ${folder}`)
}

function statementLine({ query, calls, rows, ms, blocksHit, walBytes }: Statement): string {
  const figures = `${calls} calls  ${rows} rows  ${blocksHit} blocks  ${Math.round(walBytes / 1024)} KB WAL`
  return `${ms.toFixed(0).padStart(7)} ms  ${figures}  ${query.replace(/\s+/g, ' ').slice(0, 120)}`
}
