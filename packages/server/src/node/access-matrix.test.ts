import { type ApiRoute, exampleOf, type OperationId, Problem, routeList } from '@duly/contract'
import { type Scope, scopes } from '@duly/domain'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  type Guarded,
  openGuarded,
  revokeSilently,
  type TestKey,
  unknownId,
  unknownSecret,
} from '../access/testing/guarded-nodes.js'
import { compileValidator } from '../api/validate.js'
import type { Api } from '../dispatch/testing/http-node.js'

// Made from the table of routes: a new route is covered when it stands there.

type Route = ApiRoute & { readonly operationId: OperationId }
type Names = Readonly<Record<string, string>>

interface Seen {
  readonly status: number
  readonly problem: { readonly code?: string; readonly detail?: string }
  readonly headers: Headers
}

const scopeNames = scopes.map(({ name }) => name)
const isProblem = compileValidator(Problem)

let guarded: Guarded
const keys = new Map<string, TestKey>()
/** What a key of this name may do. */
const keyOf = (name: string): TestKey => keys.get(name) as TestKey
const named = (scope: Scope, tenant: string | null): string => `${scope}@${tenant ?? 'all'}`

beforeAll(async () => {
  guarded = await openGuarded()
  for (const scope of scopeNames) {
    for (const tenant of [null, 'acme-corp', 'rival'])
      keys.set(named(scope, tenant), await guarded.key([scope], tenant))
  }
  keys.set('revoked', await guarded.key(['admin']))
  await revokeSilently(guarded.sql, keyOf('revoked').id)
  keys.set('expired', await guarded.key(['admin'], null, Date.now() + 60_000))
  await guarded.sql(`update api_keys set expires_at = now() - interval '1 s' where expires_at is not null`)
})

/** Things that nothing has, so that a route which would change them finds nothing. */
const nothing = (): Names => ({
  ...{ task_id: unknownId('task'), worker_id: unknownId('worker'), key_id: unknownId('key') },
  workflow_id: unknownId('wf'),
  ...{ cron_id: unknownId('cron'), cron_name: 'nobody-has-this' },
  bulk_id: unknownId('bulk'),
  name: 'nobody-has-this',
})

/** Calls a route with a valid body about the things named. */
async function call(route: Route, names: Names, authorization?: string): Promise<Seen> {
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? 'x')
  const body = route.body === undefined ? undefined : JSON.stringify(exampleOf(route.body, 'required'))
  const response = await fetch(`${guarded.nodes[0].url}${path}`, {
    method: route.method,
    headers: {
      ...(authorization === undefined ? {} : { authorization }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  })
  const text = await response.text()
  const isJson = (response.headers.get('content-type') ?? '').includes('json')
  return { status: response.status, problem: isJson ? JSON.parse(text) : {}, headers: response.headers }
}

const bearer = ({ secret }: TestKey): string => `Bearer ${secret}`
const guardedRoutes = routeList.filter((route) => route.scope !== null)

describe.each(guardedRoutes)('$method $path', (route) => {
  test('refuses who shows no good key, and says why', async () => {
    const shown: Readonly<Record<string, [string | undefined, RegExp]>> = {
      nothing: [undefined, /takes an API key/],
      'another scheme': [`Basic ${btoa('a:b')}`, /must be "Bearer"/],
      'no secret': ['Bearer ', /must be "Bearer"/],
      'no secret of ours': ['Bearer hunter2', /no such API key/],
      'an unknown one': [`Bearer ${unknownSecret()}`, /no such API key/],
      'a revoked one': [bearer(keyOf('revoked')), /was revoked/],
      'an expired one': [bearer(keyOf('expired')), /has expired/],
    }
    const calls = Object.entries(shown).map(async ([what, [authorization, why]]) => {
      return { what, authorization, why, seen: await call(route, nothing(), authorization) }
    })
    for (const { what, authorization, why, seen } of await Promise.all(calls)) {
      const { status, problem, headers } = seen
      expect({ what, status, code: problem.code }).toEqual({ what, status: 401, code: 'unauthenticated' })
      expect(problem.detail).toMatch(why)
      expect(isProblem(problem)).toEqual([])
      expect(headers.get('www-authenticate')).toMatch(
        authorization === undefined ? /^Bearer realm="duly"$/ : /^Bearer realm="duly", error="invalid_token"$/,
      )
    }
  })

  test('is for keys with its scope, or admin', async () => {
    const calls = scopeNames.map((scope) => call(route, nothing(), bearer(keyOf(named(scope, null)))))
    for (const [place, { status, problem }] of (await Promise.all(calls)).entries()) {
      const scope = scopeNames[place] as Scope
      const mayUse = scope === route.scope || scope === 'admin'
      if (mayUse) expect([401, 403], scope).not.toContain(status)
      else expect({ scope, status, code: problem.code }).toEqual({ scope, status: 403, code: 'forbidden' })
      if (!mayUse) expect(problem.detail).toContain(`the scope ${route.scope}; this one has ${scope}`)
    }
  })

  test('is for keys bound to a tenant too, unless it touches everybody', async () => {
    const calls = scopeNames.map((scope) => call(route, nothing(), bearer(keyOf(named(scope, 'acme-corp')))))
    for (const [place, { status, problem }] of (await Promise.all(calls)).entries()) {
      const scope = scopeNames[place] as Scope
      const mayUse = scope === route.scope || scope === 'admin'
      if (mayUse && status === 403) expect(problem.detail).toMatch(/bound to none/)
      else if (mayUse) expect(status).not.toBe(401)
      else expect({ scope, status }).toEqual({ scope, status: 403 })
    }
  })
})

test.each(routeList.filter((route) => route.scope === null))('$method $path needs no key', async (route) => {
  for (const authorization of [undefined, 'Bearer nonsense', bearer(keyOf('revoked'))]) {
    expect((await call(route, nothing(), authorization)).status).toBe(200)
  }
})

describe("another tenant's", () => {
  let acme: Names
  beforeAll(async () => {
    const api = guarded.api(keyOf(named('admin', 'acme-corp')).secret)
    const worker = await api.worker({ queues: ['acme-has-this'] })
    const { task_id } = await api.submit({ queue: 'acme-has-this', delay_seconds: 3_600 })
    await api.submit({ queue: 'acme-has-this' })
    acme = {
      task_id,
      worker_id: worker.id,
      key_id: (await guarded.key(['read'], 'acme-corp')).id,
      cron_id: await defineCron('acme-corp'),
      bulk_id: await retryNothing(api),
      workflow_id: await waitForever(api),
      cron_name: cronName,
      name: 'acme-has-this',
    }
  })

  const cronName = 'acme-repeats-this'
  const defineCron = async (tenant: string): Promise<string> => {
    const api = guarded.api(keyOf(named('admin', tenant)).secret)
    const definition = { cron_expression: '@yearly', task_type: 'work' }
    const { body } = await api.call<Names>('PUT', `/cron-tasks/by-name/${cronName}`, definition)
    return String(body.cron_id)
  }

  const retryNothing = async (api: Api): Promise<string> => {
    const order = { action: 'retry', filter: { queue: 'acme-has-this', status: 'DEAD' } }
    return String((await api.call<Names>('POST', '/tasks/bulk', order)).body.bulk_id)
  }

  const waitForever = async (api: Api): Promise<string> => {
    const tasks = [{ task_id: 'only', task_type: 'work', queue: 'acme-has-this' }]
    const workflow = { workflow_name: 'acme-waits', scheduled_at: '2999-01-01T00:00:00Z', tasks }
    return String((await api.call<Names>('POST', '/workflows', workflow)).body.workflow_id)
  }

  // a PUT by name makes the caller's own
  const routes = guardedRoutes.filter((route) => route.path.includes('{') && route.operationId !== 'putCronTask')
  test.each(routes)('things are for $method $path as if they did not exist', async (route) => {
    const none = nothing()
    const neutral = (names: Names, { status, problem }: Seen): string => {
      const { request_id: _, instance: __, ...rest } = problem as Record<string, unknown>
      return Object.values(names).reduce((text, name) => text.replaceAll(name, '*'), JSON.stringify({ status, rest }))
    }
    for (const scope of new Set<Scope>([route.scope as Scope, 'admin'])) {
      const authorization = bearer(keyOf(named(scope, 'rival')))
      const ofNone = await call(route, none, authorization)
      const ofAcme = await call(route, acme, authorization)
      expect(ofAcme.status).toBeGreaterThanOrEqual(400)
      expect(neutral(acme, ofAcme)).toBe(neutral(none, ofNone))
    }
  })

  test('things are untouched by that', async () => {
    const api = guarded.api(keyOf(named('admin', 'acme-corp')).secret)
    expect(await api.get(acme.task_id ?? '')).toMatchObject({ status: 'SCHEDULED' })
    expect(await defineCron('rival')).not.toBe(acme.cron_id)
    expect((await api.call('GET', `/cron-tasks/${acme.cron_id}`)).body).toMatchObject({
      name: cronName,
      status: 'ACTIVE',
    })
    expect((await api.call('POST', `/workers/${acme.worker_id}/poll`, { slots: 1 })).status).toBe(200)
    const { body } = await api.call<{ items: { key_id: string; revoked_at: string | null }[] }>('GET', '/api-keys')
    expect(body.items.find(({ key_id }) => key_id === acme.key_id)).toMatchObject({ revoked_at: null })
  })
})

test('a route that names no scope is closed to all but an unbound admin', async () => {
  const { buildApi } = await import('../api/index.js')
  const { testParts } = await import('../access/testing/test-parts.js')
  const app = buildApi(testParts())
  app.get('/added', async () => 'in')
  const asked = async (key: string) =>
    (await app.inject({ url: '/added', headers: { authorization: `Bearer ${key}` } })).statusCode
  expect((await app.inject({ url: '/added' })).statusCode).toBe(401)
  for (const [key, status] of Object.entries({ read: 403, 'admin-acme': 403, admin: 200 })) {
    expect({ key, status: await asked(key) }).toEqual({ key, status })
  }
})
