import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase } from '../../../../tests/support/database.js'
import type { NewTask } from '../model.js'
import { Database } from '../store/database.js'
import { IntakeStore, type NameBounds } from '../store/intake-store.js'
import { graceMs, newTask, openTestNode, type TestNode } from '../testing/test-node.js'
import { Names } from './names.js'

let url: string
let drop: () => Promise<void>
let nodes: readonly [TestNode, TestNode]
beforeAll(async () => {
  ;({ url, drop } = await createDatabase())
  nodes = [await openTestNode(url, { nameShare: 2, number: 0 }), await openTestNode(url, { nameShare: 2, number: 1 })]
})
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.close()))
  await drop()
})

const bound = (tenant: string, ...queues: string[]): NewTask[] =>
  queues.map((queue) => newTask({ tenant, boundTo: tenant, queue }))

/** What a refused call was told, without the name that it asked for. */
async function refusalOf(call: Promise<unknown>, name: string): Promise<unknown> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toMatchObject({ code: 'unprocessable' })
  return error instanceof Error && error.message.replace(name, '…')
}

test('keys bound to a tenant use a share of them, on all nodes together', async () => {
  const [one, other] = nodes
  await one.intake.submitBatch(bound('acme', 'a'))
  await other.intake.submitBatch(bound('acme', 'b', 'a'))
  for (const node of nodes) {
    await expect(node.intake.submitBatch(bound('acme', 'c'))).rejects.toMatchObject({
      ...{ code: 'unprocessable', message: expect.stringContaining('new to keys of acme, and they use their 2, or') },
    })
    await expect(node.intake.submitBatch(bound('acme', 'a', 'b'))).resolves.toHaveLength(2)
  }
  // neither another tenant nor a key that is bound to none suffers from it
  await one.intake.submitBatch(bound('rival', 'r1', 'r2'))
  await one.intake.submitBatch(['n1', 'n2', 'n3'].map((queue) => newTask({ tenant: 'acme', queue })))
  const type = (taskType: string) =>
    one.intake.submit(newTask({ tenant: 'acme', boundTo: 'acme', queue: 'a', taskType }))
  await type('t1')
  await expect(type('t2')).rejects.toMatchObject({ message: expect.stringContaining('task type t2 is new') })
})

test('a name of others is refused as a new one is, and costs the same', async () => {
  const [one, other] = nodes
  await one.intake.submitBatch(bound('owner', 'secret', 'shown'))
  await one.intake.submit(newTask({ queue: 'common' }))
  await other.intake.submitBatch(bound('curious', 'secret', 'own'))
  const { id } = await other.intake.submit(bound('curious', 'own')[0] as NewTask)
  for (const node of nodes) {
    const submit = (queue: string) => refusalOf(node.intake.submitBatch(bound('curious', queue)), queue)
    const edit = (queue: string) =>
      refusalOf(node.tasks.edit(id, 'curious', { edit: { queue }, actor: { kind: 'api', name: 'k' } }), queue)
    const unknown = await submit('nobody-has-it')
    for (const name of ['shown', 'common', 'default']) {
      expect(await submit(name)).toBe(unknown)
      expect(await edit(name)).toBe(unknown)
    }
    await expect(node.intake.submitBatch(bound('curious', 'own', 'secret'))).resolves.toHaveLength(2)
  }
})

test('in a full deployment a bound key learns nothing either', async () => {
  const full = await createDatabase()
  const node = await openTestNode(full.url, { maxNames: 2 })
  await node.intake.submitBatch(bound('owner', 'secret'))
  await node.intake.submitBatch(bound('curious', 'own'))
  const submit = (queue: string) => refusalOf(node.intake.submitBatch(bound('curious', queue)), queue)
  expect(await submit('secret')).toBe(await submit('nobody-has-it'))
  await expect(node.intake.submitBatch(bound('curious', 'own'))).resolves.toHaveLength(1)
  await expect(node.intake.submit(newTask({ queue: 'secret' }))).resolves.toBeDefined()
  await node.close()
  await full.drop()
})

/** Counts what it is asked. */
class Counted extends IntakeStore {
  asked = 0
  override registerNames(queues: readonly string[], types: readonly string[], bounds: NameBounds) {
    this.asked++
    return super.registerNames(queues, types, bounds)
  }
}

test('a pair of tenant and name that is known costs no statement', async () => {
  const shared = { url, applicationName: 'names', statementTimeoutMs: 15_000, onError: () => {} }
  const database = new Database({ ...shared, hotConnections: 1, generalConnections: 1 })
  const store = new Counted(database, { graceMs, node: randomUUID() })
  const names = new Names(store, { limit: 1_000, share: 2 })
  const [first, second] = [...bound('first', 'q'), ...bound('second', 'q')] as [NewTask, NewTask]
  await names.ensure([first])
  expect([names.isKnown(first), names.isKnown(second), names.isKnown({ ...first, boundTo: null })]).toEqual([
    ...[true, false, false],
  ])
  await names.ensure([first, first])
  expect(store.asked).toBe(1)
  await names.ensure([second])
  expect(names.isKnown(second)).toBe(true)
  expect(store.asked).toBe(2)
  await database.close()
})
