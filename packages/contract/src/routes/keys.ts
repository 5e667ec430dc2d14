import * as keys from '../keys.js'
import { type ApiRouteGroup, apiBase } from './route.js'

const path = `${apiBase}/api-keys`
const key = { tag: 'keys', scope: 'admin' } as const

export const keyRoutes = {
  createApiKey: {
    ...key,
    method: 'POST',
    path,
    summary: 'Make an API key',
    description:
      'Its secret is in this answer and never again: only a hash is kept. A key that is bound to a tenant makes keys of that tenant.',
    body: keys.CreateApiKey,
    bodyLimit: 'single',
    responses: { 201: { description: 'The key, with its secret.', schema: keys.CreatedApiKey } },
    problems: ['unprocessable', 'commit_unknown'],
  },
  listApiKeys: {
    ...key,
    method: 'GET',
    path,
    summary: 'List API keys, revoked ones too',
    description: "A key that is bound to a tenant sees that tenant's keys.",
    query: keys.ApiKeyQuery,
    responses: { 200: { description: 'Newest first.', schema: keys.ApiKeyList } },
    problems: [],
  },
  revokeApiKey: {
    ...key,
    method: 'DELETE',
    path: `${path}/{key_id}`,
    summary: 'Revoke an API key',
    description:
      'When the answer comes, no node takes the key any more, and calls that were held for it have ended. Revoking it again changes nothing.',
    params: keys.ApiKeyParams,
    responses: { 200: { description: 'Revoked, now or before.', schema: keys.RevokedApiKey } },
    problems: ['not_found', 'commit_unknown'],
  },
} as const satisfies ApiRouteGroup
