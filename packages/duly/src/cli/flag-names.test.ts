import { DulyApiError } from '@duly/sdk'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { buildProgram } from '../program.js'
import { leaves, pathOf } from '../reference.js'
import { explainFailure, renderFailure } from './failure.js'
import { flagOfField, inFlags } from './flag-names.js'
import { cronTaskFields, taskFields } from './task-fields.js'
import { processTerminal } from './terminal.js'

const commands = leaves(buildProgram({ terminal: processTerminal(), setExit: () => {} }))

function command(words: string): Command {
  const found = commands.find((each) => pathOf(each) === `duly ${words}`)
  if (!found) throw new Error(`no command ${words}`)
  return found
}

describe('fields of the API', () => {
  it.each(taskFields.map(({ key, flag }) => [key, flag]))('%s is %s of a submission', (key, flag) => {
    expect(flagOfField(key, command('task submit'))).toBe(flag)
  })

  it.each(cronTaskFields.flatMap(({ key, flag }) => ['create', 'update'].map((word) => [key, flag, word])))(
    '%s is %s of cron %s',
    (key, flag, word) => {
      expect(flagOfField(key ?? '', command(`cron ${word}`))).toBe(flag)
    },
  )

  it.each([
    ['cron create', 'name', '<name>'],
    ['cron create', 'task_type', '<type>'],
    ['cron create', 'cron_expression', '<expression>'],
    ['cron create', 'every_seconds', '--every'],
    ['cron create', 'timezone', '--timezone'],
    ['cron create', 'overlap_policy', '--overlap'],
    ['cron create', 'misfire_policy', '--misfire'],
    ['cron create', 'misfire_grace_seconds', '--misfire-grace'],
    ['cron create', 'starts_at', '--starts-at'],
    ['cron create', 'ends_at', '--ends-at'],
    ['cron create', 'jitter_seconds', '--jitter'],
    ['cron create', 'metadata.tenant_id', '--tenant'],
    ['cron update', 'task_type', '--task-type'],
    ['cron update', 'cron_expression', '<expression>'],
    ['cron list', 'name_prefix', '--name-prefix'],
    ['cron list', 'tenant_id', '--tenant'],
    ['cron fire-times', 'count', '--count'],
    ['cron preview', 'after', '--after'],
    ['cron import', 'task_type', '--task-type'],
    ['cron import', 'name_prefix', '--name-prefix'],
    ['task submit', 'task_type', '<type>'],
    ['task submit', 'payload', '--payload'],
    ['task submit', 'payload.a.b', '--payload (a.b)'],
    ['task submit', 'tags[0]', '--tags ([0])'],
    ['task submit', 'metadata.x', '--metadata (x)'],
    ['task submit', 'metadata.tenant_id', '--tenant'],
    ['task bulk cancel', 'filter.status', '--status'],
    ['task bulk cancel', 'filter.tenant_id', '--tenant'],
    ['task submit', 'metadata.correlation_id', '--correlation-id'],
    ['task edit', 'task_id', '<id>'],
    ['task edit', 'payload', '--payload'],
    ['task edit', 'scheduled_at', '--scheduled-at'],
    ['task edit', 'priority', '--priority'],
    ['task edit', 'queue', '--queue'],
    ['task edit', 'max_retries', '--max-retries'],
    ['task edit', 'timeout_seconds', '--timeout'],
    ['task list', 'status', '--status'],
    ['task list', 'task_type', '--task-type'],
    ['task list', 'queue', '--queue'],
    ['task list', 'tenant_id', '--tenant'],
    ['task list', 'tag', '--tag'],
    ['task list', 'workflow_id', '--workflow-id'],
    ['task list', 'cron_id', '--cron-id'],
    ['task list', 'created_after', '--created-after'],
    ['task list', 'created_before', '--created-before'],
    ['task list', 'correlation_id', '--correlation-id'],
    ['task list', 'limit', '--limit'],
    ['task get', 'wait_seconds', '--wait'],
    ['stats', 'window_seconds', '--window'],
    ['stats', 'by', '--by'],
    ['queue get', 'queue_name', '<name>'],
    ['queue purge', 'queue_name', '<name>'],
    ['worker drain', 'worker_id', '<id>'],
    ['key create', 'name', '--name'],
    ['key create', 'scopes[1]', '--scopes ([1])'],
    ['key create', 'tenant_id', '--tenant'],
    ['key create', 'expires_at', '--expires'],
    ['key revoke', 'key_id', '<id>'],
  ])('of %s: %s is written %s', (words, field, flag) => {
    expect(flagOfField(field, command(words))).toBe(flag)
  })

  it('that a command has no flag for keep their names', () => {
    expect(flagOfField('run', command('task get'))).toBeUndefined()
    expect(inFlags('not together with scheduled_at or a wrong_state', command('task submit'))).toBe(
      'not together with --scheduled-at or a wrong_state',
    )
    expect(inFlags('metadata.tenant_id is odd', command('task get'))).toBe('metadata.tenant_id is odd')
  })

  it('in a sentence are called as the flag alone, also inside of the metadata', () => {
    const said = 'metadata.tenant_id names another tenant than acme'
    expect(inFlags(said, command('task submit'))).toBe('--tenant names another tenant than acme')
    expect(inFlags(said, command('cron import'))).toBe('--tenant names another tenant than acme')
    expect(inFlags('metadata.region_id is odd', command('task submit'))).toBe('--metadata (region_id) is odd')
  })
})

describe('a refusal', () => {
  const errors = [
    { path: 'delay_seconds', message: 'must not be given together with scheduled_at' },
    { path: 'max_retries', message: 'must be at most 100' },
    { path: 'shape', message: 'is unknown' },
  ]
  const refusal = (status: number, message: string) =>
    new DulyApiError({ message, status, code: 'invalid_request', errors, requestId: 'req-1', retryAfterMs: null })

  it('names every flag that is wrong, a line each', () => {
    const failure = explainFailure(refusal(400, 'delay_seconds …; 3 errors in all'), command('task submit'))
    expect(renderFailure(failure, false)).toBe(
      [
        'duly: --delay must not be given together with --scheduled-at',
        '--max-retries must be at most 100',
        'shape is unknown (request req-1)',
        '',
      ].join('\n'),
    )
    expect(JSON.parse(renderFailure(failure, true)).error.errors).toEqual([
      { path: 'delay_seconds', option: '--delay', message: 'must not be given together with --scheduled-at' },
      { path: 'max_retries', option: '--max-retries', message: 'must be at most 100' },
      { path: 'shape', option: null, message: 'is unknown' },
    ])
  })

  it('of another kind keeps its sentence, and that of a file its fields', () => {
    const said = (failure: { message: string }) => failure.message
    const wrong = refusal(409, 'scheduled_at is not for a RETRYING task')
    expect(said(explainFailure(wrong, command('task edit')))).toMatch(/^--scheduled-at is not for a RETRYING task/)
    expect(said(explainFailure(refusal(400, 'x')))).toMatch(/^delay_seconds must not .* scheduled_at\nmax_retries must/)
  })
})
