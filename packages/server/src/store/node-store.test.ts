import { beforeAll, beforeEach, expect, test } from 'vitest'
import { openTestStore } from '../testing/test-node.js'
import { NodeStore } from './node-store.js'

const store = await openTestStore()
const { node } = store
let nodes: NodeStore
beforeAll(async () => {
  nodes = new NodeStore(node.database)
})
beforeEach(() => node.query('truncate nodes'))

const join = async () => {
  const id = node.minter.mint()
  return { id, number: await nodes.join(id, ['api'], '1.0.0') }
}
const unseenFor = (id: string, seconds: number) =>
  node.query(`update nodes set seen_at = now() - $2 * interval '1 s' where id = $1`, [id, seconds])

test('20 nodes that join at once have 20 numbers, from 0 without a gap', async () => {
  const joined = await Promise.all(Array.from({ length: 20 }, join))
  expect(joined.map(({ number }) => number).sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n))
})

test('the number of a node that left or was not seen for a minute is given again, others are not', async () => {
  const [a, b, c] = [await join(), await join(), await join()]
  await nodes.leave(b.id)
  expect((await join()).number).toBe(1)
  await unseenFor(a.id, 59)
  expect((await join()).number).toBe(3)
  await unseenFor(c.id, 61)
  expect((await join()).number).toBe(2)
})

test('a node that was forgotten comes back under its number, or under another if that is taken', async () => {
  const a = await join()
  await nodes.leave(a.id)
  await nodes.seen(a.id, a.number, ['api'])
  expect(await node.query('select id, number from nodes')).toEqual([a])
  await nodes.leave(a.id)
  const heir = await join()
  expect(heir.number).toBe(a.number)
  await nodes.seen(a.id, a.number, ['api'])
  expect(await node.query('select id, number from nodes order by number')).toEqual([heir, { ...a, number: 1 }])
  expect(await nodes.seen(heir.id, heir.number, ['api'])).toBe(1)
})

test('others are those seen in the last 10 s', async () => {
  const [a, b, c] = [await join(), await join(), await join()]
  expect(await nodes.seen(a.id, a.number, ['api'])).toBe(2)
  await unseenFor(b.id, 11)
  expect(await nodes.seen(a.id, a.number, ['api'])).toBe(1)
  await nodes.leave(c.id)
  expect(await nodes.seen(a.id, a.number, ['api'])).toBe(0)
})

test('a fact is what the first of many said', async () => {
  const values = await Promise.all(Array.from({ length: 20 }, (_, n) => nodes.fact('partitions', String(n))))
  expect(new Set(values).size).toBe(1)
  expect(await nodes.fact('partitions', 'other')).toBe(values[0])
})
