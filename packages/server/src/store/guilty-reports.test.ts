import { afterEach, expect, test } from 'vitest'
import { expectSound, statusOf } from '../testing/facts.js'
import { say, startLife, words } from '../testing/lives.js'
import { openTestStore } from '../testing/test-node.js'

const store = await openTestStore()
const { node } = store
afterEach(() => expectSound(node))

const result = (text: string) => ({ outcome: 'succeeded', result: text }) as never

test('a result that the store refuses fails alone among 40', async () => {
  const lives = await Promise.all(Array.from({ length: 40 }, () => startLife(node)))
  const answers = await Promise.all(lives.map((life, n) => say(node, life, result(n === 13 ? '"\u0000"' : '1'))))
  expect(answers.map((answer) => answer?.accepted)).toEqual(lives.map((_, n) => n !== 13))
  const [guilty] = lives.slice(13)
  // its attempt is still its worker's
  expect(guilty && (await say(node, guilty, words.fail))).toMatchObject({ accepted: true, status: 'FAILED' })
})

test('reports that meet a full disk beside a guilty one are not called lost', async () => {
  await node.query(`create function fill_up() returns trigger language plpgsql as $$
    begin raise exception 'disk full' using errcode = '53100'; end $$`)
  await node.query(`create trigger fill_up before insert on outcomes for each row when (new.result = '"large"')
    execute function fill_up()`)
  const lives = await Promise.all([1, 2, 3, 4].map(() => startLife(node)))
  const texts = ['1', '"\u0000"', '2', '"large"']
  const all = () => Promise.allSettled(lives.map((life, n) => say(node, life, result(texts[n] ?? ''))))
  for (const answer of await all()) expect(answer).toMatchObject({ reason: { code: 'store_unavailable' } })
  await node.query('drop trigger fill_up on outcomes')
  // repeated, each is answered for itself, those of the first time included
  expect(await all()).toMatchObject([true, false, true, true].map((accepted) => ({ value: { accepted } })))
  expect(await Promise.all(lives.map(({ id }) => statusOf(node, id)))).toEqual([
    ...['SUCCEEDED', 'RUNNING', 'SUCCEEDED', 'SUCCEEDED'],
  ])
})
