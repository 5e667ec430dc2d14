import { parseArgs } from 'node:util'

const lineNames = ['single', 'batch', 'workflow', 'latency', 'drain'] as const
export type LineName = (typeof lineNames)[number]

/** What a benchmark does; stands whole in its result. */
export interface Options {
  readonly lines: readonly LineName[]
  /** Times that everything is measured, each on a new database. */
  readonly runs: number
  /** How many nodes share the work; of several numbers each is measured in every run, by turns. */
  readonly nodes: readonly number[]
  /** Tasks of each line that counts tasks; `warmUp` goes before, unmeasured. */
  readonly tasks: Readonly<Record<'warmUp' | 'single' | 'batch' | 'workflow' | 'drain', number>>
  /** Requests in flight where tasks are submitted one by one. */
  readonly inFlight: number
  /** Tasks a batch, and batches in flight. */
  readonly batch: number
  readonly batchesInFlight: number
  /** The open loop of the latency line: submissions a second, for so many seconds. */
  readonly rate: number
  readonly seconds: number
  /** Slots of the one worker process. */
  readonly slots: number
  /** Bytes of one payload as JSON. */
  readonly payloadBytes: number
  /** Payloads are drawn from it. */
  readonly seed: number
  /** Take CPU profiles of server and worker. Slows both: its rates are no results. */
  readonly profile: boolean
  /** Tasks of the day that is removed under load in place of the lines; null: the lines. */
  readonly retention: number | null
  /** Tasks of the far future beside which others are timed, in place of the lines; null: the lines. */
  readonly timers: number | null
  /** Tasks due in one second, in place of the lines; null: the lines. */
  readonly burst: number | null
  /** Definitions of recurring tasks that fire in one second in place of the lines; null: the lines. */
  readonly cronBurst: number | null
  /** Branches of the workflow that is timed in place of the lines; null: the lines. */
  readonly fan: number | null
  /** Tasks of the workflow that is submitted and read in place of the lines; null: the lines. */
  readonly graph: number | null
  /** Tasks in a row of the workflows that are timed in place of the lines; null: the lines. */
  readonly chain: number | null
  /** Tasks of each of the workflows that fail in the same moment, in place of the lines. */
  readonly sweep: number | null
  /** Finished tasks of the database on which lists and figures are measured in place of the lines; null: the lines. */
  readonly size: number | null
  /** Measured calls of each list and each window of figures. */
  readonly calls: number
  /** Folder of the result; null: none is written. */
  readonly out: string | null
}

export const usage = `Usage: npm run bench -- [options]

  --line <names>            ${lineNames.join(',')} (default: all)
  --runs <n>                default 3
  --nodes <numbers>         of nodes that share the work; 1,2 measures one and two by turns (default 1)
  --tasks <n>               tasks of each line that counts tasks
  --in-flight <n>           single submissions in flight, default 64
  --batch <n>               tasks a batch, default 500
  --batches-in-flight <n>   default 2
  --rate <n>                submissions a second of the latency line, default 500
  --seconds <n>             its length, default 10
  --slots <n>               of the worker, default 500
  --seed <n>
  --out <folder>            default bench/results
  --retention <n>           in place of the lines: removes a day of n tasks while --rate tasks a second run for --seconds
  --timers <n>              in place of the lines: how late tasks start, and what they cost, while n wait for the far future
  --burst <n>               in place of the lines: n tasks due in one second, and fresh ones of another queue meanwhile
  --cron-burst <n>          in place of the lines: n definitions of recurring tasks due in one second
  --fan <n>                 in place of the lines: a workflow of n tasks between its first and its last one (at most 9,998)
  --graph <n>               in place of the lines: how long a node stands still while a workflow of n tasks is taken and read
  --chain <n>               in place of the lines: workflows of n tasks in a row, and how soon each task starts behind the one before it
  --sweep <n>               in place of the lines: 8 fail_fast workflows of n tasks that fail in one moment, and single tasks beside it
  --size <n>                in place of the lines: lists and figures over n finished tasks (at least 1,000)
  --calls <n>               of each list and each window then, default 200
  --small                   only shows that it runs: a few hundred tasks, one run, no result kept
  --auth                    only what asking for API keys costs a request; no result is kept
  --cron                    only next times of cron expressions, ours and croner's; no result is kept
  --profile                 one run with CPU profiles; prints where the time goes

Example: npm run bench -- --line single,batch --runs 5`

const text = { type: 'string' } as const
const flag = { type: 'boolean', default: false } as const

/**
 * @param defaultOut where results go when nothing else is said
 * @throws {Error} that names the wrong argument
 */
export function parseOptions(args: readonly string[], defaultOut: string): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      line: text,
      runs: text,
      nodes: text,
      tasks: text,
      'in-flight': text,
      batch: text,
      'batches-in-flight': text,
      rate: text,
      seconds: text,
      slots: text,
      seed: text,
      out: text,
      retention: text,
      timers: text,
      burst: text,
      'cron-burst': text,
      fan: text,
      graph: text,
      chain: text,
      sweep: text,
      size: text,
      calls: text,
      small: flag,
      profile: flag,
    },
  })
  const { small, profile } = values
  const number = (name: Exclude<keyof typeof values, 'small' | 'profile' | 'nodes'>, usual: number) =>
    wholeNumber(name, values[name], usual)
  const tasks = (usual: number) => number('tasks', small ? 300 : usual)
  return Object.freeze({
    lines: linesOf(values.line),
    runs: number('runs', small || profile ? 1 : 3),
    nodes: (values.nodes ?? '1').split(',').map((part) => wholeNumber('nodes', part, 1)),
    tasks: {
      ...{ warmUp: small ? 100 : 5_000, single: tasks(40_000), batch: tasks(80_000), drain: tasks(50_000) },
      workflow: tasks(40_000),
    },
    inFlight: number('in-flight', 64),
    batch: number('batch', small ? 100 : 500),
    batchesInFlight: number('batches-in-flight', 2),
    rate: number('rate', small ? 100 : 500),
    seconds: number('seconds', small ? 1 : 10),
    slots: number('slots', 500),
    payloadBytes: 2_048,
    seed: number('seed', 1),
    profile,
    timers: values.timers === undefined ? null : number('timers', 0),
    burst: values.burst === undefined ? null : number('burst', 0),
    cronBurst: values['cron-burst'] === undefined ? null : number('cron-burst', 0),
    fan: values.fan === undefined ? null : number('fan', 0),
    graph: values.graph === undefined ? null : number('graph', 0),
    chain: values.chain === undefined ? null : number('chain', 0),
    sweep: values.sweep === undefined ? null : number('sweep', 0),
    retention: values.retention === undefined ? null : number('retention', 0),
    size: values.size === undefined ? null : sizeOf(number('size', 0)),
    calls: number('calls', small ? 10 : 200),
    out: values.out ?? (small || profile ? null : defaultOut),
  })
}

/** Of fewer the one tenant with 1,000 tasks could not be made. */
function sizeOf(size: number): number {
  if (size < 1_000) throw new Error(`--size ${size}: must be at least 1000`)
  return size
}

function linesOf(value: string | undefined): readonly LineName[] {
  const wanted = value?.split(',') ?? lineNames
  return wanted.map((name) => {
    const known = lineNames.find((line) => line === name)
    if (known === undefined) throw new Error(`--line ${name}: there are ${lineNames.join(', ')}`)
    return known
  })
}

function wholeNumber(name: string, value: string | undefined, usual: number): number {
  if (value === undefined) return usual
  const number = Number(value)
  if (!Number.isSafeInteger(number) || number < 1) throw new Error(`--${name} ${value}: must be a whole number from 1`)
  return number
}
