import { textOf } from './utf8.js'

/** Where a command reads and writes. Results go to `out`; progress, notes and errors to `err`, so that `out` can be piped. */
export interface Terminal {
  out(text: string): void
  err(text: string): void
  /** Is somebody looking at `err`? Then a progress line may be redrawn in place. */
  readonly isInteractive: boolean
  /** Columns of that screen. */
  readonly width: number
  /** Is somebody looking at `out`, on a screen that shows colours? */
  readonly hasColours: boolean
  /** Lines of the screen that `out` is shown on, where a drawing can be drawn anew; null: it is none. */
  readonly height: number | null
  /** Can it show ASCII alone? */
  readonly isPlain: boolean
  readonly env: NodeJS.ProcessEnv
  readStdin(): Promise<string>
  /** Resolves when the reader has taken what was written to `out`: whoever writes without end waits for it. False: it is gone. */
  isTaken(): Promise<boolean>
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    isInteractive: process.stderr.isTTY === true && process.env.TERM !== 'dumb',
    hasColours: process.stdout.isTTY === true && process.env.TERM !== 'dumb' && !process.env.NO_COLOR,
    width: process.stderr.columns ?? process.stdout.columns ?? 80,
    height: process.stdout.isTTY === true && process.env.TERM !== 'dumb' ? process.stdout.rows : null,
    isPlain: isPlain(process.env),
    env: process.env,
    readStdin,
    isTaken: () => isTaken(process.stdout),
  }
}

/** The locale says of which characters the screen's are (POSIX: the first of these that is set); none, or one of UTF-8, shows all. */
export function isPlain({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  const locale = [LC_ALL, LC_CTYPE, LANG].find((each) => each !== undefined && each !== '')
  return locale !== undefined && !/utf-?8/i.test(locale)
}

/**
 * A reader that goes away (`duly … | head`) is no fault: what it does not want to read is dropped, and the command ends as it
 * would have. Without this, Node ends the process with a stack trace, and what it runs is left behind.
 */
export function tolerateClosedPipes(streams: readonly NodeJS.WriteStream[] = [process.stdout, process.stderr]): void {
  for (const stream of streams) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
}

/** An empty write is done when all before it are; one to a pipe that nobody reads fails. */
export function isTaken(stream: NodeJS.WriteStream): Promise<boolean> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.errored) resolve(false)
    else stream.write('', (error) => resolve(!error))
  })
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk))
  return textOf(Buffer.concat(chunks), 'the standard input')
}
