// The steps of the pipeline: what each task does, with real files and real child processes.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { defineTask, PermanentError } from '@duly/sdk'

/**
 * Every step works in a folder of its run.
 *
 * @typedef {{ readonly folder: string, readonly module?: string, readonly source?: string }} Step
 * @typedef {import('@duly/sdk').TaskContext} Context
 */

const run = promisify(execFile)

/** @param {string} file @param {AbortSignal} signal */
const node = async (file, signal, ...options) => (await run(process.execPath, [...options, file], { signal })).stdout

/** @param {string} path */
const exists = (path) =>
  access(path).then(
    () => true,
    () => false,
  )

/** @type {Readonly<Record<string, (step: any, context: any) => Promise<unknown>>>} */
const handlers = {
  /** Copies the sources, as a checkout would. */
  async checkout({ folder, source }) {
    await cp(source, join(folder, 'src'), { recursive: true })
    const files = await readdir(join(folder, 'src'))
    return { files: files.length }
  },

  /** Whether a module is a program at all: `node --check`. */
  async lint({ folder, module }, { signal }) {
    await node(join(folder, 'src', `${module}.mjs`), signal, '--check')
  },

  /** Takes comments out. */
  async compile({ folder, module }) {
    const text = await readFile(join(folder, 'src', `${module}.mjs`), 'utf8')
    const compiled = text.replace(/\/\*\*[\s\S]*?\*\/\n/g, '')
    await mkdir(join(folder, 'build'), { recursive: true })
    await writeFile(join(folder, 'build', `${module}.mjs`), compiled)
    return { bytes: Buffer.byteLength(compiled) }
  },

  /** Runs the tests of a module. */
  async test({ folder, module }, { signal }) {
    await node(join(folder, 'src', `${module}.test.mjs`), signal, '--test')
  },

  /** One file with everything, from what the compiling tasks made. */
  async bundle({ folder }, { dependencies }) {
    let bytes = 0
    for await (const [, compiled] of dependencies.results()) bytes += compiled.bytes
    const files = (await readdir(join(folder, 'build'))).sort()
    const texts = await Promise.all(files.map((file) => readFile(join(folder, 'build', file), 'utf8')))
    await mkdir(join(folder, 'dist'), { recursive: true })
    await writeFile(join(folder, 'dist', 'tinytext.mjs'), texts.join(''))
    return { modules: files.length, bytes }
  },

  /** Flaky: its service is not up at the first attempt. The retry finds it. */
  async integrate({ folder }, { signal }) {
    const up = join(folder, 'service-is-up')
    if (!(await exists(up))) {
      await writeFile(up, '')
      throw new Error('connect ECONNREFUSED: the service is not up yet')
    }
    const url = JSON.stringify(new URL(`file://${join(folder, 'dist', 'tinytext.mjs')}`).href)
    const program = `import(${url}).then(({ slug, words }) => console.log(slug(words('It works!').join(' '))))`
    const { stdout } = await run(process.execPath, ['--eval', program], { signal })
    if (stdout.trim() !== 'it-works') throw new PermanentError(`the bundle answered ${stdout.trim()}`)
    return { answer: stdout.trim() }
  },

  /** The first sentence of each function. */
  async document({ folder }) {
    const sources = (await readdir(join(folder, 'src'))).filter((file) => /^[a-z]+\.mjs$/.test(file)).sort()
    const parts = await Promise.all(
      sources.map(async (file) => {
        const [, sentence = ''] = /\/\*\* (.*?) \*\//.exec(await readFile(join(folder, 'src', file), 'utf8')) ?? []
        return `- ${file.replace('.mjs', '')}: ${sentence}`
      }),
    )
    await writeFile(join(folder, 'REFERENCE.md'), `${parts.join('\n')}\n`)
    return { functions: parts.length }
  },

  /** Fails for good when the bundle is larger than anybody wants to load. */
  async measure(_, { dependencies }) {
    const { bytes } = await dependencies.result('bundle')
    if (bytes > 10_000) throw new PermanentError(`the bundle has ${bytes} bytes`)
    return { bytes }
  },

  /** Whether each module has its tests. */
  async audit({ folder }) {
    const files = await readdir(join(folder, 'src'))
    const modules = files.filter((file) => /^[a-z]+\.mjs$/.test(file))
    const untested = modules.filter((file) => !files.includes(file.replace('.mjs', '.test.mjs')))
    if (untested.length > 0) throw new PermanentError(`without tests: ${untested.join(', ')}`)
    return { modules: modules.length }
  },

  async archive({ folder }) {
    const packed = await promisify(gzip)(await readFile(join(folder, 'dist', 'tinytext.mjs')))
    await writeFile(join(folder, 'dist', 'tinytext.mjs.gz'), packed)
    return { bytes: packed.length }
  },

  async checksum({ folder }) {
    const hash = createHash('sha256').update(await readFile(join(folder, 'dist', 'tinytext.mjs.gz')))
    return { sha256: hash.digest('hex') }
  },

  /** What to tell about the release. */
  async announce({ folder }, { dependencies }) {
    const { sha256 } = await dependencies.result('checksum')
    const { functions } = await dependencies.result('document')
    const text = `tinytext: ${functions} functions, sha256 ${sha256}\n`
    await writeFile(join(folder, 'RELEASE.md'), text)
    return text.trim()
  },

  /** The branch that fails: it leaves half a preview behind and gives up for good. */
  async preview({ folder }) {
    await mkdir(join(folder, 'preview'), { recursive: true })
    await writeFile(join(folder, 'preview', 'index.html'), '<!doctype html><title>half')
    throw new PermanentError('the preview host has no room left')
  },

  /** Only runs when the preview failed, and takes the failure in: the workflow does not fail for it. */
  async cleanUp({ folder }) {
    await rm(join(folder, 'preview'), { recursive: true, force: true })
  },

  /** What became of everything, whatever became of it. */
  async report({ folder }, { dependencies }) {
    const sum = await dependencies.result('checksum')
    const statuses = Object.fromEntries(dependencies.statuses)
    await writeFile(join(folder, 'report.json'), `${JSON.stringify({ ...sum, statuses }, null, 2)}\n`)
    return { ...sum, statuses }
  },
}

/** The task types of the pipeline, by the names of their steps; retries after a tenth of a second. */
export const steps = Object.fromEntries(
  Object.keys(handlers).map((name) => [
    name,
    defineTask(`build:${name}`, { queue: 'builds', retry: { limit: 3, delay: '100ms', jitter: 'none' } }),
  ]),
)

/**
 * Has a worker run the steps.
 *
 * @param {import('@duly/sdk').Worker} worker
 */
export function handleSteps(worker) {
  for (const [name, handler] of Object.entries(handlers)) worker.handle(steps[name], handler)
  return worker
}
