import { LOG_LEVELS, type LogLevel } from './task-context.js'
import type { WireGrant } from './wire.js'

/** Log lines kept for sending; more are dropped, the newest first. */
const MAX_LINES = 1_000

/** Longest log line, characters. */
const MAX_CHARS = 8_192

/** A log line on its way. The task is named: its last lines may arrive after its report, and the lease leads nowhere then. */
export interface WireLine {
  readonly lease: string
  readonly task_id: string
  readonly at: string
  readonly level: LogLevel
  readonly message: string
}

type Writer = Pick<WireGrant, 'lease' | 'task_id'>

/** Lines of all attempts that wait to be sent, bounded. Where some had no room, one line says how many. */
export class LogBuffer {
  #lines: WireLine[] = []
  /** Lines without room, by lease, since the last load. */
  readonly #dropped = new Map<string, { readonly writer: Writer; count: number }>()

  get size(): number {
    return this.#lines.length
  }

  add(writer: Writer, level: LogLevel, message: string): void {
    if (this.#lines.length < MAX_LINES) {
      this.#lines.push(lineOf(writer, level, message))
    } else this.#drop(writer)
  }

  /** All that is there; what is not sent must come back by `putBack`. */
  take(): readonly WireLine[] {
    const lines = this.#lines
    this.#lines = []
    for (const { writer, count } of this.#dropped.values()) {
      const what = count === 1 ? '1 line is missing here' : `${count} lines are missing here`
      this.add(writer, 'warn', `${what}: more were written than could be sent`)
    }
    this.#dropped.clear()
    return lines
  }

  /** They stand before what came meanwhile, which gives way if there is no room for both. */
  putBack(lines: readonly WireLine[]): void {
    const all = [...lines, ...this.#lines]
    this.#lines = all.slice(0, MAX_LINES)
    for (const line of all.slice(MAX_LINES)) this.#drop(line)
  }

  clear(): void {
    this.#lines = []
    this.#dropped.clear()
  }

  #drop(writer: Writer): void {
    const dropped = this.#dropped.get(writer.lease) ?? { writer, count: 0 }
    dropped.count += 1
    this.#dropped.set(writer.lease, dropped)
  }
}

/** A level of plain JavaScript that is none of ours would have the server refuse the lines of all. */
function lineOf({ lease, task_id }: Writer, level: LogLevel, message: string): WireLine {
  const known = LOG_LEVELS.includes(level) ? level : 'info'
  return { lease, task_id, at: new Date().toISOString(), level: known, message: String(message).slice(0, MAX_CHARS) }
}
