import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { DulyError, errorCatalogue, errorCodes, renderErrors } from './errors.js'

describe('the error catalogue', () => {
  it('gives each code its agreed status', () => {
    const byStatus: Record<number, string[]> = {}
    for (const code of errorCodes) {
      const { status } = errorCatalogue[code]
      byStatus[status] = [...(byStatus[status] ?? []), code]
    }
    expect(byStatus).toEqual({
      400: ['invalid_json', 'invalid_request', 'invalid_id', 'batch_spans_shards'],
      401: ['unauthenticated'],
      403: ['forbidden'],
      404: ['not_found'],
      405: ['method_not_allowed'],
      408: ['request_timeout'],
      409: ['wrong_state', 'session_lost', 'lease_lost', 'idempotency_conflict', 'name_taken'],
      413: ['too_large'],
      415: ['unsupported_media_type'],
      417: ['expectation_failed'],
      422: ['unprocessable'],
      429: ['rate_limited'],
      431: ['headers_too_large'],
      500: ['internal'],
      503: [
        'store_unavailable',
        'commit_unknown',
        'queue_full',
        'too_many_streams',
        'shutting_down',
        'not_served_here',
      ],
    })
  })

  it('calls retryable what may pass by itself: 408, 429 and 5xx', () => {
    for (const code of errorCodes) {
      const { status, retryable } = errorCatalogue[code]
      expect(retryable, code).toBe(status === 408 || status === 429 || status >= 500)
    }
  })
})

describe('DulyError', () => {
  it('takes status and retryable from the catalogue', () => {
    const error = new DulyError('queue_full', 'queue "mail" holds 10000000 tasks', { retryAfterSeconds: 5 })
    expect(error).toMatchObject({ code: 'queue_full', status: 503, retryable: true, retryAfterSeconds: 5 })
    expect(error.message).toBe('queue "mail" holds 10000000 tasks')
    expect(error).toBeInstanceOf(Error)
    expect(error.name).toBe('DulyError')
  })

  it('carries the invalid fields and the cause, and has no empty properties without them', () => {
    const errors = [{ path: 'tasks[3].payload', message: 'is too large' }]
    const cause = new Error('below')
    expect(new DulyError('invalid_request', 'no', { errors, cause })).toMatchObject({ errors, cause })
    const bare = new DulyError('not_found', 'no such task')
    expect(Object.keys(bare)).not.toContain('errors')
    expect(Object.keys(bare)).not.toContain('retryAfterSeconds')
    expect('cause' in bare).toBe(false)
  })
})

describe('docs/reference/errors.md', () => {
  const page = readFileSync(new URL('../../../docs/reference/errors.md', import.meta.url), 'utf8')

  it('equals what the catalogue renders; `npm run generate` writes it anew', () => {
    expect(page).toBe(renderErrors())
  })

  it('documents every code, and no code that does not exist', () => {
    const documented = [...page.matchAll(/^\| `([a-z_]+)` \| (\d+) \|/gm)].map(([, code, status]) => [
      code,
      Number(status),
    ])
    expect(documented).toEqual(errorCodes.map((code) => [code, errorCatalogue[code].status]))
  })
})
