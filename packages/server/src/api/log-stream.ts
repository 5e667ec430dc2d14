import { Readable } from 'node:stream'
import { DulyError } from '@duly/domain'
import type { FastifyRequest } from 'fastify'
import type { LogPage } from '../model.js'
import type { HeldCall, WaitRoom } from './wait-room.js'
import { instant, type WritableObject, writeJson } from './write-json.js'

/** JSON, a record a line. */
export const streamType = 'application/x-ndjson'

const asked = /(?:^|,)\s*application\/x-ndjson\s*(?:[;,]|$)/i

export const asksForStream = ({ headers }: FastifyRequest): boolean => asked.test(headers.accept ?? '')

/** Whoever reads nothing more has so long for the rest of it when its stream has to end, ms. */
const graceMs = 2_000

export interface LogStreamsOptions {
  readonly waits: WaitRoom
  /** Streams that may be open at a time. */
  readonly most: number
  /** Where nothing happens, an empty line comes so often, so that nobody on the way takes the connection for dead. */
  readonly heartbeatMs: number
}

/** How one log is read and written. */
export interface FollowedLog {
  /** What comes behind that line; held at most so long while there is none. */
  readonly read: (after: number, waitMs: number, signal: AbortSignal) => Promise<LogPage>
  readonly after: number
  readonly lineOf: (line: LogPage['lines'][number]) => WritableObject
  readonly cursorOf: (after: number) => string
}

/**
 * Logs that are followed to the end of their task, in answers that are written meanwhile: pages are read from the store as their client
 * takes them, so that a slow one is waited for and nothing piles up. An answer that ends before its task, as the node stops or the store
 * is away, says so, with the place to go on from.
 */
export class LogStreams {
  readonly #options: LogStreamsOptions
  #open = 0

  constructor(options: LogStreamsOptions) {
    this.#options = options
  }

  /** @throws DulyError `too_many_streams`, and what the first look at the log throws */
  async open(call: HeldCall, log: FollowedLog): Promise<Readable> {
    const { most, waits } = this.#options
    if (this.#open >= most) throw tooMany(most)
    this.#open++
    const { signal, leave } = waits.enter(call)
    const close = (): void => {
      this.#open--
      leave()
    }
    try {
      const first = await log.read(log.after, 0, signal)
      const body = Readable.from(this.#texts(call, log, { first, signal }))
      signal.addEventListener('abort', () => setTimeout(() => body.destroy(), graceMs).unref(), { once: true })
      return body.once('close', close)
    } catch (error) {
      close()
      throw error
    }
  }

  async *#texts(call: HeldCall, log: FollowedLog, { first, signal }: Begun): AsyncGenerator<string, void> {
    const { waits, heartbeatMs } = this.#options
    const writer = new LogWriter(log)
    for (let page = first; ; ) {
      const text = writer.write(page)
      yield page.isComplete ? text + writer.end(true) : text === '' ? '\n' : text
      if (page.isComplete) return
      try {
        if (signal.aborted) break
        page = await log.read(page.next, page.hasMore ? 0 : heartbeatMs, signal)
        await waits.confirm(call)
      } catch (error) {
        // the next call will be told
        if (error instanceof DulyError || signal.aborted) break
        throw error
      }
    }
    yield writer.end(false)
  }
}

interface Begun {
  readonly first: LogPage
  readonly signal: AbortSignal
}

/** Records of one stream. Each has the cursor to go on from behind it. */
class LogWriter {
  readonly #log: FollowedLog
  #after: number
  #dropped = 0
  #progress = ''

  constructor(log: FollowedLog) {
    this.#log = log
    this.#after = log.after
  }

  write({ lines, next, dropped, progress }: LogPage): string {
    this.#dropped = dropped
    let text = ''
    for (const line of lines) {
      this.#after = line.line
      text += this.#record('line', this.#log.lineOf(line))
    }
    this.#after = next
    return text + this.#told(progress)
  }

  end(isComplete: boolean): string {
    return this.#record('end', { is_complete: isComplete, dropped_lines: this.#dropped })
  }

  /** The progress, where it is another than was told. */
  #told(progress: LogPage['progress']): string {
    if (progress === null) return ''
    const { percent, note, updatedAtMs } = progress
    const fields = { percent, note, updated_at: instant(updatedAtMs) }
    const told = writeJson(fields)
    if (told === this.#progress) return ''
    this.#progress = told
    return this.#record('progress', fields)
  }

  #record(type: string, fields: WritableObject): string {
    return `${writeJson({ type, ...fields, cursor: this.#log.cursorOf(this.#after) })}\n`
  }
}

const tooMany = (most: number): DulyError =>
  new DulyError(
    'too_many_streams',
    `This node has ${most} open streams, which is the most; try again, or read pages.`,
    {
      retryAfterSeconds: 1,
    },
  )
