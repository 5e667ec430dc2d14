import { expect } from 'vitest'
import type { TakenTask } from '../../queue/port.js'
import type { OpenPoll, SessionState } from '../session-state.js'

export interface TestPoll extends OpenPoll {
  /** What it was answered with; null while it waits. */
  answered: readonly TakenTask[] | null
}

/** A poll that may be answered once. */
export function aPoll(slots: number): TestPoll {
  const poll: TestPoll = {
    slots,
    hurry: false,
    answered: null,
    answer: (tasks) => {
      expect(poll.answered).toBeNull()
      poll.answered = tasks
    },
  }
  return poll
}

export const open = (state: SessionState, slots: number): TestPoll => {
  const poll = aPoll(slots)
  state.open(poll)
  return poll
}

/** The grants of an answer, in its order. */
export const numbers = (tasks: readonly TakenTask[] | null): number[] | null => tasks?.map((task) => task.grant) ?? null
