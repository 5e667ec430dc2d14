import { beforeAll, describe, expect, it } from 'vitest'
import { randomOf } from '../chaos/load/random.js'
import { type BodyCase, bodyCases, brokenBodies, isCleaned, judgeBody, keyCases } from './attacks.js'
import { draw, judgeAll, requestOf, runs, validCalls } from './calls.js'
import { hostileParameters } from './hostile-parameters.js'
import { errorPathsOf, problemOf } from './oracle.js'
import { openWorld, type World } from './world.js'

let world: World
beforeAll(async () => {
  world = await openWorld('byte fuzz')
})

/** As many cases as the run has time for, drawn evenly; in the long run all of them. */
function some<T>(cases: readonly T[], count: number, actor: string): T[] {
  const random = randomOf(actor)
  const shuffled = [...cases]
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = random.integer(0, last)
    ;[shuffled[last], shuffled[other]] = [shuffled[other] as T, shuffled[last] as T]
  }
  return process.env.DULY_LONG === '1' ? shuffled : shuffled.slice(0, count)
}

describe('bodies', () => {
  const judge = (one: BodyCase) => judgeBody(world, one)

  it('are refused or come back exactly, whatever stands in place of any value', async () => {
    const cases = world.operations.flatMap((operation) => bodyCases(world, operation))
    expect(cases.length).toBeGreaterThan(2_000)
    await judgeAll(world, some(cases, 500, 'values'), judge)
  })

  it('are refused or come back exactly, whatever stands as a key of any object', async () => {
    const cases = world.operations.flatMap((operation) => keyCases(world, operation))
    const open = cases.filter(({ isOpen }) => isOpen)
    expect(open.length).toBeGreaterThan(30)
    const closed = cases.filter(({ isOpen }) => !isOpen)
    await judgeAll(world, [...open, ...some(closed, 150, 'keys')], judge)
  })

  it('that are no JSON are refused with 400', async () => {
    const cases = world.operations.flatMap((operation) => brokenBodies(world, operation))
    await judgeAll(world, cases, async ({ call, body, name }) => {
      const request = { ...requestOf(world, call), body }
      const answer = await world.client.send(request)
      const faults = world.oracle.faults(call.operation, answer)
      if (faults.length === 0 && answer.status !== 400) faults.push(`${name} is not refused with 400`)
      if (faults.length === 0 && problemOf(answer).code === 'internal') faults.push('is a fault of the server')
      return { request, answer, faults }
    })
  })

  it('cut anywhere are refused, with flipped bytes answered as documented', async () => {
    const random = randomOf('bytes')
    const calls = world.operations
      .filter(({ body }) => body !== null)
      .flatMap((operation) => draw(validCalls(world, operation), runs(20), `bytes ${operation.id}`))
    await judgeAll(world, calls, async (call) => {
      const whole = requestOf(world, call)
      const bytes = Buffer.from(whole.body ?? '')
      const isCut = random.next() < 0.5
      for (let left = random.integer(1, 3); left > 0; left--) {
        bytes[random.integer(0, bytes.length - 1)] = random.integer(0, 255)
      }
      const cut = (whole.body ?? Buffer.alloc(0)).subarray(0, random.integer(0, bytes.length - 1))
      const request = { ...whole, body: isCut ? cut : bytes }
      const answer = await world.client.send(request)
      const faults = world.oracle.faults(call.operation, answer)
      if (isCut && answer.status !== 400) faults.push('a body that was cut is taken')
      return { request, answer, faults }
    })
  })

  it('of calls that take none are refused', async () => {
    const calls = world.operations
      .filter(({ body, method }) => body === null && method !== 'GET')
      .flatMap((operation) => draw(validCalls(world, operation), 3, operation.id))
    await judgeAll(world, calls, async (call) => {
      const request = { ...requestOf(world, call), body: Buffer.from('{"__proto__":{"force":true}}') }
      const answer = await world.client.send(request)
      return { request, answer, faults: answer.status === 400 ? [] : ['a body is taken where none belongs'] }
    })
  })
})

it('parameters of path, query and header are refused by name or mean what they say', async () => {
  const cases = world.operations.flatMap((operation) => hostileParameters(world, operation))
  expect(cases.length).toBeGreaterThan(200)
  await judgeAll(world, some(cases, 400, 'parameters'), async ({ operation, request, named }) => {
    const answer = await world.client.send(request)
    const faults = world.oracle.faults(operation, answer)
    if (faults.length > 0 || named === null) return { request, answer, faults }
    const isNamed = answer.status === 400 && errorPathsOf(answer).includes(named)
    return { request, answer, faults: isNamed ? [] : [`"${named}" is not refused by name`] }
  })
})

it('leaves a node that is well, a store that is sound, and no trace in what all objects share', async () => {
  expect(world.complaints).toEqual([])
  // what has expired waits for the next look of the timers
  await expect.poll(() => world.findings(), { timeout: 120_000, interval: 500 }).toEqual([])
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  expect(Object.keys(Object.prototype)).toEqual([])
})

it('knows which texts of workers are cleaned', () => {
  expect(['reports[3].error.stack', 'progress[0].note', 'logs[12].message'].every(isCleaned)).toBe(true)
  expect(['reports[3].result', 'payload.note', 'error.message', 'logs[0].level'].some(isCleaned)).toBe(false)
})
