export interface QueueRecord {
  readonly name: string
  readonly paused: boolean
  readonly depth: number
  readonly depthByPriority: Readonly<Record<'high' | 'medium' | 'low', number>>
  /** The 100 deepest tenants of the queue. */
  readonly depthByTenant: readonly { readonly tenantId: string; readonly depth: number }[]
  readonly running: number
  readonly oldestReadyAtMs: number | null
}

/** What one call of a purge did. */
export interface PurgeResult {
  readonly cancelled: number
  /** PENDING tasks that are there now, those that came meanwhile too. */
  readonly remaining: number
  /** Nothing is left of what was PENDING at the beginning, but what a claim held. */
  readonly isComplete: boolean
}
