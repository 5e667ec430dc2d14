import { limits, namePattern, type Scope, scopes } from '@duly/domain'
import Type, { type Static } from 'typebox'
import { closed, Instant, id, list, NullableInstant, NullableName, nullable, PageQuery, plainText } from './common.js'

const ScopeList = Type.Array(
  Type.Enum(scopes.map((scope) => scope.name) as Scope[], {
    description: scopes.map((scope) => `${scope.name}: ${scope.doc}`).join('\n'),
  }),
  { minItems: 1, maxItems: scopes.length, uniqueItems: true },
)

const keyName = plainText(limits.nameMaxChars, { description: 'For people: who uses it, and for what.' })

export const CreateApiKey = closed(
  {
    name: keyName,
    scopes: ScopeList,
    tenant_id: Type.Optional(
      nullable<string>('string', {
        ...{ minLength: 1, maxLength: limits.nameMaxChars, pattern: namePattern },
        description: 'Binds the key to a tenant; null: to none. Absent: as the key that asks.',
      }),
    ),
    expires_at: Type.Optional(
      nullable<string>('string', {
        format: 'date-time',
        description:
          'RFC 3339 with an offset. From then on the key is refused. Absent or null: never. A key that ends makes keys that end no later.',
      }),
    ),
  },
  { examples: [{ name: 'shop backend', scopes: ['submit', 'read'], tenant_id: 'acme-corp' }] },
)
export type CreateApiKeyBody = Static<typeof CreateApiKey>

const keyFields = {
  key_id: id('key'),
  name: keyName,
  scopes: ScopeList,
  tenant_id: NullableName,
  created_at: Instant,
  expires_at: NullableInstant,
  last_used_at: NullableInstant,
  revoked_at: NullableInstant,
}

export const ApiKey = closed(keyFields, { description: 'An API key, without its secret, which nobody keeps.' })

export const CreatedApiKey = closed({
  ...keyFields,
  secret: Type.String({
    pattern: '^duly_',
    description: 'Shown this once. Send it as `Authorization: Bearer duly_…`.',
    examples: ['duly_6m1x0vq2j9k4zcs8hw3yfn5d7tpgr0eab1m2x3v4q5j6k7z8cs91'],
  }),
})

export const ApiKeyList = list(ApiKey)
export const ApiKeyParams = closed({ key_id: id('key') })
export const ApiKeyQuery = closed(PageQuery)

export const RevokedApiKey = closed({
  last_admin: Type.Boolean({
    description:
      'It had the scope `admin` and was bound to no tenant, and no other such key is live: only whoever has the database can make the next one.',
  }),
})
