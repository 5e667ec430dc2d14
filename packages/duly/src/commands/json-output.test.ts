import { fileURLToPath } from 'node:url'
import { encodeId } from '@duly/domain'
import { beforeAll, expect, it } from 'vitest'
import { type HttpNode, openStore, startHttpNode } from '../../../server/src/dispatch/testing/http-node.js'
import type { Sql } from '../../../server/src/queue/testing/store-bench.js'
import { processTerminal } from '../cli/terminal.js'
import { buildProgram } from '../program.js'
import { leaves, pathOf } from '../reference.js'
import { cli } from '../testing/captured-cli.js'

/** What `--json` prints: one document; one of a list; nothing, for what runs until it is stopped logs instead. */
type Shape = 'document' | 'list' | 'none'

/** Every command with arguments that work; `TASK`, `DEAD`, `STARTED`, `ENDED`, `WORKFLOW`, `CRON`, `KEY`, `WORKER` and `DATABASE` stand for ones that are there. */
const TABLE: Readonly<Record<string, readonly [Shape, ...string[]]>> = {
  dev: ['none'],
  serve: ['none'],
  worker: ['none'],
  'worker list': ['list'],
  'worker get': ['document', 'WORKER'],
  'worker drain': ['document', 'WORKER'],
  'task submit': ['document', 'mail'],
  'task list': ['list', '--limit', '1'],
  'task get': ['document', 'TASK'],
  'task edit': ['document', 'TASK', '--priority', 'high'],
  'task runs': ['list', 'TASK'],
  'task attempts': ['list', 'TASK'],
  'task events': ['list', 'TASK'],
  'task explain': ['document', 'TASK'],
  'task logs': ['list', 'TASK'],
  'task cancel': ['document', 'TASK'],
  'task retry': ['document', 'TASK'],
  'task bulk cancel': ['document', '--queue', 'none', '--yes'],
  'task bulk retry': ['document', '--all', '--dry-run'],
  'task bulk discard': ['document', '--tag', 'none', '--yes', '--detach'],
  'task bulk list': ['list', '--limit', '1'],
  'task bulk watch': ['document', 'ENDED'],
  'task bulk stop': ['document', 'STARTED'],
  'dlq list': ['list', '--limit', '1'],
  'dlq summary': ['document'],
  'dlq retry': ['document', 'DEAD'],
  'dlq retry-all': ['document', '--queue', 'none', '--yes'],
  'dlq discard-all': ['document', '--queue', 'none', '--yes'],
  'dlq discard': ['document', 'DEAD', '--yes'],
  'workflow submit': ['document', fileURLToPath(new URL('../../../../examples/onboarding.json', import.meta.url))],
  'workflow get': ['document', 'WORKFLOW'],
  'workflow graph': ['document', 'WORKFLOW'],
  'workflow list': ['list', '--limit', '1'],
  'workflow cancel': ['document', 'WORKFLOW'],
  'workflow retry': ['document', 'WORKFLOW'],
  'cron create': ['document', 'NEW', 'mail', '@daily', '--timezone', 'Europe/Paris'],
  'cron update': ['document', 'CRON', '--priority', 'high'],
  'cron list': ['list', '--limit', '1'],
  'cron get': ['document', 'CRON'],
  'cron pause': ['document', 'CRON'],
  'cron resume': ['document', 'CRON'],
  'cron trigger': ['document', 'CRON'],
  'cron preview': ['document', '@daily', '--count', '2'],
  'cron fire-times': ['document', 'CRON'],
  'cron firings': ['list', 'CRON'],
  'cron delete': ['document', 'CRON'],
  'cron import': ['document', '-', '--dry-run'],
  'queue list': ['list'],
  'queue get': ['document', 'default'],
  'queue pause': ['document', 'default'],
  'queue resume': ['document', 'default'],
  'queue purge': ['document', 'default', '--yes'],
  stats: ['document', '--by', 'queue'],
  cluster: ['document'],
  'key create': ['document', '--name', 'a', '--scopes', 'read', '--database-url', 'DATABASE'],
  'key list': ['list', '--database-url', 'DATABASE'],
  'key revoke': ['document', 'KEY', '--database-url', 'DATABASE'],
  migrate: ['document', '--status', '--database-url', 'DATABASE'],
  config: ['document'],
}

const words = leaves(buildProgram({ terminal: processTerminal(), setExit: () => {} })).map((command) =>
  pathOf(command).replace(/^duly /, ''),
)

let node: HttpNode
let databaseUrl: string
let sql: Sql
let made = 0
beforeAll(async () => {
  const store = await openStore()
  databaseUrl = store.url
  sql = store.sql
  node = await startHttpNode(databaseUrl)
})

it('is told here of every command', () => {
  expect(Object.keys(TABLE).sort()).toEqual([...words].sort())
})

const printing = Object.entries(TABLE).flatMap(([name, [shape, ...args]]) =>
  shape === 'none' ? [] : [{ name, shape, args }],
)

async function json(name: string, args: readonly string[]) {
  const at = args.includes('--database-url') || name === 'config' ? [] : ['--url', node.url]
  const { code, out, err } = await cli([...name.split(' '), ...args, '--json', ...at])
  return { code, err, value: JSON.parse(out) }
}

/** Makes what a stand-in stands for. */
async function real(argument: string): Promise<string> {
  if (argument === 'DATABASE') return databaseUrl
  if (argument === 'TASK') return (await json('task submit', ['mail', '--delay', '1h'])).value.task_id
  if (argument === 'WORKFLOW') {
    const [, ...file] = TABLE['workflow submit'] ?? []
    return (await json('workflow submit', file)).value.workflow_id
  }
  if (argument === 'NEW') return `cron-of-a-test-${++made}`
  if (argument === 'CRON') return (await json('cron create', [await real('NEW'), 'mail', '@hourly'])).value.name
  if (argument === 'KEY')
    return (await json('key create', ['--name', 'b', '--scopes', 'read', '--database-url', databaseUrl])).value.key_id
  if (argument === 'WORKER') return (await node.api.worker()).id
  if (argument === 'DEAD') return dead()
  if (argument === 'ENDED') return (await json('task bulk cancel', ['--queue', 'none', '--yes'])).value.bulk_id
  if (argument === 'STARTED') return started()
  return argument
}

/** A task that died of its only attempt. */
async function dead(): Promise<string> {
  const queue = `dead-${++made}`
  const worker = await node.api.worker({ queues: [queue] })
  const { task_id } = await node.api.submit({ queue, max_retries: 0 })
  const error = { class: 'E', message: 'm' }
  await worker.report(await worker.poll(1, { wait: 60 }), { outcome: 'failed', error })
  return task_id
}

/** An operation that another node is said to work at. */
async function started(): Promise<string> {
  const [row] = await sql<{ id: string }>(
    `insert into bulk_operations (id, action, source, filter, actor, runnable_at)
     values (gen_random_uuid(), 'cancel', 'tasks', '{}', 'api:test', now() + interval '1 hour') returning id`,
  )
  return encodeId('bulk', row?.id ?? '')
}

it.each(printing)('$name prints one JSON $shape and nothing beside it', async ({ name, shape, args }) => {
  const given: string[] = []
  for (const argument of args) given.push(await real(argument))
  if (/^(task|workflow) retry$/.test(name)) await json(name.replace('retry', 'cancel'), given)
  const { code, err, value } = await json(name, given)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(value).toBeTypeOf('object')
  expect(Array.isArray(value)).toBe(false)
  if (shape === 'list')
    expect(value).toEqual({ items: expect.any(Array), next_cursor: expect.toBeOneOf([null, expect.any(String)]) })
  const keys = JSON.stringify(Object.keys(shape === 'list' ? (value.items[0] ?? {}) : value))
  expect(keys).toMatch(name === 'config' ? /DULY_PORT/ : /^\[(?:"[a-z0-9_]+",?)*\]$/)
})
