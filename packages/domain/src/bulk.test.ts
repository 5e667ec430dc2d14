import { describe, expect, it } from 'vitest'
import { bulkActions, changedBy, walksOf } from './bulk.js'
import { finalStatuses, openStatuses, taskStatuses } from './statuses.js'

describe('an action on many tasks', () => {
  it('can change what its transitions start from', () => {
    expect([...changedBy('cancel')].sort()).toEqual([...openStatuses].sort())
    expect([...changedBy('retry')].sort()).toEqual(finalStatuses.filter((status) => status !== 'SUCCEEDED').sort())
    expect(changedBy('discard')).toEqual(['DEAD'])
  })

  it('walks over all open tasks at once, and over what has ended status by status', () => {
    expect(walksOf('cancel', null)).toEqual([null])
    expect([...walksOf('retry', null)].sort()).toEqual(['CANCELLED', 'DEAD', 'FAILED'])
    expect(walksOf('discard', null)).toEqual(['DEAD'])
  })

  it('walks over the one status that is asked for', () => {
    for (const { name: action } of bulkActions) {
      for (const { name } of taskStatuses) expect(walksOf(action, name)).toEqual([name])
    }
  })
})
