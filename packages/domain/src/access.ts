/** What an API key can be good for. */
export const scopes = [
  { name: 'submit', doc: 'submit, edit, cancel, retry and discard tasks' },
  { name: 'read', doc: 'read tasks, queues, workers and figures' },
  { name: 'work', doc: 'run tasks as a worker' },
  { name: 'admin', doc: 'everything: the other scopes, and keys, queues and workers beside them' },
] as const

export type Scope = (typeof scopes)[number]['name']

/** Whose things a call may see and touch: one tenant's; null: everyone's. */
export type TenantScope = string | null

/** Who calls: a key, or nobody in particular where no keys are asked for. */
export interface Caller {
  /** Names the key in the audit trail, e.g. `key-01jr…`; null: the server is open. */
  readonly keyId: string | null
  readonly scopes: ReadonlySet<Scope>
  readonly tenant: TenantScope
  /** When the key ends; null: never. */
  readonly expiresAtMs: number | null
}

/** The caller of a server that asks for no keys: may do everything, everywhere. */
export const openCaller: Caller = { keyId: null, scopes: new Set(['admin']), tenant: null, expiresAtMs: null }

/** Whether a caller may use a route that asks for this scope. `admin` includes the others. */
export const mayUse = ({ scopes: held }: Pick<Caller, 'scopes'>, scope: Scope): boolean =>
  held.has(scope) || held.has('admin')

/** Whether something of this tenant exists for the caller. */
export const isVisible = (scope: TenantScope, tenant: string): boolean => scope === null || scope === tenant
