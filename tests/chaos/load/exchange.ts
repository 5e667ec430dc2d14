import type { CallOutcome } from '../checker/client-log.js'

/** What came of a call; of the body what the caller reads. */
export interface Reply<B> {
  readonly outcome: CallOutcome
  readonly status: number | null
  readonly code: string | null
  readonly body: Partial<B>
  readonly retryAfter: string | null
  readonly startedAt: number
  readonly endedAt: number
}

export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly content?: unknown
}

/** A call waits for its answer so long; a server that was frozen or cut off gives none. */
const PATIENCE_MS = 10_000
/** Answers that say "nobody knows": the call had its whole effect or none. */
const UNKNOWN_CODES: ReadonlySet<string | undefined> = new Set(['commit_unknown', 'internal'])

/** One call over plain HTTP, and what the caller may conclude from what came of it. It is never repeated. */
export async function exchange<B>(url: string, { method, path, content }: Request): Promise<Reply<B>> {
  const startedAt = Date.now()
  const nothing = { body: {}, retryAfter: null, startedAt } as const
  try {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(content === undefined
        ? {}
        : { body: JSON.stringify(content), headers: { 'content-type': 'application/json' } }),
    })
    const body: Partial<B> & { readonly code?: string } = JSON.parse(
      response.status === 204 ? '{}' : await response.text(),
    )
    const retryAfter = response.headers.get('retry-after')
    const outcome = response.ok ? 'ok' : UNKNOWN_CODES.has(body.code) ? 'unknown' : 'fail'
    const told = { status: response.status, code: body.code ?? null, body, retryAfter }
    return { outcome, ...told, startedAt, endedAt: Date.now() }
  } catch (error) {
    const code = networkCode(error)
    const outcome = code === 'ECONNREFUSED' ? 'fail' : 'unknown'
    return { ...nothing, outcome, status: null, code, endedAt: Date.now() }
  }
}

function networkCode(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code
  return cause instanceof Error ? cause.name : String(cause)
}
