import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type CompiledSchedule, compileCron } from '@duly/domain'
import { Cron } from 'croner'
import { type Spread, spreadOf } from './stats.js'

export interface CronOptions {
  readonly rounds: number
  /** Different definitions of ours; of croner's a twentieth. */
  readonly definitions: number
}

/** Steps of each definition in a round. */
const steps = 20
const zones = ['UTC', 'America/New_York', 'Europe/Berlin', 'Asia/Kolkata', 'Australia/Lord_Howe']
const shapes = ['M H * * *', 'M H * * 1-5', 'M H 1 * *', '*/5 H * * *', 'M * * * *']
const startMs = Date.UTC(2026, 0, 1)

/**
 * What next times cost, ours and croner's by turns: CPU time a step and bytes of heap a compiled definition. Definitions are all different,
 * so that nothing is shared but zones.
 */
export function benchCron({ rounds, definitions }: CronOptions): void {
  const pairs = Array.from({ length: definitions }, (_, index) => pairOf(index))
  const few = pairs.slice(0, Math.ceil(definitions / 20))
  const oursMade = made(pairs, ({ expression, zone }) => compileCron(expression, zone))
  const theirsMade = made(few, ({ expression, zone }) => oracle(expression, zone))
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const inOurs = microsecondsAStep(oursMade.schedules)
    const inTheirs = microsecondsAStep(theirsMade.schedules)
    if (round === 0) continue // warm-up: the zones are read
    ours.push(inOurs)
    theirs.push(inTheirs)
  }
  console.log(`next times, ${rounds} rounds of ${steps} steps: median (least–most)`)
  console.log(row('ours', definitions, oursMade, ours))
  console.log(row('croner', few.length, theirsMade, theirs))
}

interface Pair {
  readonly expression: string
  readonly zone: string
}

/** 1,440 times of day in 25 forms. */
function pairOf(index: number): Pair {
  const time = Math.floor(index / (zones.length * shapes.length))
  const shape = shapes[Math.floor(index / zones.length) % shapes.length] ?? ''
  const expression = shape.replace('M', String(time % 60)).replace('H', String(Math.floor(time / 60) % 24))
  return { expression, zone: zones[index % zones.length] ?? 'UTC' }
}

type Asked = Pick<CompiledSchedule, 'next'>

function oracle(expression: string, zone: string): Asked {
  const cron = new Cron(expression, { timezone: zone, fixedTimeRule: 'no-wildcard', paused: true })
  return { next: (afterMs) => cron.nextRun(new Date(afterMs))?.getTime() ?? null }
}

interface Made {
  readonly schedules: readonly Asked[]
  readonly bytesEach: number
  readonly microsecondsEach: number
}

/** Every definition is asked once, so that what it reads at first is counted. */
function made(pairs: readonly Pair[], make: (pair: Pair) => Asked): Made {
  // What zones hold is shared.
  for (const zone of zones) make({ expression: '59 23 31 12 *', zone }).next(startMs)
  const before = heapBytes()
  const start = cpuMicroseconds()
  const schedules = pairs.map((pair) => {
    const schedule = make(pair)
    schedule.next(startMs)
    return schedule
  })
  const microseconds = cpuMicroseconds() - start
  const bytesEach = (heapBytes() - before) / pairs.length
  return { schedules, bytesEach, microsecondsEach: microseconds / pairs.length }
}

function microsecondsAStep(schedules: readonly Asked[]): number {
  const start = cpuMicroseconds()
  for (const schedule of schedules) {
    let at: number | null = startMs
    for (let step = 0; step < steps && at !== null; step += 1) at = schedule.next(at)
  }
  return (cpuMicroseconds() - start) / (schedules.length * steps)
}

/** Of the process, so that what else the machine does counts less. */
function cpuMicroseconds(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

function heapBytes(): number {
  setFlagsFromString('--expose_gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}

function row(
  name: string,
  count: number,
  { bytesEach, microsecondsEach }: Made,
  microseconds: readonly number[],
): string {
  const { median, least, most }: Spread = spreadOf(microseconds)
  const rate = Math.round(1e6 / median).toLocaleString('en')
  const time = `${median.toFixed(2)} µs (${least.toFixed(2)}–${most.toFixed(2)}) a step, ${rate}/s`
  return `  ${name.padEnd(6)} ${time}; ${Math.round(bytesEach)} bytes and ${microsecondsEach.toFixed(0)} µs a definition, of ${count}`
}
