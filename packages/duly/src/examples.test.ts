import { readFile, stat } from 'node:fs/promises'
import { expect, it } from 'vitest'

const examples = new URL('../../../examples/', import.meta.url)

it('make-tasks.mjs writes nothing when it is imported, and makes the tasks that are there', async () => {
  const file = new URL('tasks.jsonl', examples)
  const before = await stat(file, { bigint: true })
  const module: { lines(): readonly string[] } = await import(new URL('make-tasks.mjs', examples).href)
  expect(`${module.lines().join('\n')}\n`).toBe(await readFile(file, 'utf8'))
  expect((await stat(file, { bigint: true })).mtimeNs).toBe(before.mtimeNs)
})
