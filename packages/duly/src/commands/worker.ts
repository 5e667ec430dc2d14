import { once } from 'node:events'
import type { Worker } from '@duly/sdk'
import type { Command } from 'commander'
import { exitCode } from '../cli/exit-codes.js'
import { type LineLog, lineLog } from '../run/line-log.js'
import { loadWorker } from '../run/load-worker.js'
import { runUntilSignal } from '../run/run-until-signal.js'
import { type ClientOptions, type Context, clientCommand, withClient } from './command.js'
import { fleetCommands } from './fleet.js'

const EXAMPLE = 'duly worker examples/worker.mjs --url http://127.0.0.1:7070'

const PARENT = process.ppid
/** A server that has not answered by then is worth a word. */
const PATIENCE_MS = 3_000

/** `duly worker <file>`, and beside it the commands on workers that run elsewhere. A file of such a name is given as `./list`. */
export function worker(context: Context): Command {
  const command = clientCommand('worker', "run a worker file's handlers until SIGTERM or a drain, then leave", EXAMPLE)
    .argument('<file>', 'module that exports a Worker, or a function (duly) => Worker')
    .action((file: string, options: ClientOptions) =>
      withClient(options, async (duly) => {
        const log = lineLog(context.terminal, { name: 'worker', asJson: options.json === true })
        const loaded = await loadWorker(file, duly)
        if (!(await runWorker(loaded, { log, file, url: duly.options.url }))) context.setExit(exitCode('failed'))
      }),
    )
  for (const each of fleetCommands(context)) command.addCommand(each)
  return command
}

interface RunContext {
  readonly log: LineLog
  readonly file: string
  readonly url: string
}

/** True if it was stopped with nothing left undone. */
async function runWorker(loaded: Worker, context: RunContext): Promise<boolean> {
  const { log, file, url } = context
  tellEvents(loaded, log)
  let isClean = false
  const stop = async () => {
    // With `duly dev` its server has died: nobody is left to take what a handler would still finish.
    const isOrphan = process.connected !== undefined && process.ppid !== PARENT
    const summary = await loaded.stop(isOrphan ? { graceMs: 0 } : {})
    isClean = summary.isClean
    if (!isClean)
      log.warn('not everything was finished or given back: those tasks run again when their lease is over', summary)
  }
  const stopped = await runUntilSignal({
    starters: [async () => ({ name: 'the worker', stop })],
    // only now: whoever stops it at this line finds it listening to signals
    onReady: () => log.info(`${file} works for ${url}`),
    log: log.info,
    until: Promise.race([parentGone(), untilDrained(loaded, context)]),
  })
  return stopped && isClean
}

function tellEvents(loaded: Worker, log: LineLog): void {
  loaded.on('registered', (workerId) => log.info(`registered as ${workerId}`))
  loaded.on('session_lost', (workerId, reason) => log.warn(`${workerId} is over (${reason}): registering anew`))
  loaded.on('denied', (message) => log.warn(message))
  loaded.on('stuck', (task) => log.warn('a handler ignores its signal; its slot stays taken', task))
  loaded.on('outage', (message) => log.warn(message))
  loaded.on('recovered', (message) => log.info(message))
  loaded.on('drained', (workerId) => log.info(`the server drains ${workerId}: finishing what runs, then leaving`))
  loaded.on('refused', (taskId, code) => log.warn(`the outcome of ${taskId} was not taken: ${code}`))
}

/**
 * Starts it, which may take as long as the server is away, and waits until the server drains it.
 * @throws the server's refusal
 */
async function untilDrained(loaded: Worker, { log, url }: RunContext): Promise<string> {
  const stopped = once(loaded, 'stopped')
  const impatience = setTimeout(() => log.warn(`${url} has not answered yet; waiting for it`), PATIENCE_MS)
  loaded.once('outage', () => clearTimeout(impatience))
  await loaded.start().finally(() => clearTimeout(impatience))
  await stopped
  return 'drained by the server'
}

/**
 * Under `duly dev`: the channel to it closes when it wants us to stop, and when it dies, be it before we got as far as this.
 * Without such a parent (`connected` is undefined) it never settles.
 */
function parentGone(): Promise<string> {
  return new Promise((resolve) => {
    if (process.connected === undefined) return
    if (!process.connected) return resolve('the parent is gone')
    process.once('disconnect', () => resolve('the parent is done'))
    process.channel?.unref() // the channel alone must not keep a worker alive that has been stopped
  })
}
