import { DulyError } from '@duly/domain'
import { expect, test } from 'vitest'
import { newTask } from '../testing/test-node.js'
import { HandOffs, isDue, isUnsure } from './hand-offs.js'

test('each promise is settled once, with its own word or with that on the rest', () => {
  const words: [number, unknown][] = []
  let slots = 0
  const handOffs = new HandOffs(({ queue }) => {
    if (queue === 'idle') return null
    const slot = slots++
    return { session: `session-${slot}`, token: BigInt(slot), settle: (word) => words.push([slot, word]) }
  })
  const task = { taskType: 'work', tenant: 'acme' }
  expect(handOffs.isNone).toBe(true)
  expect(handOffs.offer({ ...task, id: 'a', queue: 'q' })).toEqual({ session: 'session-0', token: 0n, queue: 'q' })
  expect(handOffs.offer({ ...task, id: 'b', queue: 'idle' })).toBeNull()
  handOffs.offer({ ...task, id: 'c', queue: 'q' })
  handOffs.offer({ ...task, id: 'd', queue: 'q' })
  handOffs.settle('c', null)
  handOffs.settle('c', 'unknown')
  handOffs.settle('b', null)
  handOffs.end('unknown')
  handOffs.end(null)
  expect(words).toEqual([
    [1, null],
    [0, 'unknown'],
    [2, 'unknown'],
  ])
  expect(handOffs.isNone).toBe(true)
})

test('a task with a time or a delay does not start with its submission', () => {
  expect(isDue(newTask({}))).toBe(true)
  expect(isDue(newTask({ delayMs: 0 }))).toBe(true)
  expect(isDue(newTask({ delayMs: 1 }))).toBe(false)
  expect(isDue(newTask({ scheduledAtMs: 1 }))).toBe(false)
})

test('only a refusal and a replay say for sure that nothing was handed off', () => {
  expect(isUnsure(new DulyError('commit_unknown', 'x'))).toBe(true)
  expect(isUnsure(new Error('a broken connection'))).toBe(true)
  expect(isUnsure({ replayed: false })).toBe(true)
  expect(isUnsure(new DulyError('invalid_request', 'x'))).toBe(false)
  expect(isUnsure({ replayed: true })).toBe(false)
})
