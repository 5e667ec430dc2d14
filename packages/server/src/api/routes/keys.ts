import type { CreateApiKeyBody } from '@duly/contract'
import { type Caller, DulyError, type TenantScope } from '@duly/domain'
import type { FastifyInstance } from 'fastify'
import { actorOf } from '../caller.js'
import type { ApiContext } from '../context.js'
import { parseInstant } from '../instant.js'
import { mount } from '../mount.js'
import { readPage, writePage } from '../page.js'
import { writeJson } from '../write-json.js'
import { keyOf, writeCreatedKey } from '../write-key.js'

const listName = 'api-keys'

export function registerKeys(app: FastifyInstance, context: ApiContext): void {
  const { keys } = context.services
  mount(app, context, 'createApiKey', {
    handle: async ({ body, ...call }) => {
      const { name, scopes, expires_at } = body
      const expiresAtMs = endOf(expires_at ?? null, call.caller)
      const tenant = tenantOf(body, call.caller)
      return {
        status: 201,
        json: writeCreatedKey(await keys.create({ name, scopes, tenant, expiresAtMs }, actorOf(call))),
      }
    },
  })
  mount(app, context, 'listApiKeys', {
    handle: async ({ query, caller }) => {
      const page = await keys.list(caller.tenant, readPage(listName, query))
      return { status: 200, json: writePage(listName, page, keyOf) }
    },
  })
  mount(app, context, 'revokeApiKey', {
    handle: async ({ id, ...call }) => {
      const { isLastAdmin } = await keys.revoke(id, call.caller.tenant, actorOf(call))
      return { status: 200, json: writeJson({ last_admin: isLastAdmin }) }
    },
  })
}

/** When the new key ends: no later than the key that asks. */
function endOf(asked: string | null, caller: Caller): number | null {
  const expiresAtMs = asked === null ? null : parseInstant(asked)
  if (caller.expiresAtMs === null) return expiresAtMs
  const end = Math.round(caller.expiresAtMs)
  if (expiresAtMs !== null && expiresAtMs <= end) return expiresAtMs
  const until = new Date(end).toISOString()
  throw new DulyError('forbidden', `This key ends at ${until}, and so must keys that it makes: give expires_at.`)
}

/** What the new key is bound to: no wider than the key that asks. */
function tenantOf({ tenant_id: asked }: CreateApiKeyBody, { tenant }: Caller): TenantScope {
  if (tenant === null || asked === undefined || asked === tenant) return asked ?? tenant
  throw new DulyError('forbidden', `This key is bound to ${tenant}, and makes keys that are bound to ${tenant} only.`)
}
