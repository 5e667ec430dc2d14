import { gates, ManualClock } from '@duly/domain'
import { beforeEach, describe, expect, it } from 'vitest'
import { BetweenPolls } from './between-polls.js'
import { LaneDirectory } from './lane-directory.js'
import { Others, type ReadyLane } from './others.js'
import type { SessionState } from './session-state.js'
import { aLane, aSession } from './testing/tasks.js'
import { Waiting } from './waiting.js'

let clock: ManualClock
let directory: LaneDirectory
let waiting: Waiting
let betweenPolls: BetweenPolls
let others: Others
let told: string[]
let isClaiming: boolean
beforeEach(() => {
  clock = new ManualClock()
  directory = new LaneDirectory()
  waiting = new Waiting()
  betweenPolls = new BetweenPolls({ clock, giveBack: async () => [], onUnsure: () => {} })
  told = []
  isClaiming = false
  others = new Others({
    ...{ clock, directory, waiting, betweenPolls },
    isClaiming: () => isClaiming,
    tell: (queue) => told.push(queue),
  })
})

/** A session that waits in a poll with so many slots. */
function aWaiting(slots: number): SessionState {
  const state = aSession()
  state.open({ slots, hurry: false, answer: () => {} })
  waiting.add(state)
  return state
}

function ready(over: Partial<ReadyLane> = {}): void {
  readyLane({ ...aLane(), taskType: 'x', ...over })
}

function readyLane(lane: ReadyLane): void {
  directory.mark(lane, 1)
  others.ready([lane])
}

/** A claim of the session's profile that finds so many of what it asks for. */
function claim({ profile }: SessionState, { asked, count }: { asked: number; count: number }): void {
  const [entry] = directory.lanesFor(profile)
  if (!entry) throw new Error('no lane to ask')
  const ask = directory.ask(entry, profile, { count: asked, monotonicMs: 0 })
  directory.found(ask, { count, lastReadyAtMs: 0, storeNowMs: 0 })
  isClaiming = false
  others.claimed(profile)
}

describe('other nodes', () => {
  it('hear at once of what nobody here can take', () => {
    ready()
    expect(told).toEqual(['q'])
    aWaiting(0)
    ready()
    expect(told).toEqual(['q', 'q'])
  })

  it('hear nothing of what is claimed here', async () => {
    const state = aWaiting(2)
    isClaiming = true
    ready()
    ready()
    claim(state, { asked: 2, count: 2 })
    await clock.advance(1_000)
    expect(told).toEqual([])
  })

  it('hear of what a claim left', () => {
    const state = aWaiting(1)
    isClaiming = true
    ready()
    ready()
    claim(state, { asked: 1, count: 1 })
    expect(told).toEqual(['q'])
    others.claimed(state.profile)
    expect(told).toEqual(['q'])
  })

  it('hear soon of what a worker between two polls did not come back for', async () => {
    const state = aSession()
    state.open({ slots: 1, hurry: true, answer: () => {} })
    state.settle()
    betweenPolls.add(state)
    ready()
    await clock.advance(9)
    const early = [...told]
    await clock.advance(1)
    expect([early, told]).toEqual([[], ['q']])
  })

  it('hear of suspects, of tasks whose type is not known or served', () => {
    aWaiting(5)
    ready({ gate: gates.suspect })
    readyLane(aLane())
    ready({ taskType: 'unserved' })
    expect(told).toEqual(['q', 'q', 'q'])
  })
})
