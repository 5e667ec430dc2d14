import { once } from 'node:events'
import { connect } from 'node:net'
import { decodeId, scopes } from '@duly/domain'
import { beforeAll, describe, expect, test } from 'vitest'
import { contractErrors } from '../api/test-support/test-api.js'
import { type Api, openStore } from '../dispatch/testing/http-node.js'
import { resolveConfig } from '../node/config.js'
import { startNode } from '../node/start-node.js'
import { createLogger } from '../telemetry/logger.js'
import { hashSecret } from './hash-secret.js'
import { type Guarded, openGuarded, unknownSecret } from './testing/guarded-nodes.js'

interface WireKey {
  readonly key_id: string
  readonly name: string
  readonly scopes: readonly string[]
  readonly tenant_id: string | null
  readonly last_used_at: string | null
  readonly secret?: string
}

interface WirePage {
  readonly items: readonly WireKey[]
  readonly next_cursor: string | null
}

let guarded: Guarded
let admin: Api
let acme: Api
beforeAll(async () => {
  guarded = await openGuarded()
  admin = guarded.api((await guarded.key(['admin'])).secret)
  acme = guarded.api((await guarded.key(['admin'], 'acme')).secret)
})

const create = (api: Api, body: Record<string, unknown>) =>
  api.call<WireKey & { readonly code?: string }>('POST', '/api-keys', { name: 'k', scopes: ['read'], ...body })

describe('a key that is made', () => {
  test('has its secret in that answer alone, and works at once on every node', async () => {
    const { status, body } = await create(admin, { name: 'shop', scopes: ['submit', 'read'], tenant_id: 'acme' })
    expect(status).toBe(201)
    expect(contractErrors('createApiKey', status, body)).toEqual([])
    expect(body).toMatchObject({ name: 'shop', scopes: ['submit', 'read'], tenant_id: 'acme', last_used_at: null })
    const secret = body.secret ?? ''
    for (const node of [0, 1] as const)
      expect((await guarded.api(secret, node).call('GET', '/queues')).status).toBe(200)
    const list = await admin.call<WirePage>('GET', '/api-keys')
    expect(contractErrors('listApiKeys', list.status, list.body)).toEqual([])
    // two nodes make ids: which of two keys of the same moment comes first is open
    expect(list.body.items).toContainEqual(expect.objectContaining({ key_id: body.key_id, name: 'shop' }))
    const told = JSON.stringify(list.body)
    expect(told).not.toContain(secret)
    expect(told).not.toContain('hash')
    const rows = await guarded.sql<{ text: string; secret_hash: Buffer }>(
      'select k::text as text, secret_hash from api_keys k',
    )
    expect(rows.map((row) => row.text).join()).not.toContain(secret.slice(5))
    expect(rows.some((row) => row.secret_hash.equals(hashSecret(secret)))).toBe(true)
  })

  test('is named in the trail of what it did', async () => {
    const { body: key } = await create(admin, { scopes: ['submit', 'read'] })
    const api = guarded.api(key.secret ?? '')
    const [{ task_id }, ...batch] = [await api.submit({ delay_seconds: 3_600 }), ...(await api.submitBatch([{}, {}]))]
    await api.call('POST', `/tasks/${task_id}/cancel`)
    const eventsOf = async (id: string) =>
      (await api.call<{ items: { transition: string; actor: string }[] }>('GET', `/tasks/${id}/events`)).body.items
    expect((await eventsOf(task_id)).map(({ transition, actor }) => [transition, actor])).toEqual([
      ['submit', `api:${key.key_id}`],
      ['cancel', `api:${key.key_id}`],
    ])
    for (const each of batch) expect((await eventsOf(each.task_id))[0]?.actor).toBe(`api:${key.key_id}`)
  })

  test.each([
    [{ scopes: [] }, 400],
    [{ scopes: ['write'] }, 400],
    [{ scopes: ['read', 'read'] }, 400],
    [{ name: '' }, 400],
    [{ name: 'a\nb' }, 400],
    [{ tenant_id: 'no such name!' }, 400],
    [{ secret: 'mine' }, 400],
    [{ expires_at: 'soon' }, 400],
    [{ expires_at: '2020-01-01T00:00:00Z' }, 422],
  ])('is refused when it makes no sense: %j', async (body, status) => {
    const answer = await create(admin, body)
    expect(answer.status).toBe(status)
    expect(answer.body.secret).toBeUndefined()
  })

  test('by a bound key is bound like it, and by no means wider', async () => {
    for (const body of [{}, { tenant_id: 'acme' }]) {
      expect(await create(acme, { ...body, scopes: ['admin'] })).toMatchObject({
        status: 201,
        body: { tenant_id: 'acme' },
      })
    }
    for (const tenant_id of [null, 'rival']) {
      expect(await create(acme, { tenant_id })).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    }
  })

  test('by a key that ends ends no later', async () => {
    const endMs = Math.floor(Date.now()) + 60_000
    const guest = guarded.api((await guarded.key(['admin'], 'acme', endMs)).secret)
    const at = (ms: number) => ({ expires_at: new Date(ms).toISOString() })
    for (const body of [{}, { expires_at: null }, at(endMs + 1)]) {
      expect(await create(guest, body)).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    }
    for (const ms of [endMs, endMs - 1]) {
      expect(await create(guest, at(ms))).toMatchObject({ status: 201, body: at(ms) })
    }
  })
})

describe('the list', () => {
  test('comes page by page, newest first, and for a bound key of its tenant only', async () => {
    for (let n = 0; n < 5; n++) await create(admin, { name: `page ${n}`, tenant_id: 'pages' })
    await create(admin, { name: 'other', tenant_id: 'other' })
    const pages = guarded.api((await guarded.key(['admin'], 'pages')).secret)
    const names: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await pages.call<WirePage>('GET', `/api-keys?limit=2${cursor}`)
      names.push(...body.items.map(({ name }) => name))
      if (body.next_cursor === null) break
      cursor = `&cursor=${body.next_cursor}`
    }
    expect(names).toEqual(['test', 'page 4', 'page 3', 'page 2', 'page 1', 'page 0'])
    expect((await pages.call('GET', '/api-keys?cursor=nonsense')).status).toBe(400)
  })

  test('shows when a key was used last', async () => {
    const { url, sql } = await openStore()
    const config = resolveConfig({ flags: { databaseUrl: url, port: 0, drainDelaySeconds: 0, logLevel: 'silent' } })
    const { withKeysOf } = await import('../node/local-keys.js')
    const make = (name: string) =>
      withKeysOf(url, (keys) =>
        keys.create({ name, scopes: ['read'], tenant: null, expiresAtMs: null }, { kind: 'system' }),
      )
    const [used] = [await make('used'), await make('unused')]
    const node = await startNode(config)
    await fetch(`${node.url}/api/v1/queues`, { headers: { authorization: `Bearer ${used.secret}` } })
    await node.stop()
    expect(await sql('select name from api_keys where last_used_at is not null')).toEqual([{ name: 'used' }])
  })
})

test('a body is not waited for when the key is no good', async () => {
  const { hostname, port } = new URL(guarded.nodes[0].url)
  const socket = connect(Number(port), hostname)
  socket.write(
    'POST /api/v1/tasks/batch HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000000\r\n\r\n{',
  )
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /)
  socket.destroy()
})

test('the last live key that may make others for everybody is told of when it is revoked', async () => {
  const alone = await openGuarded()
  const [first, second, bound] = [
    await alone.key(['admin']),
    await alone.key(['admin']),
    await alone.key(['admin'], 'acme'),
  ]
  const expired = await alone.key(['admin'], null, Date.now() + 60_000)
  await alone.sql(`update api_keys set expires_at = now() - interval '1 s' where id = $1`, [
    decodeId('key', expired.id),
  ])
  const revoke = async (id: string) => {
    const { status, body } = await alone.api(second.secret).call('DELETE', `/api-keys/${id}`)
    expect(contractErrors('revokeApiKey', status, body)).toEqual([])
    return body
  }
  expect(await revoke(bound.id)).toEqual({ last_admin: false })
  expect(await revoke(first.id)).toEqual({ last_admin: false })
  expect(await revoke(second.id)).toEqual({ last_admin: true })
})

test('no secret gets into the log, whatever is done with it', async () => {
  const { url } = await openStore()
  const lines: string[] = []
  const logger = createLogger({ level: 'trace', destination: { write: (line) => void lines.push(line) } })
  const config = resolveConfig({ flags: { databaseUrl: url, port: 0, drainDelaySeconds: 0 } })
  const node = await startNode(config, { logger })
  const { withKeysOf } = await import('../node/local-keys.js')
  const { secret } = await withKeysOf(url, (keys) =>
    keys.create({ name: 'first', scopes: ['admin'], tenant: null, expiresAtMs: null }, { kind: 'system' }),
  )
  const wrong = unknownSecret()
  const call = (path: string, key: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') =>
    fetch(`${node.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  const asked = { name: 'second', scopes: scopes.map(({ name }) => name) }
  const made = (await (await call('/api/v1/api-keys', secret, asked)).json()) as { key_id: string; secret: string }
  for (const key of [secret, made.secret, wrong, `${secret}x`]) {
    for (const path of [
      '/api/v1/queues',
      '/api/v1/tasks/nonsense',
      `/api/v1/${key}`,
      `/api/v1/queues?x=${key}`,
      '/metrics',
    ]) {
      await (await call(path, key)).text()
    }
    await (await call('/api/v1/tasks', key, { task_type: 1 })).text()
  }
  await (await call(`/api/v1/api-keys/${made.key_id}`, secret, undefined, 'DELETE')).text()
  await node.stop()
  const text = lines.join('')
  expect(text).toContain('API key made')
  expect(text).toContain(made.key_id)
  expect(text).toContain('API key revoked')
  for (const key of [secret, made.secret, wrong]) expect(text).not.toContain(key.slice(5, 30))
})
