// npm run generate: writes the pages of docs/reference/ from the code. With --check: compares, and writes nothing.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { bootstrap, main, root } from './bootstrap.mjs'

/**
 * Which function renders which page. The packages are imported by name: the tests see the sources, the script the build.
 *
 * @type {Readonly<Record<string, () => Promise<string>>>}
 */
const pages = {
  'task-states.md': async () => (await import('@duly/domain')).renderTaskStates(),
  'workflows.md': async () => (await import('@duly/domain')).renderWorkflows(),
  'limits.md': async () => (await import('@duly/domain')).renderLimits(),
  'bulk.md': async () => (await import('@duly/contract')).renderBulkReference(),
  'causes.md': async () => (await import('@duly/domain')).renderCauses(),
  'errors.md': async () => (await import('@duly/domain')).renderErrors(),
  'http.md': async () => (await import('@duly/contract')).renderHttpReference(),
  'metrics.md': async () => (await import('@duly/server')).renderMetrics(),
  'configuration.md': async () => (await import('@duly/server')).renderConfiguration(),
  // Of the build also in tests: the command line is not among the packages that they see as sources.
  'command-line.md': async () => (await import('duly/reference')).renderCommandLine(),
}

/**
 * Every generated page as it must be, path from the root → text.
 *
 * @returns {Promise<Map<string, string>>}
 */
export async function generatedPages() {
  const rendered = new Map()
  for (const [name, render] of Object.entries(pages)) rendered.set(`docs/reference/${name}`, await render())
  return rendered
}

/**
 * Pages that are missing or are not what the code says.
 *
 * @returns {Promise<string[]>}
 */
export async function stalePages() {
  const rendered = await generatedPages()
  return [...rendered].filter(([path, text]) => readOrNull(join(root, path)) !== text).map(([path]) => path)
}

/** @param {string} file */
function readOrNull(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

await main(import.meta.url, async () => {
  await bootstrap({ quiet: true })
  if (process.argv.includes('--check')) {
    const stale = await stalePages()
    if (stale.length > 0) throw new Error(`Not as the code says: ${stale.join(', ')}. Run \`npm run generate\`.`)
    return
  }
  mkdirSync(join(root, 'docs', 'reference'), { recursive: true })
  for (const [path, text] of await generatedPages()) {
    writeFileSync(join(root, path), text)
    console.log(path)
  }
})
