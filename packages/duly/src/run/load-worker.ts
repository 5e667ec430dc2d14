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
  try {
    const module = await import(pathToFileURL(path).href)
    const exported: unknown = module.default ?? module.worker
    const made: unknown =
      typeof exported === 'function' && !(exported instanceof Worker) ? await exported(duly) : exported
    if (isWorker(made)) return made
  } catch (error) {
    throw await explainLoadFailure(file, path, error)
  }
  throw new CliError('usage', `${file} exports no worker`, FORM)
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
