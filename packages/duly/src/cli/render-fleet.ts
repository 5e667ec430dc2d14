import type { QueueRecord, WorkerRecord } from '@duly/sdk'
import { facts, table } from './table.js'

export function renderQueues(queues: readonly QueueRecord[]): string {
  if (queues.length === 0) return 'No queue yet: queues come into being at first use.\n'
  const rows = queues.map((queue) => [
    queue.name,
    queue.paused ? 'paused' : 'open',
    queue.depth,
    queue.depthByPriority.high,
    queue.depthByPriority.medium,
    queue.depthByPriority.low,
    queue.running,
    age(queue.oldestReadyAt),
  ])
  return table(['QUEUE', 'STATE', 'WAITING', 'HIGH', 'MEDIUM', 'LOW', 'RUNNING', 'OLDEST'], rows)
}

export function renderQueue(queue: QueueRecord): string {
  const { high, medium, low } = queue.depthByPriority
  const summary = facts([
    ['queue', queue.name],
    ['state', queue.paused ? 'paused: nothing is started from it' : 'open'],
    ['waiting', `${queue.depth} (${high} high, ${medium} medium, ${low} low)`],
    ['running', queue.running],
    ['oldest', age(queue.oldestReadyAt)],
  ])
  if (queue.depthByTenant.length === 0) return summary
  const tenants = queue.depthByTenant.map(({ tenantId, depth }) => [tenantId, depth])
  return `${summary}\n${table(['TENANT', 'WAITING'], tenants)}`
}

export function renderWorkers(workers: readonly WorkerRecord[]): string {
  if (workers.length === 0) return 'No worker.\n'
  const rows = workers.map((worker) => [
    worker.workerId,
    worker.name,
    worker.host,
    worker.version,
    worker.state,
    `${worker.running}/${worker.slots}`,
    age(worker.lastHeartbeatAt),
    firstOf(worker.queues, worker.queueCount),
  ])
  return table(['WORKER', 'NAME', 'HOST', 'VERSION', 'STATE', 'RUNNING', 'HEARD', 'QUEUES'], rows)
}

export function renderWorker(worker: WorkerRecord): string {
  return facts([
    ['worker', worker.workerId],
    ['name', worker.name],
    ['host', worker.host],
    ['version', worker.version],
    ['state', worker.state],
    ['tenant', worker.tenantId],
    ['queues', worker.queues.join(', ')],
    ['task types', worker.taskTypes.join(', ')],
    ['running', `${worker.running} of ${worker.slots} slots`],
    ['registered', worker.registeredAt.toISOString()],
    ['heard', worker.lastHeartbeatAt.toISOString()],
    ['ended', worker.endedAt?.toISOString()],
    ['heartbeat', `${worker.heartbeatSeconds} s, dead after ${worker.leaseSeconds} s of silence`],
    ['lag', worker.lagMs === null ? null : `${Math.round(worker.lagMs)} ms`],
    ['memory', worker.rssBytes === null ? null : `${Math.round(worker.rssBytes / 1_048_576)} MiB`],
  ])
}

/** Three names, and how many more there are. */
function firstOf(names: readonly string[], count: number): string {
  const shown = names.slice(0, 3).join(', ')
  return count > 3 ? `${shown} and ${count - 3} more` : shown
}

/** How long ago that was, in the largest unit that tells enough; by this machine's clock. */
export function age(at: Date | null, nowMs = Date.now()): string | null {
  if (at === null) return null
  const seconds = Math.max(0, Math.round((nowMs - at.getTime()) / 1_000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`
}
