import { limits, type Uuid } from '@duly/domain'
import type { GrantedNode } from '../model.js'
import type { TakenTask } from '../queue/port.js'
import type { DependencyStore } from '../store/dependency-store.js'

/** Bytes of results that come along with the tasks of one answer, as long as each task gets its least. */
const answerMaxBytes = 32 * 1_024 * 1_024
const leastBytes = 64 * 1_024

/** What tasks of workflows are told of their graph, by task. Asks for nothing where there are none: plain tasks pay nothing for it. */
export async function nodesOf(
  store: DependencyStore,
  tasks: readonly TakenTask[],
): Promise<ReadonlyMap<Uuid, GrantedNode>> {
  const ofWorkflows = tasks.filter(({ workflowId }) => workflowId !== null)
  if (ofWorkflows.length === 0) return new Map()
  const share = Math.max(leastBytes, Math.floor(answerMaxBytes / ofWorkflows.length))
  const found = await store.ofTasks(
    ofWorkflows.map(({ id }) => id),
    Math.min(limits.dependencyResultsMaxBytes, share),
  )
  return new Map(
    ofWorkflows.flatMap(({ id, workflowId, nodeName }) =>
      workflowId === null ? [] : [[id, { workflowId, name: nodeName ?? '', dependencies: found.get(id) ?? [] }]],
    ),
  )
}
