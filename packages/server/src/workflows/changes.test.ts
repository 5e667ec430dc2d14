import { describe, expect, test } from 'vitest'
import { expectSound } from '../testing/facts.js'
import { words } from '../testing/lives.js'
import { openTestStore } from '../testing/test-node.js'
import { Graph, whole } from '../testing/workflows.js'

const { node } = await openTestStore()
const api = { kind: 'api', name: 'tester' } as const

const failing = (bad: string) => (name: string) => (name === bad ? words.fail : words.succeed)

describe('cancelling', () => {
  test('a node that waits ends it, and its children by their rules', async () => {
    const graph = await Graph.submit(node, { a: {}, b: { after: ['a'] }, done: { after: ['a'], rule: 'all_done' } })
    expect(await node.tasks.cancel(graph.idOf('a'), null, api)).toMatchObject({ status: 'CANCELLED' })
    expect(await node.tasks.cancel(graph.idOf('a'), null, api)).toMatchObject({ status: 'CANCELLED' })
    expect(await graph.standing()).toEqual({ a: 'CANCELLED cancelled', b: 'FAILED dependency', done: 'PENDING' })
    expect(await graph.run()).toEqual([['done']])
    // b failed, and nothing took that in
    expect(await graph.status()).toBe('FAILED')
    await expectSound(node)
  })

  test('a running node marks it; its end tells the children', async () => {
    const graph = await Graph.submit(node, { a: {}, b: { after: ['a'], rule: 'one_failed' } })
    await graph.claim()
    expect(await node.tasks.cancel(graph.idOf('a'), null, api)).toMatchObject({ status: 'RUNNING' })
    expect(await graph.say('a', words.snooze)).toMatchObject({ status: 'CANCELLED' })
    expect(await graph.run()).toEqual([['b']])
    expect(await graph.status()).toBe('SUCCEEDED')
    await expectSound(node)
  })

  test('the workflow ends what waits at once; it is closed when what runs has ended', async () => {
    const graph = await Graph.submit(node, { a: {}, b: {}, c: { after: ['a', 'b'] } })
    const [taken] = await node.claim(graph.worker, 1, { queue: graph.queue })
    expect(await node.workflows.cancel(graph.id, null, api)).toMatchObject({ status: 'RUNNING', cancelRequested: true })
    expect(await node.workflows.cancel(graph.id, null, api)).toMatchObject({ status: 'RUNNING', cancelRequested: true })
    expect(node.toldToCancel).toContain(graph.worker.row.id)
    const lease = `${taken?.attempt}-${taken?.token.toString(16).padStart(16, '0')}`
    const waited = node.workflows.readFinished(
      graph.id,
      null,
      { waitMs: 30_000, signal: new AbortController().signal },
      whole,
    )
    await node.reports.report(graph.worker, [{ id: taken?.id as string, lease, ...words.stop }])
    expect(await waited).toMatchObject({ status: 'CANCELLED', open: 0 })
    expect(await node.workflows.cancel(graph.id, null, api)).toMatchObject({ status: 'CANCELLED' })
    await expectSound(node)
  })

  test.each([
    ['succeed', 'SUCCEEDED'],
    ['fail', 'FAILED'],
  ] as const)('what runs may still %s, and stands; the workflow is CANCELLED all the same', async (how, status) => {
    const graph = await Graph.submit(node, { a: {} })
    await graph.claim()
    expect(await node.workflows.cancel(graph.id, null, api)).toMatchObject({ status: 'RUNNING', cancelRequested: true })
    expect(await graph.say('a', words[how])).toMatchObject({ accepted: true, status })
    expect(await graph.status()).toBe('CANCELLED')
    await expectSound(node)
  })

  test('every node by itself cancels the workflow, which can then be run again', async () => {
    const graph = await Graph.submit(node, {
      a: {},
      b: { after: ['a'], rule: 'all_done' },
      c: { after: ['b'], rule: 'one_failed' },
    })
    for (const name of ['c', 'b', 'a']) await node.tasks.cancel(graph.idOf(name), null, api)
    expect(await node.workflows.read(graph.id, null, whole)).toMatchObject({
      status: 'CANCELLED',
      cancelRequested: false,
    })
    await expectSound(node)
    await node.workflows.retry(graph.id, null, api, whole)
    expect(await graph.run()).toEqual([['a'], ['b']])
    expect(await graph.standing()).toMatchObject({ c: 'CANCELLED skipped' })
    expect(await graph.status()).toBe('SUCCEEDED')
    await expectSound(node)
  })

  test('one of several nodes leaves the workflow what the others make of it', async () => {
    const graph = await Graph.submit(node, { a: {}, b: {} })
    await node.tasks.cancel(graph.idOf('b'), null, api)
    await graph.run()
    expect(await graph.status()).toBe('SUCCEEDED')
    await expectSound(node)
  })

  test('one that has ended is refused; that of another tenant is not there', async () => {
    const graph = await Graph.submit(node, { a: {} })
    await expect(node.workflows.cancel(graph.id, 'other', api)).rejects.toMatchObject({ code: 'not_found' })
    await expect(node.workflows.read(graph.id, 'other', whole)).rejects.toMatchObject({ code: 'not_found' })
    await graph.run()
    await expect(node.workflows.cancel(graph.id, null, api)).rejects.toMatchObject({ code: 'wrong_state' })
  })

  test('a purge of their queue ends nodes that are ready, and theirs', async () => {
    const graph = await Graph.submit(node, { a: {}, b: { after: ['a'], rule: 'all_done' } })
    const batch = { cutoff: 'infinity', actor: 'api', after: [0, '', '', '-infinity', zero] as const, limit: 10 }
    const { tasks, nodes } = await node.stores.purges.batch(graph.queue, batch)
    expect([tasks, nodes]).toEqual([[], [graph.idOf('a')]])
    expect(await node.nodeEnds.purge(nodes, 'api')).toMatchObject([{ reason: 'purged' }])
    expect(await graph.standing()).toEqual({ a: 'CANCELLED purged', b: 'PENDING' })
    await expectSound(node)
  })
})

const zero = '00000000-0000-0000-0000-000000000000'

describe('running again', () => {
  test('a retry opens what failed and what that blocked; what succeeded stays', async () => {
    const graph = await Graph.submit(node, {
      ...{ a: {}, b: { after: ['a'] }, c: { after: ['a'] }, d: { after: ['b', 'c'] }, e: { after: ['d'] } },
      clean: { after: ['b'], rule: 'one_failed' },
    })
    await graph.run(failing('b'))
    expect(await graph.status()).toBe('FAILED')
    expect(await node.workflows.retry(graph.id, null, api, whole)).toMatchObject({
      status: 'RUNNING',
      run: 2,
      open: 3,
      failed: 0,
    })
    expect(await graph.standing()).toEqual({
      ...{ a: 'SUCCEEDED', b: 'PENDING', c: 'SUCCEEDED', d: 'BLOCKED', e: 'BLOCKED', clean: 'SUCCEEDED' },
    })
    await expectSound(node)
    expect(await graph.run()).toEqual([['b'], ['d'], ['e']])
    expect(await graph.status()).toBe('SUCCEEDED')
    await expect(node.workflows.retry(graph.id, null, api, whole)).rejects.toMatchObject({ code: 'wrong_state' })
    await expectSound(node)
  })

  test('a replay of one node opens its workflow for it and what it blocked', async () => {
    const graph = await Graph.submit(node, { a: {}, b: { after: ['a'] }, x: {}, y: { after: ['x'] } })
    await graph.run((name) => (name === 'a' || name === 'x' ? words.fail : words.succeed))
    expect(await node.tasks.replay(graph.idOf('a'), null, api)).toMatchObject({ status: 'PENDING' })
    expect(await graph.standing()).toEqual({
      ...{ a: 'PENDING', b: 'BLOCKED', x: 'FAILED', y: 'FAILED dependency' },
    })
    await expect(node.tasks.replay(graph.idOf('a'), null, api)).rejects.toMatchObject({ code: 'wrong_state' })
    await expectSound(node)
    expect(await graph.run()).toEqual([['a'], ['b']])
    expect(await node.workflows.read(graph.id, null, whole)).toMatchObject({ status: 'FAILED', failed: 2, run: 2 })
    await expectSound(node)
  })

  test('a retry skips what was cancelled by hand where it would have been skipped, and tells what waits for it', async () => {
    const graph = await Graph.submit(node, {
      ...{ a: {}, bad: {}, clean: { after: ['a'], rule: 'one_failed' } },
      ...{ mop: { after: ['clean'] }, next: { after: ['mop'], rule: 'none_failed' } },
    })
    await node.tasks.cancel(graph.idOf('mop'), null, api)
    await graph.run(failing('bad'))
    expect(await graph.standing()).toMatchObject({
      ...{ clean: 'CANCELLED skipped', mop: 'CANCELLED cancelled', next: 'FAILED dependency' },
    })
    await node.workflows.retry(graph.id, null, api, whole)
    await expectSound(node)
    expect(await graph.standing()).toMatchObject({ bad: 'PENDING', mop: 'CANCELLED skipped', next: 'PENDING' })
    await graph.run()
    expect(await graph.status()).toBe('SUCCEEDED')
    await expectSound(node)
  })

  test('a retry of which nothing runs, since a failed clean-up is not needed any more, closes the workflow at once', async () => {
    const graph = await Graph.submit(node, { a: {}, clean: { after: ['a'], rule: 'one_failed' } })
    await graph.run(() => words.fail)
    await node.tasks.replay(graph.idOf('a'), null, api)
    await graph.run()
    expect(await graph.standing()).toEqual({ a: 'SUCCEEDED', clean: 'FAILED' })
    expect(await graph.status()).toBe('FAILED')
    await expect(node.tasks.replay(graph.idOf('clean'), null, api)).rejects.toMatchObject({ code: 'wrong_state' })
    expect(await node.workflows.retry(graph.id, null, api, whole)).toMatchObject({
      status: 'SUCCEEDED',
      run: 3,
      failed: 0,
    })
    expect(await graph.standing()).toEqual({ a: 'SUCCEEDED', clean: 'CANCELLED skipped' })
    await expectSound(node)
  })

  test('a retry before the time of the workflow waits for it, delays counted from it', async () => {
    const later = Date.now() + 3_600_000
    const graph = await Graph.submit(node, { a: {}, slow: { task: { delayMs: 60_000 } } }, { scheduledAtMs: later })
    await node.workflows.cancel(graph.id, null, api)
    await node.workflows.retry(graph.id, null, api, whole)
    expect(await graph.standing()).toEqual({ a: 'SCHEDULED', slow: 'SCHEDULED' })
    const due = async (name: string) => (await node.tasks.get(graph.idOf(name), null)).dueAtMs
    expect([await due('a'), await due('slow')]).toEqual([later, later + 60_000])
    await expectSound(node)
  })

  test('a replay of one node leaves what was cancelled with it, and the workflow what it was, until that is retried', async () => {
    const cancelled = await Graph.submit(node, { a: {}, b: {} })
    await node.workflows.cancel(cancelled.id, null, api)
    const failed = await Graph.submit(node, { a: {}, b: {} }, { failurePolicy: 'fail_fast' })
    await failed.claim()
    await failed.say('a', words.fail)
    await failed.say('b', words.stop)
    for (const [graph, status] of [
      [cancelled, 'CANCELLED'],
      [failed, 'FAILED'],
    ] as const) {
      await node.tasks.replay(graph.idOf('a'), null, api)
      expect(await graph.run()).toEqual([['a']])
      expect(await node.workflows.read(graph.id, null, whole)).toMatchObject({ status, failed: 0 })
      await expectSound(node)
      await node.workflows.retry(graph.id, null, api, whole)
      expect(await graph.run()).toEqual([['b']])
      expect(await graph.status()).toBe('SUCCEEDED')
    }
    await expectSound(node)
  })

  test('a cancelled workflow runs on where it was, also while retries meet', async () => {
    const graph = await Graph.submit(node, { a: {}, b: { after: ['a'] } })
    await node.workflows.cancel(graph.id, null, api)
    const results = await Promise.allSettled([1, 2, 3].map(() => node.workflows.retry(graph.id, null, api, whole)))
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(await graph.run()).toEqual([['a'], ['b']])
    expect(await node.workflows.read(graph.id, null, whole)).toMatchObject({
      status: 'SUCCEEDED',
      cancelRequested: false,
    })
    await expectSound(node)
  })
})

test('a retry that no rule allows says what could be run again, if anything', async () => {
  const dying = { task: { maxRetries: 0 } }
  const graph = await Graph.submit(node, {
    ...{ a: dying, b: { after: ['a'] }, x: {} },
    clean: { after: ['x'], rule: 'one_failed' },
  })
  await graph.run((name) => (name === 'a' ? words.retry : words.succeed))
  const refusal = (name: string) => node.tasks.replay(graph.idOf(name), null, api).catch(({ message }) => message)
  expect(await refusal('b')).toMatch(/depends on; run those again, such as a\.$/)
  expect(await refusal('clean')).toMatch(
    /^The trigger rule of clean can't be met by how the tasks ended that it depends on\.$/,
  )
  await node.stores.deadLetters.discard([graph.idOf('a')], null, { actor: 'api', reason: null })
  expect(await refusal('b')).toMatch(/; a was discarded, or its record is gone, so that it can not run again\.$/)
  await expect(node.workflows.retry(graph.id, null, api, whole)).rejects.toThrow('a was discarded')
})
