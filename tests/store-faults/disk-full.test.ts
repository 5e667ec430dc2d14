import { randomBytes } from 'node:crypto'
import { decodeId } from '@duly/domain'
import pg from 'pg'
import { expect, test } from 'vitest'
import { startHttpNode, until, type WireGrant } from '../../packages/server/src/dispatch/testing/http-node.js'
import { describeFindings } from '../chaos/checker/finding.js'
import { checkInvariants } from '../chaos/checker/invariants.js'
import { startOwnPostgres } from '../support/own-postgres.js'
import { mountSmallDisk } from '../support/small-disk.js'

const disk = await mountSmallDisk(200)
if (typeof disk === 'string') console.log(`The tests of a full disk are left out: ${disk}`)

/** Little WAL, so that the disk holds the database and some room. */
const settings = { max_wal_size: '48MB', min_wal_size: '32MB', shared_buffers: '16MB' }

interface Refusal {
  readonly status: number
  readonly code: string
  readonly retryAfter: number
}

test.runIf(typeof disk !== 'string')(
  'a full disk: refused with 503, nothing half-written, no report lost, and it goes on when there is room',
  async () => {
    if (typeof disk === 'string') return
    const postgres = await startOwnPostgres({ settings, dataDir: `${disk.folder}/data` })
    const { api } = await startHttpNode(postgres.url, { statementTimeoutSeconds: 5 })
    const accepted: string[] = []
    const unknown: string[] = []
    const refusals: Refusal[] = []
    const submit = async (): Promise<boolean> => {
      const mark = randomBytes(8).toString('hex')
      const body = {
        task_type: 'bulk',
        queue: 'bulk',
        payload: { mark, filling: randomBytes(90_000).toString('base64') },
      }
      const response = await fetch(`${api.url}/api/v1/tasks`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      })
      const answer = (await response.json()) as { task_id?: string; code?: string }
      if (response.status === 202) accepted.push(`${answer.task_id} ${mark}`)
      else
        refusals.push({
          status: response.status,
          code: answer.code ?? '',
          retryAfter: Number(response.headers.get('retry-after')),
        })
      if (answer.code === 'commit_unknown') unknown.push(mark)
      return response.status === 202
    }
    const worker = await api.worker({ taskTypes: ['work'] })
    for (let n = 0; n < 3; n++) await api.submit()
    const held = await worker.poll(3)
    const report = async (grants: readonly WireGrant[]): Promise<boolean> => {
      const reports = grants.map(({ task_id, lease }) => ({ task_id, lease, outcome: 'succeeded', result: { n: 1 } }))
      const answer = await api.call<{ results?: { accepted: boolean }[] }>('POST', `/workers/${worker.id}/report`, {
        reports,
      })
      if (answer.status === 200)
        expect(answer.body.results?.map((each) => each.accepted)).toEqual(grants.map(() => true))
      else expect(answer.status).toBe(503)
      return answer.status === 200
    }

    for (let n = 0; n < 20; n++) expect(await submit()).toBe(true)
    disk.fill()
    await until('a submission is refused', async () => !(await submit()), 120_000)
    await report(held.slice(0, 1))

    // what PostgreSQL set aside for its log is used up too: it goes down in the middle of its work
    await useUpLog(postgres.url)
    for (let n = 0; n < 5; n++) await submit()
    await report(held.slice(0, 2))
    expect(refusals.map(({ status }) => status).filter((status) => status !== 503)).toEqual([])
    expect(
      refusals.filter(
        ({ code, retryAfter }) => !/^(store_unavailable|commit_unknown)$/.test(code) || !(retryAfter >= 1),
      ),
    ).toEqual([])
    expect((await fetch(`${api.url}/healthz`)).status).toBe(200)

    disk.free()
    // its supervisor's part; a server that came up again by itself is left alone
    await postgres.start()
    await until('a submission is taken', submit, 120_000)
    await until('the reports are taken', () => report(held), 120_000)
    expect((await worker.tryBeat()).status).toBe(200)
    await expectStored(postgres.url, { accepted, unknown })
  },
  360_000,
)

/** Asks for new files of the log until the server has no room for one. */
async function useUpLog(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    for (let n = 0; n < 50; n++) {
      await client.query('select pg_logical_emit_message(true, $1, $2)', ['fill', 'x'])
      await client.query('select pg_switch_wal()')
    }
    throw new Error('the log still grows')
  } catch (error) {
    expect(error).not.toMatchObject({ message: 'the log still grows' })
  } finally {
    await client.end().catch(() => {})
  }
}

/** What was accepted is there as it was sent, what was refused is not, and the store is sound. */
async function expectStored(
  url: string,
  told: { accepted: readonly string[]; unknown: readonly string[] },
): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ id: string; mark: string }>(
    `select id, payload::jsonb ->> 'mark' as mark from tasks where queue = 'bulk'`,
  )
  const findings = await checkInvariants(client)
  const { rows: crashed } = await client.query('select from outcomes where crashes > 0')
  await client.end()
  const accepted = told.accepted
    .map((line) => line.split(' '))
    .map(([id = '', mark]) => `${decodeId('task', id)} ${mark}`)
  const stored = rows.filter(({ mark }) => !told.unknown.includes(mark)).map(({ id, mark }) => `${id} ${mark}`)
  expect(stored.sort()).toEqual(accepted.sort())
  expect(describeFindings(findings)).toBe('')
  expect(crashed).toEqual([])
}
