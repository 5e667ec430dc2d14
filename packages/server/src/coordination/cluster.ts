import type { Clock } from '@duly/domain'
import type { ClusterRecord } from '../model.js'
import type { ClusterStore } from '../store/cluster-store.js'

export interface ClusterOptions {
  readonly store: ClusterStore
  readonly clock: Clock
}

/** Nodes, partitions and their leaders, as the store has them. */
export class Cluster {
  readonly #options: ClusterOptions

  constructor(options: ClusterOptions) {
    this.#options = options
  }

  /** Rejects with `store_unavailable` when there is no answer: what is not known is not told as healthy. */
  async read(): Promise<ClusterRecord> {
    const { store, clock } = this.#options
    const [nodes, partitions] = await Promise.all([store.nodes(), store.partitions()])
    const beganMs = clock.monotonicMs()
    const storeVersion = await store.version()
    return { nodes, partitions, storeVersion, storeLatencyMs: clock.monotonicMs() - beganMs }
  }
}
