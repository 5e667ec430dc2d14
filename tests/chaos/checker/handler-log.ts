import { existsSync, readFileSync } from 'node:fs'
import { decodeId, decodeLease, type Lease, type TaskStatus, type Uuid } from '@duly/domain'

/**
 * One line that a handler wrote, at its start, when it had the results of its dependencies, or at its end, by one `write` on a file opened with O_APPEND: SIGKILL loses no
 * line that was written, and the lines of several processes don't mix.
 */
export interface HandlerRecord {
  readonly event: 'start' | 'given' | 'end'
  /** Epoch ms by the machine's clock, which is also the test database's. */
  readonly at: number
  readonly pid: number
  readonly id: Uuid
  readonly mark: string
  readonly lease: Lease
  /** At the end: how the handler left. */
  readonly left?: 'returned' | 'threw'
  /** At the end: had its signal been aborted? */
  readonly aborted?: boolean
  /** At the end of one that returned: the digest of its result. */
  readonly digest?: string
  /** At the start: the number of the edit that its payload carries. */
  readonly edit?: number
  /** At the start: how the dependencies had ended that it was told of. */
  readonly statuses?: Readonly<Record<string, TaskStatus>>
  /** When they were given: the digests of the results of those that succeeded. */
  readonly results?: Readonly<Record<string, string>>
}

interface Line extends Omit<HandlerRecord, 'id' | 'lease'> {
  readonly task: string
  readonly lease: string
}

/** Reads a log as the test worker writes it; empty when no handler has started yet. */
export function readHandlerLog(path: string): readonly HandlerRecord[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
  return lines.map((line) => {
    const { task, lease, ...rest }: Line = JSON.parse(line)
    const decoded = decodeLease(lease)
    if (!decoded) throw new Error(`the handler log has an unreadable lease: ${line}`)
    return { ...rest, id: decodeId('task', task), lease: decoded }
  })
}
