import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { afterAll, expect, it } from 'vitest'
import { createDatabase } from '../support/database.js'
import { startServer } from '../support/processes.js'
import { startNode } from '../support/test-process.js'

const folder = await mkdtemp(join(tmpdir(), 'duly-pipeline-test-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

it('the pipeline builds for real: a task is retried, a branch fails and is cleaned up, and the workflow succeeds', async () => {
  const { url } = await startServer({ databaseUrl: (await createDatabase()).url })
  const script = fileURLToPath(new URL('../../examples/pipeline/run.mjs', import.meta.url))
  const run = startNode([script, folder], { name: 'pipeline', env: { DULY_URL: url } })
  const { code } = await run.exited
  if (code !== 0) throw new Error(run.describe(`ended with ${code}`))

  const rows = run.output.filter((line) => /^[A-Z]+ /.test(line)).map((line) => line.replace(/ +/, ' '))
  expect(rows).toHaveLength(30)
  expect(rows.filter((row) => !/^SUCCEEDED [\w-]+$/.test(row)).sort()).toEqual([
    'FAILED preview: the preview host has no room left',
    'SUCCEEDED integrate, attempt 2',
  ])

  const dist = join(folder, 'dist')
  const bundle = await readFile(join(dist, 'tinytext.mjs'))
  expect(gunzipSync(await readFile(join(dist, 'tinytext.mjs.gz')))).toEqual(bundle)
  const { slug } = await import(/* @vite-ignore */ pathToFileURL(join(dist, 'tinytext.mjs')).href)
  expect(slug('Crème Brûlée')).toBe('creme-brulee')
  expect(await readdir(folder)).not.toContain('preview')
  const report = JSON.parse(await readFile(join(folder, 'report.json'), 'utf8'))
  expect(report.statuses).toEqual({
    checksum: 'SUCCEEDED',
    announce: 'SUCCEEDED',
    preview: 'FAILED',
    'clean-up': 'SUCCEEDED',
  })
  expect(await readFile(join(folder, 'RELEASE.md'), 'utf8')).toBe(`tinytext: 6 functions, sha256 ${report.sha256}\n`)
})
