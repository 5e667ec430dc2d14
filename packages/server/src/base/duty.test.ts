import { ManualClock } from '@duly/domain'
import { type Logger, pino } from 'pino'
import { expect, test } from 'vitest'
import { Duty } from './duty.js'

/** A duty on a clock of the test's own. `passes` holds the instants of its passes. */
function make(pass: (n: number, signal: AbortSignal) => number | Promise<number>) {
  const clock = new ManualClock()
  const lines: string[] = []
  const log: Logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line).msg) })
  const passes: number[] = []
  const runOnce = async (signal: AbortSignal): Promise<number> => {
    passes.push(clock.monotonicMs())
    return pass(passes.length, signal)
  }
  return { clock, passes, lines, duty: new Duty({ name: 'test', clock, log, runOnce, retryMs: 50 }) }
}

test('passes come one after the other, each when the one before wished', async () => {
  const { clock, passes, duty } = make((n) => n * 100)
  duty.start()
  duty.start() // once is enough
  await clock.advance(1_000)
  expect(passes).toEqual([0, 100, 300, 600, 1_000])
  await duty.stop()
  await clock.advance(10_000)
  expect(passes).toHaveLength(5)
})

test('a failing pass is tried again after a pause, with one line when it begins and one when it ends', async () => {
  const { clock, passes, lines, duty } = make((n) => {
    if (n >= 2 && n <= 5) throw new Error('away')
    return 1_000
  })
  duty.start()
  await clock.advance(2_300)
  expect(passes).toEqual([0, 1_000, 1_050, 1_100, 1_150, 1_200, 2_200])
  expect(lines).toEqual(['duty failed; trying again', 'duty works again'])
  await duty.stop()
})

test('a pass that fails because it is cut off by the stop is no outage', async () => {
  const { clock, lines, duty } = make(
    (_, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('cut off')))),
  )
  duty.start()
  await clock.advance(0)
  await duty.stop()
  expect(lines).toEqual([])
})

test('a wake-up ends the sleep; one that comes during a pass is not lost', async () => {
  const ends: (() => void)[] = []
  const { clock, passes, duty } = make(() => new Promise((resolve) => ends.push(() => resolve(1_000))))
  const endPass = async () => {
    ends.shift()?.()
    await clock.advance(0)
  }
  duty.start()
  await clock.advance(0)
  await endPass()
  await clock.advance(10)
  duty.wake()
  await clock.advance(0)
  expect(passes).toEqual([0, 10])
  duty.wake()
  duty.wake()
  await clock.advance(5)
  expect(passes).toHaveLength(2) // never two at once
  await endPass()
  expect(passes).toEqual([0, 10, 15])
  await endPass()
  await clock.advance(999)
  expect(passes).toHaveLength(3) // both wake-ups were one
  await clock.advance(1)
  expect(passes).toEqual([0, 10, 15, 1_015])
  await Promise.all([duty.stop(), endPass()])
})

test('a duty that keeps failing is not driven into a busy loop by wake-ups', async () => {
  const { clock, passes, duty } = make((n) => {
    if (n < 100) duty.wake() // bounded, or a fault here would hang the test
    throw new Error('away')
  })
  duty.start()
  await clock.advance(500)
  expect(passes.length).toBe(11)
  await duty.stop()
})

test('stopping waits for the pass under way and tells it; it can start again', async () => {
  let told: AbortSignal | undefined
  const ends: (() => void)[] = []
  const { clock, passes, duty } = make((_, signal) => {
    told = signal
    return new Promise((resolve) => ends.push(() => resolve(0)))
  })
  duty.start()
  await clock.advance(0)
  let isStopped = false
  const stopping = duty.stop().then(() => {
    isStopped = true
  })
  await clock.advance(0)
  expect([told?.aborted, isStopped]).toEqual([true, false])
  ends.shift()?.()
  await stopping
  expect(passes).toHaveLength(1)
  duty.start()
  await clock.advance(0)
  expect(passes).toHaveLength(2)
  ends.shift()?.()
  await duty.stop()
})

test('who asks for a pass is told when one that began afterwards has ended', async () => {
  const gates: (() => void)[] = []
  const { passes, duty } = make(async () => {
    await new Promise<void>((resolve) => gates.push(resolve))
    return 60_000
  })
  duty.start()
  let ended = false
  const asked = duty.pass().then(() => {
    ended = true
  })
  gates.shift()?.()
  await expect.poll(() => gates.length).toBe(1)
  expect([passes.length, ended]).toEqual([2, false])
  gates.shift()?.()
  await asked
  await duty.stop()
  expect(passes).toHaveLength(2)
})

test('a duty that is stopped makes the pass that is asked for, and leaves nobody waiting', async () => {
  const { passes, duty } = make(() => 60_000)
  await duty.pass()
  expect(passes).toHaveLength(1)
  duty.start()
  const asked = duty.pass()
  await Promise.all([duty.stop(), asked])
})
