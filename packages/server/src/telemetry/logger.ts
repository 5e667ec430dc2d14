import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger } from 'pino'

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

export interface LoggerOptions {
  readonly level?: LogLevel
  /** Stands in every line; which node said it. */
  readonly node?: string
  /** Where lines go; standard output when absent. */
  readonly destination?: DestinationStream
}

/** Never logged, wherever they stand one or two levels deep: what tasks carry and what opens doors. */
const secretKeys = [
  'payload',
  'result',
  'metadata',
  'checkpoint',
  'authorization',
  'cookie',
  'apiKey',
  'api_key',
  'password',
]
const redacted = secretKeys.flatMap((key) => [key, `*.${key}`, `*.*.${key}`])

/** The logger of a node: one JSON line a message, ISO times, no payloads, no secrets, credentials cut out of urls. */
export function createLogger({ level = 'info', node, destination }: LoggerOptions = {}): Logger {
  const options = {
    level,
    base: node === undefined ? {} : { node },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: redacted, censor: '[hidden]' },
    serializers: { err: serializeError },
  }
  return destination ? pino(options, destination) : pino(options)
}

/** An error for the log: what it is and where, its causes, and no row values (drivers put those in `detail`). */
function serializeError(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: withoutCredentials(String(error)) }
  const { code } = error as { readonly code?: unknown }
  return {
    type: error.name,
    message: withoutCredentials(error.message),
    ...(typeof code === 'string' ? { code } : {}),
    ...(error.stack === undefined ? {} : { stack: withoutCredentials(error.stack) }),
    ...(error.cause === undefined || depth === 3 ? {} : { cause: serializeError(error.cause, depth + 1) }),
  }
}

/** Hides user and password of connection urls in a text. */
function withoutCredentials(text: string): string {
  return text.replaceAll(/([a-z][a-z0-9+.-]*:\/\/)[^/\s@]+@/gi, '$1[hidden]@')
}
