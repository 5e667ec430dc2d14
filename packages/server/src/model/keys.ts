import type { Caller, Scope, TenantScope, Uuid } from '@duly/domain'

/** What a new API key shall be good for. */
export interface NewApiKey {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly tenant: TenantScope
  readonly expiresAtMs: number | null
}

export interface ApiKeyRecord extends NewApiKey {
  readonly id: Uuid
  readonly createdAtMs: number
  /** To the minute. */
  readonly lastUsedAtMs: number | null
  readonly revokedAtMs: number | null
}

/** Tells who calls, by the secret that was shown. */
export interface Gate {
  /**
   * The caller; at once when this node knows the key, else after a look in the store.
   * @param options.mayBeStale what is asked for needs no store: while that is away, what was known of the key is enough
   * @throws DulyError `unauthenticated`: there is no such key, or it was revoked, or has expired; `store_unavailable`: nobody can tell
   */
  identify(secret: string, options: { readonly mayBeStale: boolean }): Caller | Promise<Caller>
  /** Whether the key that was shown is still good: for the end of a call that was held. Throws as `identify` does. */
  confirm(caller: Caller): void | Promise<void>
  /** Calls back with the id of each key that is revoked from now on. */
  onRevoked(listener: (keyId: string) => void): void
}
