import type { Command } from 'commander'
import { exitCodes } from './cli/exit-codes.js'
import type { Terminal } from './cli/terminal.js'
import { buildProgram } from './program.js'

/** The text of docs/reference/command-line.md: each command's help as it prints it, and the exit codes. */
export async function renderCommandLine(): Promise<string> {
  let help = ''
  const terminal: Terminal = {
    out: (text) => {
      help += text
    },
    err: () => {},
    isInteractive: false,
    width: 100,
    hasColours: false,
    height: null,
    isPlain: false,
    env: {},
    readStdin: async () => '',
    isTaken: async () => true,
  }
  const program = buildProgram({ terminal, setExit: () => {} }, await import('@duly/server'))
  const sections = leaves(program).map((command) => {
    help = ''
    command.outputHelp()
    return `## ${pathOf(command)}\n\n\`\`\`text\n${help.trim()}\n\`\`\`\n`
  })
  const codes = exitCodes.map(({ code, name, doc }) => `| ${code} | ${name} | ${doc} |`)
  return [
    '# Command line',
    '',
    'Generated from the commands themselves by `npm run generate`; do not edit.',
    '',
    'Results go to the standard output; progress, notes and errors to the standard error. Durations are seconds, or a number',
    'with a unit: `500ms`, `30s`, `5m`, `24h`, `7d`.',
    '',
    'With `--json` a command prints one JSON document, with the names and digits of the [HTTP API](http.md): what the API answers, and',
    'of a list `{ "items": [...], "next_cursor": ... }`, where the cursor is null when nothing comes after. Only what may have no end, lists',
    'with `--all` and logs with `--follow`, is printed one item a line. An error is one line on the standard error,',
    '`{ "error": { "exit_code", "exit", "code", "message", ... } }`; a warning before it likewise, `{ "warning": { "code", "message", ... } }`.',
    'What runs until it is stopped (`dev`, `serve`, `worker`) logs a JSON object a line; `dev` first prints one that says where everything is.',
    '',
    '## Exit codes',
    '',
    '| Code | Name | Meaning |',
    '|---|---|---|',
    ...codes,
    '',
    ...sections,
  ].join('\n')
}

/** The commands that do something: groups that only hold others are left out. */
export function leaves(command: Command): readonly Command[] {
  const children = command.commands.filter((child) => child.name() !== 'help').flatMap(leaves)
  const isItself = children.length === 0 || command.registeredArguments.length > 0
  return isItself ? [command, ...children] : children
}

/** Its words on the command line: `duly task get`. */
export function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
}
