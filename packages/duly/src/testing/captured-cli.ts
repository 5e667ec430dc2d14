import type { Terminal } from '../cli/terminal.js'
import { runCli } from '../program.js'

/** What one command line printed, and its exit code. */
export interface Captured {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command line in this process and keeps what it prints. */
export async function cli(args: readonly string[], given: Partial<Terminal> = {}): Promise<Captured> {
  let out = ''
  let err = ''
  const terminal: Terminal = {
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
    isInteractive: false,
    width: 80,
    height: null,
    hasColours: false,
    isPlain: false,
    env: {},
    readStdin: async () => '',
    isTaken: async () => true,
    ...given,
  }
  const code = await runCli(args, terminal)
  return { code, out, err }
}
