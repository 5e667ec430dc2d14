// Runs the pipeline once, with a worker in this process: node examples/pipeline/run.mjs [folder]
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Duly, Worker } from '@duly/sdk'
import { pipeline } from './pipeline.mjs'
import { handleSteps } from './steps.mjs'

const folder = process.argv[2] ?? (await mkdtemp(join(tmpdir(), 'tinytext-')))
const source = fileURLToPath(new URL('project', import.meta.url))

const duly = new Duly()
const worker = handleSteps(new Worker(duly, { queues: ['builds'], slots: 4 }))
await worker.start()
try {
  const handle = await pipeline(duly, { folder, source }).submit()
  console.log(`${handle.id} builds in ${folder}`)
  const { graph, criticalPath } = await handle.result({ timeout: '2m' })
  for (const { name, status, attempts, error } of graph) {
    console.log(
      `${status.padEnd(10)} ${name}${attempts > 1 ? `, attempt ${attempts}` : ''}${error ? `: ${error.message}` : ''}`,
    )
  }
  console.log(`longest way: ${criticalPath.nodes.join(' → ')}, ${criticalPath.durationMs} ms`)
} finally {
  await worker.stop()
  duly.close()
}
