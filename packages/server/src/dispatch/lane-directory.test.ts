import { describe, expect, it } from 'vitest'
import { type LaneAsk, LaneDirectory } from './lane-directory.js'
import type { Profile } from './profile.js'
import { aLane, aProfile } from './testing/tasks.js'

const profile = aProfile()
const lane = aLane()

function ask(directory: LaneDirectory, count: number, monotonicMs = 0, by: Profile = profile): LaneAsk {
  const [entry] = directory.lanesFor(by)
  if (!entry) throw new Error('no lane to ask')
  return directory.ask(entry, by, { count, monotonicMs })
}

const found = (directory: LaneDirectory, take: LaneAsk, count: number, lastReadyAtMs = 0): void =>
  directory.found(take, { count, lastReadyAtMs, storeNowMs: 100_000 })

describe('the directory of lanes', () => {
  it('knows none at first, and those that were marked for a profile that may take from them', () => {
    const directory = new LaneDirectory()
    expect(directory.isIdleFor(profile)).toBe(true)
    directory.mark(lane, 1)
    expect(directory.isIdleFor(profile)).toBe(false)
    expect(directory.isIdleFor(aProfile({ queues: ['other'] }))).toBe(true)
    expect(directory.isIdleFor(aProfile({ tenant: 'u' }))).toBe(true)
    directory.mark(aLane({ gate: 'z' }), 1)
    expect(directory.lanesFor(profile)).toHaveLength(1)
    expect(directory.lanesFor(aProfile({ taskTypes: ['z'] }))).toHaveLength(2)
  })

  it('offers no task twice: what a take under way asks for is spoken for', () => {
    const directory = new LaneDirectory()
    directory.mark(lane, 3)
    const first = ask(directory, 2)
    expect(directory.lanesFor(profile).map((entry) => directory.available(entry, profile))).toEqual([1])
    const second = ask(directory, 1)
    expect(directory.isIdleFor(profile)).toBe(true)
    found(directory, first, 2)
    found(directory, second, 1)
    expect(directory.isIdleFor(profile)).toBe(true)
  })

  it('gives a lane up for those whose take came back short, until it is hinted at again', () => {
    const directory = new LaneDirectory()
    directory.mark(lane)
    found(directory, ask(directory, 5), 2)
    expect(directory.isIdleFor(profile)).toBe(true)
    // others may serve what they do not
    expect(directory.isIdleFor(aProfile({ taskTypes: ['y'] }))).toBe(false)
    directory.mark(lane, 1)
    expect(directory.isIdleFor(profile)).toBe(false)
  })

  it('does not give a lane up that was hinted at during the take', () => {
    const directory = new LaneDirectory()
    directory.mark(lane)
    const take = ask(directory, 5)
    directory.mark(lane, 1)
    found(directory, take, 0)
    expect(directory.isIdleFor(profile)).toBe(false)
  })

  it('looks below its mark before it gives a lane up, and once a second anyway', () => {
    const directory = new LaneDirectory()
    directory.mark(lane)
    const first = ask(directory, 5)
    expect(first.fromMs).toBe(0)
    found(directory, first, 5, 90_000)
    const second = ask(directory, 5, 10)
    expect(second.fromMs).toBe(90_000)
    found(directory, second, 1)
    const third = ask(directory, 5, 20)
    expect(third.fromMs).toBe(0)
    found(directory, third, 5, 95_000)
    expect(ask(directory, 1, 30).fromMs).toBe(95_000)
    expect(ask(directory, 1, 1_100).fromMs).toBe(0)
  })

  it('keeps its mark behind the clock of the store: a commit under way may bring an earlier task', () => {
    const directory = new LaneDirectory()
    directory.mark(lane)
    found(directory, ask(directory, 1), 1, 99_999)
    expect(ask(directory, 1, 10).fromMs).toBe(98_000)
  })

  it('takes the word of a look, but not against a newer hint', () => {
    const directory = new LaneDirectory()
    directory.mark(lane, 1)
    const before = directory.version
    directory.mark(aLane({ tenant: 'new' }), 1)
    directory.replace(['q'], [aLane({ tenant: 'listed' })], before)
    expect(
      directory
        .lanesFor(profile)
        .map((entry) => entry.lane.tenant)
        .sort(),
    ).toEqual(['listed', 'new'])
    directory.replace(['elsewhere'], [], directory.version)
    expect(directory.lanesFor(profile)).toHaveLength(2)
    directory.replace(['q'], [], directory.version)
    expect(directory.isIdleFor(profile)).toBe(true)
  })

  it('tells once of a lane that has tasks although a take found too few', () => {
    const directory = new LaneDirectory()
    directory.mark(lane)
    found(directory, ask(directory, 5), 0)
    directory.replace(['q'], [lane], directory.version)
    expect(directory.takeShort(profile)).toEqual([lane])
    expect(directory.takeShort(profile)).toEqual([])
  })

  it('has a lane open again after a take that failed', () => {
    const directory = new LaneDirectory()
    directory.mark(lane, 2)
    const take = ask(directory, 2)
    expect(directory.isIdleFor(profile)).toBe(true)
    directory.failed(take)
    expect(directory.isIdleFor(profile)).toBe(false)
  })
})
