import type { QueueRecord } from '../model.js'
import { instant, type WritableObject } from './write-json.js'

export function queueOf(queue: QueueRecord): WritableObject {
  return {
    name: queue.name,
    paused: queue.paused,
    depth: queue.depth,
    depth_by_priority: { ...queue.depthByPriority },
    depth_by_tenant: queue.depthByTenant.map(({ tenantId, depth }) => ({ tenant_id: tenantId, depth })),
    running: queue.running,
    oldest_ready_at: instant(queue.oldestReadyAtMs),
  }
}
