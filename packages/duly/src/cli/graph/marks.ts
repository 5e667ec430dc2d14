import type { TaskStatus } from '@duly/sdk'

interface Look {
  readonly mark: string
  /** Of ASCII alone. */
  readonly plain: string
  /** Of a terminal, by its number (ECMA-48, SGR). */
  readonly color: number
}

const green = 32
const red = 31
const yellow = 33
const cyan = 36
const grey = 90

const looks: Readonly<Record<TaskStatus, Look>> = {
  SCHEDULED: { mark: '◷', plain: 't', color: yellow },
  PENDING: { mark: '●', plain: 'o', color: yellow },
  BLOCKED: { mark: '○', plain: '.', color: grey },
  RUNNING: { mark: '▶', plain: '>', color: cyan },
  RETRYING: { mark: '↻', plain: 'r', color: yellow },
  SUCCEEDED: { mark: '✓', plain: '+', color: green },
  FAILED: { mark: '✗', plain: 'x', color: red },
  DEAD: { mark: '✗', plain: 'x', color: red },
  CANCELLED: { mark: '⊘', plain: '-', color: grey },
}

/** One character that tells a status. */
export const markOf = (status: TaskStatus, isPlain: boolean): string => looks[status][isPlain ? 'plain' : 'mark']

/** A text in the colour of a status. */
export const dyed = (text: string, status: TaskStatus): string => `\u001b[${looks[status].color}m${text}\u001b[39m`
