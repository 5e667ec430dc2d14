/** What an error means for the retries. */
export type ErrorVerdict = 'permanent' | 'transient'

/** Decides whether an error is worth another try. Anything else than `'permanent'` is transient. */
export type ErrorClassifier = (error: unknown) => ErrorVerdict | undefined

/** Statuses of a request that is wrong in itself and stays so; the rest (408, 425, 429, 5xx …) may pass. */
const PERMANENT_STATUSES: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 410, 422])

/**
 * A ready classifier for handlers that call HTTP services: reads the status where fetch wrappers, axios, got, undici and
 * others put it. DNS, reset, refused and timeout carry no status: transient.
 */
export const classifyHttpError: ErrorClassifier = (error) => {
  const status = statusOf(error)
  return status !== null && PERMANENT_STATUSES.has(status) ? 'permanent' : 'transient'
}

/** The delay that the answer's `Retry-After` asks for, ms, if the error carries its response; null otherwise. */
export function httpRetryAfterMs(error: unknown, now: number = Date.now()): number | null {
  for (const holder of [field(error, 'response'), error]) {
    const header = headerOf(field(holder, 'headers'), 'retry-after')
    if (header === null) continue
    const ms = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now
    if (!Number.isNaN(ms)) return Math.max(0, ms)
  }
  return null
}

function statusOf(error: unknown): number | null {
  for (const holder of [error, field(error, 'response')]) {
    for (const name of ['status', 'statusCode']) {
      const status = field(holder, name)
      if (typeof status === 'number') return status
    }
  }
  return null
}

function headerOf(headers: unknown, name: string): string | null {
  if (headers instanceof Headers) return headers.get(name)
  const value = field(headers, name) ?? field(headers, 'Retry-After')
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
