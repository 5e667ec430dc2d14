import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  actors,
  allowedFrom,
  type GuardedTransition,
  isAllowed,
  statusGuard,
  type Transition,
  type TransitionName,
  transitionNames,
  transitions,
} from './lifecycle.js'
import { finalStatuses, isOpen, openStatuses, type TaskStatus, taskStatuses } from './statuses.js'
import { renderTaskStates } from './task-states-page.js'

/** The behaviour as people agreed on it, written a second time by hand: `from > to`, a star where a marked task ends CANCELLED. */
const agreed: Record<TransitionName, string> = {
  submit: '- > PENDING SCHEDULED BLOCKED RUNNING',
  promote: 'SCHEDULED RETRYING > PENDING',
  unblock: 'BLOCKED > PENDING SCHEDULED',
  claim: 'PENDING SCHEDULED RETRYING > RUNNING',
  reschedule: 'SCHEDULED PENDING > SCHEDULED PENDING',
  edit: 'SCHEDULED PENDING BLOCKED RETRYING > SCHEDULED PENDING BLOCKED RETRYING',
  succeed: 'RUNNING > SUCCEEDED',
  fail: 'RUNNING > FAILED',
  retry: 'RUNNING > RETRYING *',
  exhaust: 'RUNNING > DEAD *',
  snooze: 'RUNNING > SCHEDULED *',
  release: 'RUNNING > PENDING *',
  lose: 'RUNNING > PENDING DEAD *',
  time_out: 'RUNNING > RETRYING DEAD *',
  cancel: 'SCHEDULED PENDING BLOCKED RETRYING > CANCELLED',
  request_cancel: 'RUNNING > RUNNING',
  stop: 'RUNNING > CANCELLED',
  expire: 'SCHEDULED PENDING BLOCKED > CANCELLED',
  skip: 'BLOCKED > CANCELLED',
  upstream_fail: 'BLOCKED > FAILED',
  replay: 'FAILED DEAD CANCELLED > PENDING BLOCKED',
  discard: 'DEAD > DEAD',
}

const allStatuses: readonly TaskStatus[] = taskStatuses.map(({ name }) => name)

function agreedTriples(): string[] {
  return Object.entries(agreed).flatMap(([name, text]) => {
    const [from = '', to = ''] = text.split(' > ')
    const ends = to.replace('*', 'CANCELLED').split(' ')
    return from.split(' ').flatMap((start) => ends.map((end) => `${name} ${start} ${end}`))
  })
}

function namesWhere(holds: (row: Transition) => boolean): TransitionName[] {
  return transitionNames.filter((name) => holds(transitions[name]))
}

describe('the table of transitions', () => {
  it('allows exactly the agreed steps among all triples', () => {
    const starts = [null, ...allStatuses]
    const allowed = transitionNames.flatMap((name) =>
      starts.flatMap((from) =>
        allStatuses.filter((to) => isAllowed(name, from, to)).map((to) => `${name} ${from ?? '-'} ${to}`),
      ),
    )
    expect(allowed.sort()).toEqual(agreedTriples().sort())
  })

  it('fences exactly what takes a task from its worker', () => {
    expect(namesWhere((row) => row.fenced)).toEqual([
      'succeed',
      'fail',
      'retry',
      'exhaust',
      'snooze',
      'release',
      'lose',
      'time_out',
      'stop',
    ])
    for (const name of namesWhere((row) => row.fenced)) expect(allowedFrom(name)).toEqual(['RUNNING'])
  })

  it('turns every way out of RUNNING into CANCELLED for a marked task, but for a result or a permanent error', () => {
    const outOfRunning = namesWhere((row) => row.fenced && !row.to.includes('CANCELLED'))
    const stands = outOfRunning.filter((name) => !transitions[name].endsCancelledWhenMarked)
    expect(stands).toEqual(['succeed', 'fail'])
    expect(namesWhere((row) => row.onlyWhenMarked)).toEqual(['stop'])
  })

  it('raises failures by retry, exhaust and time_out alone', () => {
    expect(namesWhere((row) => row.raisesFailures)).toEqual(['retry', 'exhaust', 'time_out'])
  })

  it('derives the trail of a task that simply ran', () => {
    expect(namesWhere((row) => !row.leavesTrail)).toEqual(['submit', 'promote', 'unblock', 'claim', 'succeed'])
  })

  it('names the actors and reasons that were agreed on', () => {
    const by = (name: TransitionName) => transitions[name].by.join(' ')
    expect(by('cancel')).toBe('api cron workflow')
    expect(by('expire')).toBe('timer dispatcher')
    expect(by('exhaust')).toBe('worker watchdog')
    expect(by('stop')).toBe('worker watchdog')
    expect(by('time_out')).toBe('worker watchdog')
    expect(namesWhere((row) => row.reason !== null)).toEqual(['expire', 'skip', 'upstream_fail'])
    expect(new Set(transitionNames.flatMap((name) => transitions[name].by))).toEqual(new Set(actors))
  })

  it('leaves a final state only by replay and discard', () => {
    const leaving = namesWhere((row) => row.from.some((status) => !isOpen(status)))
    expect(leaving).toEqual(['replay', 'discard'])
  })

  it('lets every state be reached, and every open one be left', () => {
    const reached = transitionNames.flatMap((name) => [...transitions[name].to])
    expect(new Set(reached)).toEqual(new Set(allStatuses))
    for (const status of openStatuses) {
      expect(namesWhere((row) => row.from.includes(status) && !row.to.includes(status))).not.toEqual([])
    }
  })
})

describe('statuses', () => {
  it('splits into open and final ones', () => {
    expect(openStatuses).toEqual(['SCHEDULED', 'PENDING', 'BLOCKED', 'RUNNING', 'RETRYING'])
    expect(finalStatuses).toEqual(['SUCCEEDED', 'FAILED', 'DEAD', 'CANCELLED'])
  })
})

describe('statusGuard', () => {
  it('writes the condition from the table', () => {
    expect(statusGuard('promote')).toBe("status in ('SCHEDULED','RETRYING')")
    expect(statusGuard('succeed', 'o.status')).toBe("o.status = 'RUNNING'")
  })

  it('names every starting state of every transition and no other', () => {
    for (const name of transitionNames.filter((other): other is GuardedTransition => other !== 'submit')) {
      expect(statusGuard(name).match(/[A-Z]+/g)).toEqual(allowedFrom(name))
    }
  })

  it('refuses anything but a plain column name', () => {
    for (const column of ['', 'a b', "status'--", 'a.b.c', 'STATUS', 'x)or(1']) {
      expect(() => statusGuard('cancel', column)).toThrow(RangeError)
    }
  })
})

describe('docs/reference/task-states.md', () => {
  const page = readFileSync(new URL('../../../docs/reference/task-states.md', import.meta.url), 'utf8')

  it('equals what the table renders; `npm run generate` writes it anew', () => {
    expect(page).toBe(renderTaskStates())
  })

  it('shows every status, every transition and every arrow between two states', () => {
    for (const status of allStatuses) expect(page).toContain(`| ${status} |`)
    for (const name of transitionNames) {
      expect(page).toContain(`| \`${name}\` |`)
      const { from, to, keepsStatus }: Transition = transitions[name]
      for (const start of from) {
        for (const end of to) {
          if (start === end) continue
          const arrow = new RegExp(`${start} --> ${end}: .*\\b${name}\\b`)
          if (keepsStatus) expect(page).not.toMatch(arrow)
          else expect(page).toMatch(arrow)
        }
      }
    }
  })
})
