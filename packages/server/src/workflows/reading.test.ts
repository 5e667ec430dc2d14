import { expect, test } from 'vitest'
import { openTestStore } from '../testing/test-node.js'
import { Graph, type NodeSpec, newWorkflow, whole } from '../testing/workflows.js'

const { node } = await openTestStore()

/** Layers of `width`, each node behind two of the layer before it, named last first. */
function layers(count: number, width: number): Record<string, NodeSpec> {
  const nodes = Array.from({ length: count }, (_, n): [string, NodeSpec] => {
    const layer = Math.floor(n / width)
    const parents = [1, 0].map((more) => `n${(layer - 1) * width + ((n + more) % width)}`)
    return [`n${n}`, layer === 0 ? {} : { after: parents }]
  })
  return Object.fromEntries(nodes.reverse())
}

test('a graph of many parts is read as it was given, in turns with others', async () => {
  const graph = layers(1_300, 100)
  const { id } = await node.workflows.submit(newWorkflow(graph))
  let turns = 0
  let isRead = false
  const others = (): void => {
    turns++
    if (!isRead) setImmediate(others)
  }
  others()
  const record = await node.workflows.read(id, null, whole)
  isRead = true
  expect(turns).toBeGreaterThan(5)
  const names = Object.keys(graph)
  expect(record.graph.map(({ name }) => name)).toEqual(names)
  for (const { name, dependencies } of record.graph) {
    const given = [...(graph[name]?.after ?? [])].sort((a, b) => names.indexOf(a) - names.indexOf(b))
    expect(dependencies, name).toEqual(given)
  }
})

test('one with more dependencies than nodes is fetched in smaller parts', async () => {
  const first = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`a${n}`, {}]))
  const second = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`b${n}`, { after: Object.keys(first) }]))
  const { id } = await node.workflows.submit(newWorkflow({ ...first, ...second }))
  const sizes = await node.workflows.read(id, null, async ({ parts }) => {
    const sizes: number[] = []
    for await (const part of parts) sizes.push(part.length)
    return sizes
  })
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(200)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(50)
})

test('all of it is of one instant, however long it is read', async () => {
  const graph = await Graph.submit(node, layers(600, 300))
  const statuses = await node.workflows.read(graph.id, null, async ({ workflow, parts }) => {
    const seen = new Set<string>()
    for await (const part of parts) {
      for (const { status } of part) seen.add(status)
      if (seen.size > 0) await node.workflows.cancel(graph.id, null, { kind: 'api' }).catch(() => {})
    }
    return [workflow.status, ...seen].sort()
  })
  expect(statuses).toEqual(['BLOCKED', 'PENDING', 'RUNNING'])
  expect(await graph.status()).toBe('CANCELLED')
})

test('large ones are read one at a time, and more than may wait are refused', async () => {
  const { id } = await node.workflows.submit(newWorkflow(layers(1_000, 100)))
  const small = await node.workflows.submit(newWorkflow({ a: {} }))
  let atOnce = 0
  let most = 0
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  // one is read, 32 wait, and one more is too many
  const reads = Array.from({ length: 34 }, () =>
    node.workflows.read(id, null, async () => {
      most = Math.max(most, ++atOnce)
      await held
      atOnce--
    }),
  )
  const refusal = new Promise((resolve) => {
    for (const read of reads) read.catch(resolve)
  })
  expect(await refusal).toMatchObject({ code: 'store_unavailable' })
  expect((await node.workflows.read(small.id, null, whole)).graph).toHaveLength(1)
  release()
  const ends = await Promise.allSettled(reads)
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(33)
  expect(most).toBe(1)
})
