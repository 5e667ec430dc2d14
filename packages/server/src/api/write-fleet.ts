import { encodeId } from '@duly/domain'
import type { WorkerRecord } from '../model.js'
import { instant, toSeconds, type WritableObject } from './write-json.js'

export function workerOf(worker: WorkerRecord): WritableObject {
  return {
    worker_id: encodeId('worker', worker.id),
    name: worker.name,
    host: worker.host,
    version: worker.version,
    state: worker.state,
    tenant_id: worker.tenant,
    queues: worker.queues,
    queue_count: worker.queueCount,
    task_types: worker.taskTypes,
    task_type_count: worker.taskTypeCount,
    slots: worker.slots,
    running: worker.running,
    registered_at: instant(worker.registeredAtMs),
    last_heartbeat_at: instant(worker.beatAtMs),
    heartbeat_seconds: toSeconds(worker.heartbeatMs),
    lease_seconds: toSeconds(worker.leaseMs),
    ended_at: instant(worker.endedAtMs),
    lag_ms: worker.lagMs,
    rss_bytes: worker.rssBytes,
  }
}
