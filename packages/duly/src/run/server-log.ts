import type { LineLog } from './line-log.js'

/** pino's levels that a reader of `duly dev` tells apart. */
const LEVEL: Readonly<Record<string, keyof LineLog>> = {
  trace: 'debug',
  debug: 'debug',
  warn: 'warn',
  error: 'error',
  fatal: 'error',
}

/** Shows the server's JSON log lines to a person, among the other parts' lines. */
export function readableLog(log: LineLog): { write(line: string): void } {
  return {
    write(line) {
      const { level, time: _time, node: _node, msg, err, ...fields } = JSON.parse(line) as Record<string, unknown>
      const error = typeof err === 'object' && err !== null && 'message' in err ? { error: err.message } : {}
      log[LEVEL[String(level)] ?? 'info'](String(msg), { ...fields, ...error })
    },
  }
}
