import type { Duly, WorkflowRecord } from '@duly/sdk'
import { tellIfUnserved, type UnservedWait } from '../cli/unserved-note.js'
import type { Context } from '../commands/command.js'
import { whileWatching } from './while-watching.js'

export interface WorkflowFollow {
  readonly duly: Duly
  readonly id: string
  /** Ends the wait, with the record as it stands then; null: only its end does. */
  readonly limitMs: number | null
  /** Shown what each look saw, about once a second. */
  readonly onLook: (workflow: WorkflowRecord) => void
  /** Told what it waits for in vain, so that the wait does not look like one that hangs. */
  readonly tell: (note: string) => void
}

/** A workflow at its end, or when the limit is over. A signal ends the watching alone; then there is none. */
export async function followWorkflow(context: Context, follow: WorkflowFollow): Promise<WorkflowRecord | undefined> {
  const { duly, id, limitMs, onLook, tell } = follow
  const goesOn = `The workflow ${id} goes on. Follow it: duly workflow graph ${id} --follow\nStop it: duly workflow cancel ${id}`
  return whileWatching(context, goesOn, async (signal) => {
    const ended = new AbortController()
    const first = await duly.workflows.get(id, { signal })
    onLook(first)
    if (first.status !== 'RUNNING') return first
    const noted = tellOfReady(duly, first, { tell, signal: AbortSignal.any([signal, ended.signal]) })
    try {
      const limit = limitMs === null ? {} : { timeout: limitMs }
      return await duly.workflows.wait(id, { ...limit, onProgress: onLook, signal })
    } finally {
      ended.abort()
      await noted
    }
  })
}

/** The first task that is ready speaks for the workflow. */
async function tellOfReady(
  duly: Duly,
  { graph }: WorkflowRecord,
  { tell, signal }: Pick<UnservedWait, 'tell' | 'signal'>,
): Promise<void> {
  const ready = graph.find(({ status }) => status === 'PENDING')
  if (ready !== undefined) await tellIfUnserved({ duly, id: ready.id, signal, tell })
}
