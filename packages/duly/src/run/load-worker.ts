import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Duly, Worker } from '@duly/sdk'
import { CliError } from '../cli/cli-error.js'
import { explainLoadFailure } from './load-failure.js'

/** What a worker file exports, as `default` or as `worker`. */
const FORM = 'Export a Worker, or a function that makes one: `export default (duly) => new Worker(duly).handle(…)`.'

/**
 * Imports a worker file and returns its worker, made with our client if it exports a function.
 * @throws CliError that names the file, the line where it is wrong, and what it should export
 */
export async function loadWorker(file: string, duly: Duly): Promise<Worker> {
  const path = resolve(file)
  if (!existsSync(path))
    throw new CliError(
      'usage',
      `the file ${file} does not exist`,
      'Give the path from the current folder, or the full path.',
    )
  let made: unknown
  try {
    const module = await import(pathToFileURL(path).href)
    const exported: unknown = module.default ?? module.worker
    made = typeof exported === 'function' && !(exported instanceof Worker) ? await exported(duly) : exported
  } catch (error) {
    throw await explainLoadFailure(file, path, error)
  }
  if (isWorker(made)) return withHandlers(file, made)
  throw new CliError('usage', `${file} exports no worker`, FORM)
}

/** @throws CliError for a worker that would be told so by its start, after we said that it works */
function withHandlers(file: string, worker: Worker): Worker {
  // of another copy of the SDK it may not be known
  if ((worker.taskTypes as readonly string[] | undefined)?.length !== 0) return worker
  throw new CliError('usage', `the worker of ${file} has no handler, so it has nothing to do`, FORM)
}

/** By its form: the file may have another copy of the SDK than we do. */
function isWorker(value: unknown): value is Worker {
  return (
    typeof value === 'object' &&
    value !== null &&
    'start' in value &&
    'stop' in value &&
    typeof value.start === 'function'
  )
}
