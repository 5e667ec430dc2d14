import type { Uuid } from '@duly/domain'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { DeadLetter, DeadLetterFilters } from '../model.js'
import { expectSound, trailOf } from '../testing/facts.js'
import { say, startLife, words } from '../testing/lives.js'
import { newTask, openTestStore } from '../testing/test-node.js'
import { DeadLetters } from './dead-letters.js'

const { node } = await openTestStore()
const dlq = new DeadLetters({ store: node.stores.deadLetters, tasks: node.tasks })
const actor = { kind: 'api', name: 'tester' } as const
const none: DeadLetterFilters = { queue: null, taskType: null, tenant: null, errorClass: null, fingerprint: null }

interface Death {
  readonly message?: string
  readonly errorClass?: string
  readonly tenant?: string
  readonly taskType?: string
  readonly queue?: string
}

/** A task that dies of its only attempt. */
async function die({ message = 'after 3 s', errorClass = 'Boom', queue = 'mail', ...over }: Death = {}): Promise<Uuid> {
  const life = await startLife(node, { maxRetries: 0 })
  const { tenant = 'acme', taskType = 'work' } = over
  for (const table of ['tasks', 'open_tasks']) {
    await node.query(`update ${table} set tenant = $2, task_type = $3, queue = $4 where id = $1`, [
      ...[life.id, tenant, taskType, queue],
    ])
  }
  const error = { class: errorClass, message, stack: null }
  await say(node, life, { ...words.retry, error } as typeof words.retry)
  return life.id
}

async function crawl(
  filters: Partial<DeadLetterFilters>,
  tenant: string | null = null,
  limit = 2,
): Promise<DeadLetter[]> {
  const all: DeadLetter[] = []
  for (let after: string | null = null; ; ) {
    const page = await dlq.list({ ...none, ...filters }, tenant, { after, limit })
    all.push(...page.items)
    if (page.next === null) return all
    after = page.next
  }
}

const clear = () =>
  node.query(
    'truncate tasks, open_tasks, outcomes, dead_letters, dead_letter_counts, failed_attempts, task_events, counters, runs',
  )
const ids = (items: readonly { readonly id: Uuid }[]) => items.map(({ id }) => id)

describe('a list of dead letters', () => {
  let letters: DeadLetter[]
  beforeAll(async () => {
    await clear()
    for (let n = 0; n < 12; n++) {
      await die({
        message: `user ${n} of "${n}"`,
        errorClass: n % 2 ? 'Odd' : 'Even',
        tenant: n % 3 ? 'acme' : 'rival',
        taskType: n % 4 ? 'send' : 'fetch',
        queue: n < 6 ? 'mail' : 'web',
      })
    }
    letters = await crawl({}, null, 500)
  })

  test('tells what is the matter with each, the latest first', () => {
    expect(letters).toHaveLength(12)
    expect(letters.map(({ diedAtMs }) => diedAtMs)).toEqual(
      letters.map(({ diedAtMs }) => diedAtMs).sort((a, b) => b - a),
    )
    expect(letters[0]).toMatchObject({
      ...{ tenant: 'acme', taskType: 'send', queue: 'web', attempts: 1, failures: 1, crashes: 0 },
      ...{ errorClass: 'Odd', errorMessage: 'user 11 of "11"', errorPattern: 'user <n> of <text>' },
    })
  })

  const fits = (letter: DeadLetter, filters: Partial<DeadLetterFilters>) =>
    Object.entries(filters).every(([name, value]) => letter[name as keyof DeadLetter] === value)

  test.each<Partial<DeadLetterFilters>>([
    {},
    { queue: 'mail' },
    { taskType: 'fetch' },
    { tenant: 'rival' },
    { tenant: 'acme', queue: 'web' },
    { errorClass: 'Odd' },
    { errorClass: 'Odd', queue: 'mail', taskType: 'send', tenant: 'acme' },
    { queue: 'nobody-has-this' },
  ])('page by page meets each that fits %j once', async (filters) => {
    expect(ids(await crawl(filters))).toEqual(ids(letters.filter((letter) => fits(letter, filters))))
  })

  test('is of a group by its fingerprint, which is of nothing else', async () => {
    for (const { fingerprint, queue, taskType, errorClass, tenant } of letters) {
      const group = letters.filter((letter) => fits(letter, { queue, taskType, errorClass }))
      expect(ids(await crawl({ fingerprint }))).toEqual(ids(group))
      expect(ids(await crawl({ fingerprint, tenant }))).toEqual(ids(group.filter((letter) => letter.tenant === tenant)))
    }
  })

  test('is of the tenant that a caller is bound to', async () => {
    expect(ids(await crawl({}, 'rival'))).toEqual(ids(letters.filter(({ tenant }) => tenant === 'rival')))
    await expect(crawl({ tenant: 'acme' }, 'rival')).rejects.toMatchObject({ code: 'forbidden' })
  })

  test('goes on below its place while others die and leave', async () => {
    const first = await dlq.list(none, null, { after: null, limit: 5 })
    await die()
    await dlq.discard(first.items[0]?.id as Uuid, null, actor)
    const rest = await dlq.list(none, null, { after: first.next, limit: 500 })
    expect(ids([...first.items, ...rest.items])).toEqual(ids(letters))
  })
})

describe('the summary', () => {
  beforeEach(clear)
  const summary = (over = {}, tenant: string | null = null, limit = 50) =>
    dlq.summary({ queue: null, taskType: null, tenant: null, ...over }, tenant, limit)
  const told = async (...args: Parameters<typeof summary>) =>
    (await summary(...args)).items.map(
      ({ queue, taskType, errorClass, errorPattern, letters }) =>
        `${letters} ${queue} ${taskType} ${errorClass}: ${errorPattern}`,
    )

  test('puts together what differs in numbers, ids and names alone', async () => {
    for (let n = 0; n < 5; n++) await die({ message: `no answer from 10.0.0.${n} for "user ${n}" in ${n}.5 s` })
    for (let n = 0; n < 2; n++) await die({ message: `no such user: ${n}` })
    await die({ message: 'no such user: 1', errorClass: 'Other' })
    await die({ message: 'no such user: 1', taskType: 'fetch' })
    await die({ message: 'no such user: 1', queue: 'web' })
    expect(await told()).toEqual(
      [
        '5 mail work Boom: no answer from <n> for <text> in <n> s',
        '2 mail work Boom: no such user: <n>',
        '1 mail fetch Boom: no such user: <n>',
        '1 mail work Other: no such user: <n>',
        '1 web work Boom: no such user: <n>',
      ].sort((a, b) => Number(b[0]) - Number(a[0])),
    )
    expect(await summary({}, null, 1)).toMatchObject({
      letters: 10,
      groups: 5,
      isComplete: true,
      items: [{ letters: 5 }],
    })
    expect(await told({ queue: 'web' })).toHaveLength(1)
    expect(Object.fromEntries(await node.stores.deadLetters.byQueue())).toEqual({ mail: 9, web: 1 })
    expect(await told({ taskType: 'fetch' })).toHaveLength(1)
  })

  test('names the oldest, the newest and one of them', async () => {
    const made = [await die(), await die(), await die()]
    const { items } = await summary()
    const letters = await crawl({})
    expect(items).toMatchObject([
      { letters: 3, sampleId: made[2], oldestAtMs: letters[2]?.diedAtMs, newestAtMs: letters[0]?.diedAtMs },
    ])
  })

  test("is over all tenants for who may see them, and of its own for who is bound: another's text is not told", async () => {
    await die({ tenant: 'acme' })
    await die({ tenant: 'acme' })
    const rivals = await die({ tenant: 'rival' })
    expect(await told()).toEqual(['3 mail work Boom: after <n> s'])
    expect(await told({}, 'acme')).toEqual(['2 mail work Boom: after <n> s'])
    expect((await summary({}, 'rival')).items).toMatchObject([{ letters: 1, sampleId: rivals }])
    expect(await summary({ tenant: 'nobody' })).toMatchObject({ letters: 0, groups: 0, items: [] })
    await expect(summary({ tenant: 'acme' }, 'rival')).rejects.toMatchObject({ code: 'forbidden' })
  })

  test('follows letters that leave, by retry and by discard', async () => {
    const [first, second] = [await die(), await die(), await die()]
    await dlq.retry(first as Uuid, null, actor)
    expect(await told()).toEqual(['2 mail work Boom: after <n> s'])
    await dlq.discard(second as Uuid, null, actor)
    expect(await told()).toEqual(['1 mail work Boom: after <n> s'])
    await expectSound(node, /dead letters/)
  })

  test('counts what a node of the version before buried once it is filled in', async () => {
    await die()
    await die({ tenant: 'rival' })
    await node.query('update dead_letters set fingerprint = null, error_pattern = null, pattern_rules = 1')
    await node.query('truncate dead_letter_counts')
    expect(await told()).toEqual([])
    expect(await crawl({})).toHaveLength(2)
    expect(await node.stores.deadLetters.fill(1)).toBe(true)
    while (await node.stores.deadLetters.fill(1)) {}
    expect(await told()).toEqual(['2 mail work Boom: after <n> s'])
    await expectSound(node, /dead letters/)
  })

  test('gives letters with patterns by older rules those of today, and moves their counts', async () => {
    await die()
    await die()
    const older = `update dead_letters set error_pattern = 'older', fingerprint = 'older', pattern_rules = 1
      where task_id = (select min(task_id::text)::uuid from dead_letters) returning fingerprint`
    await node.query(older)
    await node.query(`update dead_letter_counts set letters = letters - 1`)
    await node.query(
      `insert into dead_letter_counts select tenant, queue, task_type, 'older', slot, 1 from dead_letter_counts`,
    )
    expect(await told()).toHaveLength(2)
    await node.stores.deadLetters.fill(10)
    expect(await told()).toEqual(['2 mail work Boom: after <n> s'])
    expect(await node.stores.deadLetters.fill(10)).toBe(false)
    await node.query(`update dead_letters set pattern_rules = 1`)
    await node.stores.deadLetters.fill(10)
    expect(await told()).toEqual(['2 mail work Boom: after <n> s'])
    await expectSound(node, /dead letters/)
  })
})

describe('a dead letter', () => {
  beforeEach(clear)

  test('that is retried runs again with its retries restored, and is none any more', async () => {
    const id = await die()
    expect(await dlq.retry(id, null, actor)).toMatchObject({ status: 'PENDING', failures: 0 })
    expect(await crawl({})).toEqual([])
    await expect(dlq.retry(id, null, actor)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('that is discarded leaves its record, marked, with a word in its trail', async () => {
    const id = await die()
    await dlq.discard(id, null, actor)
    const record = await node.tasks.get(id, null)
    expect(record.status).toBe('DEAD')
    expect(record.discardedAtMs).toBeGreaterThanOrEqual(record.completedAtMs ?? 0)
    expect((await trailOf(node, id)).at(-1)).toBe('discard DEAD>DEAD @- api')
    expect(await crawl({})).toEqual([])
    await expect(dlq.discard(id, null, actor)).rejects.toMatchObject({ code: 'not_found' })
    await expect(node.tasks.replay(id, null, actor)).rejects.toThrow('was discarded, for good')
    await expectSound(node, /dead letters/)
  })

  test("of another tenant's is as if it did not exist", async () => {
    const id = await die({ tenant: 'acme' })
    await expect(dlq.retry(id, 'rival', actor)).rejects.toMatchObject({ code: 'not_found' })
    await expect(dlq.discard(id, 'rival', actor)).rejects.toMatchObject({ code: 'not_found' })
    expect(await crawl({})).toHaveLength(1)
    await dlq.discard(id, 'acme', actor)
  })

  test('is discarded once by many at once', async () => {
    const id = await die()
    const landed = await Promise.allSettled(Array.from({ length: 10 }, () => dlq.discard(id, null, actor)))
    expect(landed.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect((await trailOf(node, id)).filter((step) => step.startsWith('discard'))).toHaveLength(1)
    await expectSound(node, /dead letters/)
  })

  test('is retried or discarded, never both', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => die()))
    await Promise.allSettled(made.flatMap((id) => [dlq.retry(id, null, actor), dlq.discard(id, null, actor)]))
    for (const id of made) {
      const { status, discardedAtMs } = await node.tasks.get(id, null)
      expect([status, discardedAtMs !== null]).toEqual(status === 'DEAD' ? ['DEAD', true] : ['PENDING', false])
    }
    await expectSound(node, /dead letters|open or finished|counters/)
  })

  test('is no task that lives, succeeded or was cancelled', async () => {
    const { id } = await node.intake.submit(newTask())
    await expect(dlq.discard(id, null, actor)).rejects.toMatchObject({ code: 'not_found' })
    await expect(dlq.retry(id, null, actor)).rejects.toMatchObject({ code: 'not_found' })
    await node.tasks.cancel(id, null, actor)
    await expect(dlq.retry(id, null, actor)).rejects.toMatchObject({ code: 'not_found' })
  })
})
