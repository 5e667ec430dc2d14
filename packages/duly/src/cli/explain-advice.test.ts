import { causeCodes } from '@duly/domain'
import type { Cause, Explanation } from '@duly/sdk'
import { describe, expect, it } from 'vitest'
import { dulyFault } from '../../../../tests/docs/check-words.js'
import { wordsOf } from '../../../../tests/docs/shell.js'
import { adviceOn } from './explain-advice.js'

const id = 'task-01kf3v7q2n8f5w9r6x4y1z0abc'
const details: Omit<Cause, 'code'> = {
  ...{ queue: 'mail', taskType: 'send', tenantId: 'acme', ahead: 5, priority: 'medium', message: '' },
  blockers: [
    { id: 'task-blocked', node: 'b', status: 'BLOCKED' },
    { id: 'task-running', node: 'a', status: 'RUNNING' },
  ],
}

const explained = (status: Explanation['status'], ...causes: Cause[]): Explanation => ({
  ...{ id, status, summary: '', causes },
})
const about = (code: string, more: Partial<Cause> = {}, status: Explanation['status'] = 'PENDING') =>
  adviceOn(explained(status, { code, ...details, ...more }))

describe('advice', () => {
  it('names commands that exist, with what they need', async () => {
    const commands = causeCodes
      .flatMap(({ code }) => about(code))
      .flatMap((text) => text.match(/(?<=`)duly [^`]+/g) ?? [])
    expect(commands.length).toBeGreaterThan(15)
    for (const command of commands) {
      const [words = []] = wordsOf(command.replaceAll(/<\w+>/g, 'x'))
      expect(await dulyFault(words.slice(1), { isWhole: true }), command).toBeNull()
      expect(command).not.toMatch(/undefined|null/)
    }
  })

  it('is given for the cause that matters most first, and for each that something helps against', () => {
    const causes = ['queue_paused', 'no_worker_for_queue', 'expires'].map((code) => ({ code, ...details }))
    expect(adviceOn(explained('PENDING', ...causes))).toEqual([
      'resume the queue: `duly queue resume mail`',
      `start a worker that serves the queue, or move the task: \`duly task edit ${id} --queue <name>\``,
    ])
  })

  it('leads to what is waited for and can say more', () => {
    expect(about('waits_for_dependencies')).toEqual(['ask what is up with it: `duly task explain task-running`'])
    expect(about('waits_for_dependencies', { blockers: [] })).toEqual([])
  })

  it('of what was cancelled with its workflow is to run that again', () => {
    expect(about('cancelled', { reason: 'workflow_cancelled' }, 'CANCELLED')[0]).toContain('duly workflow retry')
    expect(about('cancelled', { reason: 'cancelled' }, 'CANCELLED')[0]).toContain(`duly task retry ${id}`)
  })

  it('keeps silent where nothing needs to be done', () => {
    expect(about('slot_free')).toEqual([])
    expect(about('lane_position', { ahead: 0 })).toEqual([])
    expect(about('lane_position', { priority: 'high' })).toEqual([])
    expect(about('worker_draining', {}, 'RUNNING')).toEqual([])
    expect(about('a_code_of_a_newer_server')).toEqual([])
  })
})
