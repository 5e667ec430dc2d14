import { expect, it } from 'vitest'
import { defineTask } from '../define-task.js'
import { type } from '../standard-schema.js'
import { clientOf } from '../testing/scripted-client.js'
import { rawJson, rawOf } from './raw-json.js'

const record = { cron_id: 'cron-1', name: 'daily', next_fire_time: '2026-05-01T09:00:00.000Z', last_fired_at: null }
const shown = { id: 'cron-1', name: 'daily', nextFireTime: new Date('2026-05-01T09:00:00.000Z'), lastFiredAt: null }

it('defines by a task and by its name, with what a submission takes', async () => {
  const { duly, server } = await clientOf(() => ({ status: 201, body: record }))
  const report = defineTask('report', { payload: type<{ n: number }>(), queue: 'q', retry: { limit: 2 } })
  const rules = {
    timezone: 'Europe/Berlin',
    overlap: 'queue',
    misfireGrace: '5m',
    jitter: '30s',
    tenant: 'acme',
  } as const
  expect(await duly.cron.create('daily', report, { cron: '0 9 * * *', payload: { n: 1 }, ...rules })).toEqual(shown)
  expect(await duly.cron.upsert('a/b', 'work', { every: '90s', enabled: false, endsAt: null })).toEqual(shown)
  expect(server.calls.map(({ method, path, body }) => [method, path, body])).toEqual([
    [
      'POST',
      '/api/v1/cron-tasks',
      {
        ...{ name: 'daily', task_type: 'report', payload: { n: 1 }, queue: 'q', max_retries: 2 },
        ...{ cron_expression: '0 9 * * *', timezone: 'Europe/Berlin', overlap_policy: 'queue' },
        ...{ misfire_grace_seconds: 300, jitter_seconds: 30, metadata: { tenant_id: 'acme' } },
      },
    ],
    [
      'PUT',
      '/api/v1/cron-tasks/by-name/a%2Fb',
      { task_type: 'work', every_seconds: 90, enabled: false, ends_at: null },
    ],
  ])
})

it('asks for a payload where the definition does', async () => {
  const { duly, server } = await clientOf(() => ({ body: record }))
  await duly.cron.upsert('plain', defineTask('plain'), { cron: '@daily' })
  await duly.cron.upsert('plain', defineTask('plain'), { cron: '@daily', payload: rawJson('1.0') })
  const typed = defineTask('typed', { payload: type<{ n: number }>() })
  // @ts-expect-error: it is missing
  await duly.cron.upsert('typed', typed, { cron: '@daily' })
  // @ts-expect-error: it does not fit
  await duly.cron.upsert('typed', typed, { cron: '@daily', payload: { n: 'one' } })
  expect(server.calls.slice(0, 2).map(({ text }) => text)).toEqual([
    '{"task_type":"plain","cron_expression":"@daily"}',
    '{"task_type":"plain","payload":1.0,"cron_expression":"@daily"}',
  ])
})

it('edits what is named alone, and acts on one', async () => {
  const { duly, server } = await clientOf(({ method, path }) => {
    if (method === 'DELETE') return { status: 204 }
    return path.endsWith('trigger') ? { status: 202, body: { task_id: 'task-1', status: 'PENDING' } } : { body: record }
  })
  expect(await duly.cron.update('cron-1', { cron: '@daily' })).toEqual(shown)
  await duly.cron.update('cron-1', { payload: null })
  await duly.cron.pause('cron-1')
  await duly.cron.resume('cron-1')
  expect((await duly.cron.trigger('cron-1')).id).toBe('task-1')
  await duly.cron.delete('cron-1')
  expect(server.calls.map(({ method, path, body }) => [method, path.slice('/api/v1/cron-tasks'.length), body])).toEqual(
    [
      ['PATCH', '/cron-1', { cron_expression: '@daily' }],
      ['PATCH', '/cron-1', { payload: null }],
      ['POST', '/cron-1/pause', {}],
      ['POST', '/cron-1/resume', {}],
      ['POST', '/cron-1/trigger', {}],
      ['DELETE', '/cron-1', {}],
    ],
  )
})

it('reads lists page by page, firings and fire times as dates', async () => {
  const at = '2026-05-01T09:00:00.000Z'
  const { duly, server } = await clientOf(({ path }) => {
    if (path.includes('fire-times')) return { body: { fire_times: [at] } }
    if (path.includes('preview')) return { body: { fire_times: [at], description: 'daily' } }
    if (path.includes('firings'))
      return { body: { items: [{ fire_time: at, fired_at: at, task_id: 'task-1' }], next_cursor: null } }
    return { body: { items: [record], next_cursor: path.includes('cursor') ? null : 'c' } }
  })
  const all = []
  for await (const cron of duly.cron.all({ namePrefix: 'da', tenant: 'acme' })) all.push(cron)
  expect(all).toEqual([shown, shown])
  expect(await duly.cron.fireTimes('cron-1', 1)).toEqual([new Date(at)])
  expect(await duly.cron.preview({ cron: '@daily' }, { count: 1 })).toEqual({
    fireTimes: [new Date(at)],
    description: 'daily',
  })
  const { items } = await duly.cron.firings('cron-1')
  expect(items).toEqual([{ fireTime: new Date(at), firedAt: new Date(at), taskId: 'task-1' }])
  for (const item of [...all, ...items])
    expect(rawOf(item)?.member('cron_id') ?? rawOf(item)?.member('task_id')).toBeDefined()
  expect(server.calls.map(({ path }) => path.slice('/api/v1/cron-tasks'.length))).toEqual([
    '?tenant_id=acme&name_prefix=da',
    '?tenant_id=acme&name_prefix=da&cursor=c',
    '/cron-1/fire-times?count=1',
    '/preview',
    '/cron-1/firings',
  ])
})

it('reads one by its name', async () => {
  const { duly, server } = await clientOf(() => ({ body: record }))
  expect(await duly.cron.getByName('a/b')).toEqual(shown)
  await duly.cron.getByName('daily', { tenant: 'a&b' })
  expect(server.calls.map(({ method, path }) => `${method} ${path.slice('/api/v1/cron-tasks'.length)}`)).toEqual([
    'GET /by-name/a%2Fb',
    'GET /by-name/daily?tenant_id=a%26b',
  ])
})

it('imports a crontab', async () => {
  const { duly, server } = await clientOf(() => ({ body: { lines: [], imported: 0, refused: 0 } }))
  expect(await duly.cron.import('# none', { namePrefix: 'web/', dryRun: true })).toMatchObject({ imported: 0 })
  expect(server.calls[0]?.body).toEqual({ crontab: '# none', name_prefix: 'web/', dry_run: true })
})

it('imports with rules and options for all lines', async () => {
  const { duly, server } = await clientOf(() => ({ body: { lines: [], imported: 0, refused: 0 } }))
  const rules = { overlap: 'queue', jitter: '5m', enabled: false } as const
  await duly.cron.import('', { taskType: 'sh', timeout: '2h', retry: { limit: 0 }, tags: ['cron'], ...rules })
  expect(server.calls[0]?.body).toEqual({
    ...{ crontab: '', task_type: 'sh', timeout_seconds: 7_200, max_retries: 0, tags: ['cron'] },
    ...{ overlap_policy: 'queue', jitter_seconds: 300, enabled: false },
  })
})

it('imports with metadata as it is written, and the tenant among it', async () => {
  const { duly, server } = await clientOf(() => ({ body: { lines: [], imported: 0, refused: 0 } }))
  await duly.cron.import('', { metadata: rawJson('{"n":1.0}'), tenant: 'acme' })
  expect(server.calls[0]?.text).toBe('{"crontab":"","metadata":{"n":1.0,"tenant_id":"acme"}}')
})
