import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { CliError } from './cli/cli-error.js'
import { exitCode, exitCodes } from './cli/exit-codes.js'
import { explainFailure, type Failure, renderFailure } from './cli/failure.js'
import { refuseRepeats } from './cli/given-once.js'
import type { Terminal } from './cli/terminal.js'
import { cluster } from './commands/cluster.js'
import type { Context } from './commands/command.js'
import { config } from './commands/config.js'
import { cronCalls } from './commands/cron-calls.js'
import { cronCreate, cronUpdate } from './commands/cron-define.js'
import { cronImport } from './commands/cron-import.js'
import { dev } from './commands/dev.js'
import { dlqCommands } from './commands/dlq.js'
import { keyCommands } from './commands/key.js'
import { migrate } from './commands/migrate.js'
import { queueCommands } from './commands/queue.js'
import { serve } from './commands/serve.js'
import type { ServerModule } from './commands/server-flags.js'
import { stats } from './commands/stats.js'
import { taskBulk } from './commands/task-bulk.js'
import { taskExplain } from './commands/task-explain.js'
import { taskEdit, taskList, taskRuns } from './commands/task-list.js'
import { taskLogs } from './commands/task-logs.js'
import { taskCalls, taskGet } from './commands/task-show.js'
import { taskSubmit } from './commands/task-submit.js'
import { worker } from './commands/worker.js'
import { workflowCommands } from './commands/workflow.js'

/**
 * The commands that run a server. Only for them the server's code is loaded: the others start several times as fast without.
 */
const SERVER_COMMANDS: readonly string[] = ['dev', 'serve', 'config']

/** The whole command line. Without the server's code, its commands are listed but have no flags. */
export function buildProgram(context: Context, server?: ServerModule): Command {
  const program = new Command('duly')
    .description('Duly: a distributed task scheduler')
    .version(ownVersion())
    .addHelpText('after', `\n${helpHint('duly task submit')}`)
    .addHelpText(
      'after',
      `\nExit codes:\n${exitCodes.map(({ code, doc }) => `  ${String(code).padEnd(4)}${doc}`).join('\n')}`,
    )
  const onTasks = [taskSubmit(context), taskList(context), taskGet(context), taskEdit(context), ...taskCalls(context)]
  const task = group(
    'task',
    'submit tasks, list them, look at them, explain them, edit, cancel and retry them, one by one or many',
    [...onTasks, taskRuns(context), taskExplain(context), taskLogs(context), taskBulk(context)],
  )
  const dlq = group('dlq', 'look at the dead letters, by their errors; retry and discard them', dlqCommands(context))
  const cron = group('cron', 'define recurring tasks, list, preview, pause and trigger them; import a crontab', [
    cronCreate(context),
    cronUpdate(context),
    ...cronCalls(context),
    cronImport(context),
  ])
  const workflow = group(
    'workflow',
    'submit graphs of tasks, draw them, cancel and retry them',
    workflowCommands(context),
  )
  const queue = group('queue', 'look at queues; pause, resume and purge them', queueCommands(context))
  const key = group('key', 'make, list and revoke API keys', keyCommands(context))
  for (const make of [dev, serve]) program.addCommand(make(context, server))
  for (const command of [
    worker(context),
    task,
    dlq,
    workflow,
    cron,
    queue,
    stats(context),
    cluster(context),
    key,
    migrate(context),
    config(context, server),
  ])
    program.addCommand(command)
  prepare(program, context.terminal)
  return program
}

/** Commands under one word. */
function group(name: string, summary: string, commands: readonly Command[]): Command {
  const made = new Command(name).description(summary)
  for (const command of commands) made.addCommand(command)
  return made.addHelpText('after', `\n${helpHint(`duly ${name} ${commands[0]?.name()}`)}`)
}

const helpHint = (example: string): string => `Each has --help with its options and an example: ${example} --help`

function ownVersion(): string {
  const manifest: { version: string } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return manifest.version
}

/** Every command writes to our terminal, and throws instead of ending the process. */
function prepare(command: Command, terminal: Terminal): void {
  command.exitOverride().configureOutput({
    writeOut: terminal.out,
    writeErr: terminal.err,
    outputError: (text, write) => write(`${text}${unquotedHint(command, text)}`),
    getOutHelpWidth: () => terminal.width,
    getErrHelpWidth: () => terminal.width,
  })
  command.showHelpAfterError('Add --help for the options and an example.')
  refuseRepeats(command)
  for (const child of command.commands) prepare(child, terminal)
}

/** An expression without quotes is five words, or more where the shell put the names of files in place of a star. */
function unquotedHint({ registeredArguments }: Command, text: string): string {
  const takesExpression = registeredArguments.some((argument) => argument.name() === 'expression')
  if (!takesExpression || !text.includes('too many arguments')) return ''
  return "Quote the expression: '0 9 * * 1-5'.\n"
}

/** Leaves it to `runCli` to tell what is wrong, as JSON. */
function muteErrors(command: Command): void {
  command.configureOutput({ outputError: () => {} }).showHelpAfterError(false)
  for (const child of command.commands) muteErrors(child)
}

const usageOf = ({ message }: CommanderError): Failure => ({ exit: 'usage', message: message.replace(/^error: /, '') })

/**
 * `duly help task submit`, as `duly task submit --help`: Commander itself looks at the first word only.
 * @throws what ends a help; CliError for a word that names no command
 */
function showHelpOf(words: readonly string[], program: Command): never {
  let command: Command = program
  for (const word of words) {
    const child = command.commands.find((each) => each.name() === word)
    if (!child)
      throw new CliError(
        'usage',
        `there is no command \`duly ${words.join(' ')}\``,
        '`duly help` shows which there are.',
      )
    command = child
  }
  return command.help()
}

/** Runs one command line and returns its exit code. Never throws. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<number> {
  let code: number = exitCode('ok')
  let ran: Command | undefined
  const asJson = args.includes('--json')
  const setExit = (next: number) => {
    code = next
  }
  try {
    const asksHelp = args[0] === 'help'
    const words = asksHelp ? args.slice(1).filter((word) => !word.startsWith('-')) : args
    const server = SERVER_COMMANDS.includes(words[0] ?? '') ? await import('@duly/server') : undefined
    const program = buildProgram({ terminal, setExit }, server)
    if (asJson) muteErrors(program)
    if (asksHelp) showHelpOf(words, program)
    program.hook('preAction', (_, action) => {
      ran = action
    })
    await program.parseAsync([...args], { from: 'user' })
    return code
  } catch (error) {
    // Help and version come this way too, with 0.
    if (error instanceof CommanderError && error.exitCode === 0) return exitCode('ok')
    // Commander has told it already, but for programs.
    if (error instanceof CommanderError && !asJson) return exitCode('usage')
    const failure = error instanceof CommanderError ? usageOf(error) : explainFailure(error, ran)
    terminal.err(renderFailure(failure, asJson))
    return exitCode(failure.exit)
  }
}
