import { describe, expect, test } from 'vitest'
import { expectSound, openRow } from '../testing/facts.js'
import { claimLife, passDue, say, startLife, words } from '../testing/lives.js'
import {
  expectLanding,
  landingsOfTasks,
  namesOf,
  placeNames,
  placesOf,
  stepsOf,
  stepsThatMayLand,
} from '../testing/matrix.js'
import { newTask, openTestStore } from '../testing/test-node.js'

// Those of tasks that belong to a workflow: workflows/node-matrix.test.ts.
const { node } = await openTestStore()
const steps = stepsOf(node)

const matrix = { node, start: () => startLife(node), places: placesOf(node), steps, landings: landingsOfTasks }

describe.each(namesOf(steps))('%s', (name) => {
  test.each([...placeNames])('from %s', (place) => expectLanding(matrix, name, place))
})

test('the table and the hand-written landings name the same steps', () => {
  expect(Object.keys(landingsOfTasks).sort()).toEqual(stepsThatMayLand(steps).sort())
})

test('through all of it each task stood in one place and was counted', () =>
  expectSound(node, /open or finished|asked for|counters|dead letters|numbered|partition/))

const untouchedCounts = { failures: 0, crashes: 0, undelivered: 0, snoozes: 0, releases: 0 }

test('a life from its first claim to its third keeps its counts apart', async () => {
  const life = await startLife(node)
  expect(await openRow(node, life.id)).toMatchObject({ ...untouchedCounts, attempt: 1, run: 1 })
  await say(node, life, words.snooze)
  await passDue(node, life.id)
  await node.stores.timers.promote([{ id: life.id, handoff: null, epoch: 1 }])
  const second = await claimLife(node, life)
  await say(node, second, words.release)
  const third = await claimLife(node, life)
  await say(node, third, words.retry)
  expect(await openRow(node, life.id)).toMatchObject({
    ...{ ...untouchedCounts, snoozes: 1, releases: 1, failures: 1 },
    ...{ attempt: 3, run: 1, status: 'RETRYING' },
  })
  const { id } = await node.intake.submit(newTask({ queue: life.queue }))
  expect(id).not.toBe(life.id)
})
