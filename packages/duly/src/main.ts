import { processTerminal, tolerateClosedPipes } from './cli/terminal.js'
import { runCli } from './program.js'

/** When all is done, a connection that somebody forgot must not hold the process. */
const LINGER_MS = 250

tolerateClosedPipes()
process.exitCode = await runCli(process.argv.slice(2), processTerminal())
setTimeout(() => process.exit(), LINGER_MS).unref()
