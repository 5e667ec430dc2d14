import type { Terminal } from '../cli/terminal.js'

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
type Level = (typeof LEVELS)[number]

/** A log of a few lines for a person, or of one JSON object a line for a collector. Errors and notes alike go to `err`. */
export interface LineLog {
  debug(message: string, fields?: object): void
  info(message: string, fields?: object): void
  warn(message: string, fields?: object): void
  error(message: string, fields?: object): void
}

export interface LineLogOptions {
  /** Which part of the tree speaks. */
  readonly name: string
  readonly asJson: boolean
}

/** A log that honours DULY_LOG_LEVEL (info unless set). */
export function lineLog(terminal: Terminal, { name, asJson }: LineLogOptions): LineLog {
  const least = LEVELS.indexOf((terminal.env.DULY_LOG_LEVEL as Level | undefined) ?? 'info')
  const write = (level: Level, message: string, fields: object = {}) => {
    if (LEVELS.indexOf(level) < least) return
    const line = asJson
      ? JSON.stringify({ level, time: new Date().toISOString(), name, msg: message, ...fields })
      : textLine(level, name, { message, fields })
    terminal.err(`${line}\n`)
  }
  return {
    debug: (message, fields) => write('debug', message, fields),
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
  }
}

function textLine(level: Level, name: string, { message, fields }: { message: string; fields: object }): string {
  const mark = level === 'info' ? '' : `${level}: `
  const details = Object.keys(fields).length === 0 ? '' : ` ${JSON.stringify(fields)}`
  return `[${name}] ${mark}${message}${details}`
}
