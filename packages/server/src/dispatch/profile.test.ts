import { describe, expect, it } from 'vitest'
import { Profile } from './profile.js'

const profile = (over: Partial<{ queues: string[]; taskTypes: string[]; tenant: string | null }> = {}): Profile =>
  new Profile({ queues: ['a', 'b'], taskTypes: ['x', 'y'], tenant: null, ...over })
const task = { queue: 'a', taskType: 'x', tenant: 't' }
const lane = { queue: 'a', priority: 2, tenant: 't', gate: '' } as const

describe('a profile', () => {
  it('is the same for the same things in another order or said twice', () => {
    expect(profile({ queues: ['b', 'a', 'b'], taskTypes: ['y', 'x'] }).key).toBe(profile().key)
    expect(profile({ tenant: 't' }).key).not.toBe(profile().key)
    // names that hold each other's separators are other names
    expect(profile({ queues: ['a,b'] }).key).not.toBe(profile().key)
  })

  it('serves a task of its queues, types and tenant', () => {
    expect(profile().serves(task)).toBe(true)
    expect(profile().serves({ ...task, queue: 'c' })).toBe(false)
    expect(profile().serves({ ...task, taskType: 'z' })).toBe(false)
    expect(profile({ tenant: 't' }).serves(task)).toBe(true)
    expect(profile({ tenant: 'u' }).serves(task)).toBe(false)
  })

  it('may take from lanes whose gate is open to it', () => {
    for (const gate of ['', '!suspect', '!overflow', 'x']) expect(profile().mayTake({ ...lane, gate })).toBe(true)
    expect(profile().mayTake({ ...lane, gate: 'z' })).toBe(false)
    expect(profile().mayTake({ ...lane, queue: 'c' })).toBe(false)
    expect(profile({ tenant: 'u' }).mayTake(lane)).toBe(false)
  })
})
