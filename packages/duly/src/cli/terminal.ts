/** Where a command reads and writes. Results go to `out`; progress, notes and errors to `err`, so that `out` can be piped. */
export interface Terminal {
  out(text: string): void
  err(text: string): void
  /** Is somebody looking at `err`? Then a progress line may be redrawn in place. */
  readonly isInteractive: boolean
  /** Columns of that screen. */
  readonly width: number
  readonly env: NodeJS.ProcessEnv
  readStdin(): Promise<string>
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    isInteractive: process.stderr.isTTY === true && process.env.TERM !== 'dumb',
    width: process.stderr.columns ?? 80,
    env: process.env,
    readStdin,
  }
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

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}
