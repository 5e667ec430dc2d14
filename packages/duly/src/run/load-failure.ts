import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { CliError } from '../cli/cli-error.js'

const REMEDY = 'Give a JavaScript module (.mjs, or .js) that exports a Worker; TypeScript has to be compiled first.'

/** Codes of Node for what cannot be a module at all: another kind of file, JSON, a folder. */
const NO_MODULE = /^ERR_(?:UNKNOWN_FILE_EXTENSION|IMPORT_A\w+|UNSUPPORTED_DIR_IMPORT|UNKNOWN_MODULE_FORMAT)$/

/** What to tell of a file that could not be imported: one line, with the place in it that is wrong where that is known. */
export async function explainLoadFailure(file: string, path: string, error: unknown): Promise<CliError> {
  if (!(error instanceof Error)) return new CliError('failed', `${file} threw ${String(error)} when it was loaded`)
  const code = 'code' in error ? String(error.code) : ''
  if (NO_MODULE.test(code)) return new CliError('usage', `${file} is no JavaScript module`, REMEDY)
  if (code === 'ERR_MODULE_NOT_FOUND') return new CliError('usage', `${file} could not be loaded: ${error.message}`)
  if (error instanceof SyntaxError && isOfLoader(error)) return syntaxFailure(file, path, error)
  return new CliError('failed', `${file} failed when it was loaded: ${ownStack(error)}`)
}

/** Thrown by Node's loader, and not by code of the file (`JSON.parse`). */
function isOfLoader({ stack = '' }: Error): boolean {
  return ownFrames(stack).length === 0
}

async function syntaxFailure(file: string, path: string, error: SyntaxError): Promise<CliError> {
  const linked = /^(file:\/\/\S+):(\d+)$/m.exec(error.stack ?? '')
  const place = linked ? `${fileURLToPath(linked[1] ?? '')}:${linked[2]}` : await placeOfSyntaxError(path)
  const where = place === undefined ? `${file}, or a file that it imports,` : place
  return new CliError('usage', `${where} is not valid JavaScript: ${error.message}`)
}

/** The loader's error does not say where; only Node's check of a single file does: `path:line` on its first line. */
function placeOfSyntaxError(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--check', path], (failed, _, err) => {
      const [, at, line] = /^(\S.*):(\d+)$/m.exec(failed === null ? '' : err) ?? []
      resolve(at === undefined ? undefined : `${at.startsWith('file:') ? fileURLToPath(at) : at}:${line}`)
    })
  })
}

/** The folder of this program: from here on a stack tells how it came to load the file. */
const PROGRAM = pathToFileURL(dirname(import.meta.dirname)).pathname

/** The places in files of the user's, the innermost first. */
function ownFrames(stack: string): readonly string[] {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line) && !/\(?node:/.test(line))
  const end = frames.findIndex((line) => line.includes(PROGRAM))
  return end < 0 ? frames : frames.slice(0, end)
}

function ownStack(error: Error): string {
  return [`${error.name}: ${error.message}`, ...ownFrames(error.stack ?? '')].join('\n')
}
