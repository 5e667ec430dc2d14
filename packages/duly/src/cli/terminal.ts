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

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}
