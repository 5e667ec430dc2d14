/** A record of a followed log, as it comes. */
export interface StreamRecord {
  readonly type: 'line' | 'progress' | 'end'
  readonly cursor: string
  readonly message?: string
  readonly line?: number
  readonly attempt?: number
  readonly percent?: number
  readonly is_complete?: boolean
  readonly dropped_lines?: number
}

/** A log that is followed by a client without an SDK. */
export class FollowedLog {
  readonly status: number
  readonly headers: Headers
  /** What came so far; an empty line is none. */
  readonly records: StreamRecord[] = []
  emptyLines = 0
  /** The text of an answer that is no stream. */
  text = ''
  /** Resolves when nothing more comes; false: it was cut off. */
  readonly ended: Promise<boolean>
  readonly #abort: AbortController
  readonly #watchers = new Set<() => void>()

  private constructor(response: Response, abort: AbortController) {
    this.status = response.status
    this.headers = response.headers
    this.#abort = abort
    this.ended = this.#read(response).then(
      () => true,
      () => false,
    )
  }

  static async open(url: string, path: string, secret?: string): Promise<FollowedLog> {
    const abort = new AbortController()
    const headers = { accept: 'application/x-ndjson', ...(secret ? { authorization: `Bearer ${secret}` } : {}) }
    return new FollowedLog(await fetch(`${url}/api/v1${path}`, { headers, signal: abort.signal }), abort)
  }

  get messages(): string[] {
    return this.records.flatMap(({ message }) => (message === undefined ? [] : [message]))
  }

  get last(): StreamRecord | undefined {
    return this.records.at(-1)
  }

  /** Resolves when the condition holds, looked at after each chunk. */
  until(condition: (log: FollowedLog) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (condition(this)) resolve()
      }
      this.#watchers.add(look)
      look()
    })
  }

  close(): void {
    this.#abort.abort()
  }

  async #read({ body, headers }: Response): Promise<void> {
    const isStream = headers.get('content-type') === 'application/x-ndjson'
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of body ?? []) {
      rest += decoder.decode(chunk, { stream: true })
      if (!isStream) continue
      const lines = rest.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line === '') this.emptyLines++
        else this.records.push(JSON.parse(line) as StreamRecord)
      }
      for (const watcher of this.#watchers) watcher()
    }
    this.text = rest
  }
}
