import { beforeAll, describe, expect, it } from 'vitest'
import { type Call, draw, judgeAll, requestOf, runs, type Verdict, validCalls } from './calls.js'
import { canBeWrong, invalidCalls } from './mutations.js'
import { errorPathsOf, problemOf } from './oracle.js'
import { roundTripFaults } from './round-trip.js'
import { isRule } from './rules.js'
import { openWorld, type World } from './world.js'

let world: World
beforeAll(async () => {
  world = await openWorld('schema fuzz')
})

const succeeded = new Set<string>()
const refused = () => world.operations.filter(({ id }) => !succeeded.has(id))

/** Up to so many characters all errors of a body are named. */
const wholeReportChars = 262_144

const allMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Whether a path leads to an operation: `/tasks/batch` is also the id of a task. */
function matches({ path: template }: { readonly path: string }, path: string): boolean {
  return new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)
}

/** A valid call is answered as documented, refused only by what stands or by a known rule, and stored as it was sent. */
async function judgeValid(call: Call): Promise<Verdict> {
  world.fill(call.body ?? { kind: 'leaf', schema: {}, text: '' })
  const request = requestOf(world, call)
  const answer = await world.client.send(request)
  const faults = world.oracle.faults(call.operation, answer)
  if (faults.length > 0) return { request, answer, faults }
  if (answer.status === 400) {
    const { errors = [] } = problemOf(answer)
    const strangers = errors.filter((error) => !isRule(error))
    if (errors.length === 0 || strangers.length > 0) faults.push('a valid request is refused, by no rule that is known')
  }
  if (answer.status < 300) succeeded.add(call.operation.id)
  const path = request.path.split('?', 1)[0] ?? ''
  if (call.body !== null) {
    faults.push(...(await roundTripFaults(world, { operation: call.operation, path, body: call.body }, answer)))
  }
  if (answer.status < 300 && String(answer.headers['content-type']).includes('json')) {
    world.remember(JSON.parse(answer.bytes.toString()))
  }
  return { request, answer, faults }
}

describe('every operation of the document', () => {
  it('takes valid requests, answers as documented, and keeps what it took', async () => {
    const calls = world.operations.flatMap((operation) =>
      draw(validCalls(world, operation), runs(operation.body === null ? 8 : 25), operation.id),
    )
    await judgeAll(world, calls, judgeValid)
    // What needs a task of a certain state may not have met one yet: chance, more of it on a slow machine.
    for (let round = 0; round < 40 && refused().length > 0; round++) {
      world.loseGraph()
      const more = refused().flatMap((operation) => draw(validCalls(world, operation), 15, `${operation.id} ${round}`))
      await judgeAll(world, more, judgeValid)
    }
    expect(refused().map(({ id }) => id)).toEqual([])
  }, 600_000)

  it('refuses invalid requests with 400 and names every wrong place at once', async () => {
    const calls = world.operations
      .filter(canBeWrong)
      .flatMap((operation) =>
        draw(invalidCalls(world, operation), runs(operation.body === null ? 8 : 25), `not ${operation.id}`),
      )
    await judgeAll(world, calls, async ({ call, places }) => {
      const request = requestOf(world, call)
      const answer = await world.client.send(request)
      const faults = world.oracle.faults(call.operation, answer)
      if (faults.length > 0) return { request, answer, faults }
      if (answer.status !== 400) return { request, answer, faults: [`is taken although ${places.join()} is wrong`] }
      const named = errorPathsOf(answer)
      // of a large document one wrong place is enough: a hostile one could have an error for every two characters
      const isLarge = (request.body?.length ?? 0) > wholeReportChars && named.some((place) => places.includes(place))
      const unnamed = isLarge ? [] : places.filter((place) => !named.includes(place))
      return { request, answer, faults: unnamed.map((at) => `"${at}" is not named`) }
    })
  })

  it('is reached by its own methods alone', async () => {
    const others = world.operations.flatMap(({ path: template }) => {
      const path = template.replaceAll(/\{\w+\}/g, 'x')
      const methods = world.operations.filter((one) => matches(one, path)).map(({ method }) => method)
      return allMethods.filter((method) => !methods.includes(method)).map((method) => ({ path, method, methods }))
    })
    await judgeAll(world, others, async ({ path, method, methods }) => {
      const request = { method, path }
      const answer = await world.client.send(request)
      const allowed = String(answer.headers.allow).split(', ')
      const isRight =
        answer.status === 405 && methods.every((one) => allowed.includes(one)) && !allowed.includes(method)
      return { request, answer, faults: isRight ? [] : [`is not 405 with Allow: ${methods.join(', ')}`] }
    })
  })
})

it('leaves a node that is well, and a store that is sound', async () => {
  expect(world.complaints).toEqual([])
  // what has expired waits for the next look of the timers
  await expect.poll(() => world.findings(), { timeout: 120_000, interval: 500 }).toEqual([])
  expect((await world.client.send({ method: 'GET', path: '/readyz' })).status).toBe(200)
})
