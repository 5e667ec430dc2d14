import { errorCatalogue } from '@duly/domain'
import { DulyApiError, DulyConnectionError } from '@duly/sdk'
import { describe, expect, it } from 'vitest'
import { CliError } from './cli-error.js'
import { exitCode, exitCodes, exitForStatus } from './exit-codes.js'
import { explainFailure, renderFailure } from './failure.js'
import { facts, table } from './table.js'
import { toWireJson } from './wire-json.js'

describe('exit codes', () => {
  it('are distinct, documented, and found by name', () => {
    expect(new Set(exitCodes.map(({ code }) => code)).size).toBe(exitCodes.length)
    expect(exitCodes.every(({ doc }) => doc.endsWith('.'))).toBe(true)
    expect(exitCode('not_found')).toBe(4)
  })

  it('tell every error of the catalogue apart from success', () => {
    for (const { status } of Object.values(errorCatalogue)) expect(exitCode(exitForStatus(status))).toBeGreaterThan(0)
    const statuses = [400, 401, 403, 404, 409, 413, 422, 429, 500, 503]
    expect(statuses.map((status) => exitCode(exitForStatus(status)))).toEqual([2, 7, 7, 4, 5, 2, 2, 6, 1, 6])
  })
})

describe('failures', () => {
  it('say what to do when no server answers', () => {
    const refused = new DulyConnectionError('ECONNREFUSED', 'http://127.0.0.1:1: refused', { mayHaveArrived: false })
    expect(explainFailure(refused)).toMatchObject({ exit: 'unreachable', remedy: expect.stringContaining('duly dev') })
    const cut = new DulyConnectionError('CUT', 'http://127.0.0.1:1: cut off', { mayHaveArrived: true })
    expect(explainFailure(cut).remedy).toContain('--idempotency-key')
  })

  it("pass the server's words on, with its code and the wait it asks for", () => {
    const busy = {
      message: 'Queue full',
      status: 503,
      code: 'queue_full',
      errors: [],
      requestId: 'r1',
      retryAfterMs: 1_500,
    }
    const failure = explainFailure(new DulyApiError(busy))
    expect(failure).toEqual({
      exit: 'try_later',
      message: 'Queue full (request r1)',
      remedy: 'Try again in 2 s.',
      code: 'queue_full',
    })
    expect(JSON.parse(renderFailure(failure, true))).toEqual({
      error: {
        exit_code: 6,
        exit: 'try_later',
        code: 'queue_full',
        message: 'Queue full (request r1)',
        remedy: 'Try again in 2 s.',
      },
    })
    expect(renderFailure(explainFailure(new CliError('usage', 'wrong', 'Do this.')), false)).toBe(
      'duly: wrong\nDo this.\n',
    )
  })

  it('say what to do about a key that is missing or wrong, and about a database that refuses', () => {
    const refused = { status: 401, code: 'unauthenticated', errors: [], requestId: null, retryAfterMs: null }
    expect(explainFailure(new DulyApiError({ ...refused, message: 'No key.' }))).toMatchObject({
      exit: 'denied',
      remedy: expect.stringMatching(/DULY_API_KEY.*duly key create/),
    })
    const database = Object.assign(new Error('database "x" does not exist'), { code: '3D000' })
    expect(explainFailure(database)).toMatchObject({ exit: 'failed', remedy: expect.stringMatching(/--database-url/) })
  })

  it('of any other kind are told by their message', () => {
    expect(explainFailure(new Error('broken'))).toEqual({ exit: 'failed', message: 'broken' })
    expect(explainFailure('broken')).toEqual({ exit: 'failed', message: 'broken' })
  })
})

describe('tables', () => {
  it('align, show nothing as a hyphen, and leave no blanks at line ends', () => {
    expect(
      table(
        ['A', 'LONGER'],
        [
          ['wide value', null],
          [1, { b: 2 }],
        ],
      ),
    ).toBe('A           LONGER\nwide value  -\n1           {"b":2}\n')
    expect(
      facts([
        ['a', 1],
        ['longer', ''],
        ['gone', null],
        ['bb', 'x'],
      ]),
    ).toBe('a   1\nbb  x\n')
  })

  it('never let data write to the terminal', () => {
    expect(table(['A'], [['red\u001b[31m\nnext\u009b']])).toBe('A\nred\\u001b[31m\\u000anext\\u009b\n')
  })
})

describe('JSON output', () => {
  it('is as the API states it; what belongs to the user stays as it was', () => {
    const record = {
      id: 'task-1',
      createdAt: new Date(0),
      retryDelaySeconds: 60,
      payload: { myKey: 1 },
      error: { class: 'E' },
      tags: ['aB'],
      statuses: { SUCCEEDED: 1 },
    }
    expect(toWireJson(record)).toEqual({
      task_id: 'task-1',
      created_at: '1970-01-01T00:00:00.000Z',
      retry_delay_seconds: 60,
      payload: { myKey: 1 },
      error: { class: 'E' },
      tags: ['aB'],
      statuses: { SUCCEEDED: 1 },
    })
  })
})
