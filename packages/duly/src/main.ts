import { processTerminal } from './cli/terminal.js'
import { runCli } from './program.js'

process.exitCode = await runCli(process.argv.slice(2), processTerminal())
