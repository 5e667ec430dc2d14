import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Duly } from '@duly/sdk'
import { beforeAll, describe, expect, it } from 'vitest'
import { cleanUpLater } from '../support/clean-up.js'
import { createDatabase } from '../support/database.js'
import { startProcess, startServer, startWorker, type TestServer } from '../support/processes.js'
import type { TestProcess } from '../support/test-process.js'

const file = fileURLToPath(new URL('./worker.mjs', import.meta.url))
let databaseUrl = ''
let server: TestServer
/** The first key of the deployment, made in the database. */
let admin = ''
const everyProcess: TestProcess[] = []

beforeAll(async () => {
  databaseUrl = (await createDatabase()).url
  server = await startServer({ databaseUrl, env: { DULY_OPEN: 'false' } })
  everyProcess.push(server.process)
  const created = await duly('key create --name admin --scopes admin --database-url', {
    DULY_DATABASE_URL: databaseUrl,
  })
  expect(created.code).toBe(0)
  admin = created.lines.find((line) => /^duly_\w{52}$/.test(line)) ?? ''
  expect(created.lines.join('\n')).toMatch(/^key-\w{26} \(admin; every tenant\); the secret is not shown again:$/m)
})

/** Runs `duly …` to its end. */
async function duly(
  line: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly lines: readonly string[] }> {
  const ran = startProcess(line.split(' '), { name: `duly ${line}`, env: { DULY_URL: server.url, ...env } })
  const { code } = await ran.exited
  return { code, lines: ran.output }
}

function client(apiKey: string): Duly {
  const made = new Duly({ url: server.url, apiKey, retries: 0 })
  cleanUpLater(() => made.close())
  return made
}

describe('duly serve', () => {
  it('says how to make the first key, and refuses whoever has none', async () => {
    await server.process.line(/there is no API key yet.*duly key create --name admin/)
    const refused = await duly('queue list')
    expect(refused).toMatchObject({
      code: 7,
      lines: [expect.stringMatching(/This takes an API key/), expect.stringContaining('DULY_API_KEY')],
    })
    await expect(client('').submit('work')).rejects.toMatchObject({ status: 401, code: 'unauthenticated' })
  })

  it('says that it is open when it is told to be', async () => {
    const open = await startServer({ databaseUrl, name: 'open', env: { DULY_OPEN: 'true' } })
    await open.process.line(/this node runs open: it asks for no API key/)
    expect((await fetch(`${open.url}/api/v1/queues`)).status).toBe(200)
    await open.process.kill('SIGKILL')
  })
})

it('keys are made, listed and revoked from the command line and the SDK', async () => {
  const env = { DULY_API_KEY: admin }
  const made = await duly('key create --name shop --scopes submit,read --tenant acme --json', env)
  const key = JSON.parse(made.lines.join('\n'))
  expect(key).toMatchObject({ name: 'shop', scopes: ['submit', 'read'], tenant_id: 'acme', revoked_at: null })
  const shop = client(key.secret)
  const handle = await shop.submit('nobody-runs-this')
  expect(await handle.get()).toMatchObject({ tenantId: 'acme' })
  await expect(shop.submit('x', null, { tenant: 'rival' })).rejects.toMatchObject({ status: 403, code: 'forbidden' })
  await expect(shop.keys.list()).rejects.toMatchObject({ status: 403 })
  const other = await client(admin).keys.create({ name: 'rival', scopes: ['admin'], tenant: 'rival' })
  await expect(client(other.secret).tasks.get(handle.id)).rejects.toMatchObject({ status: 404 })
  expect(await client(other.secret).keys.list()).toMatchObject([{ id: other.id, name: 'rival', tenantId: 'rival' }])
  const listed = await duly('key list', env)
  expect(listed.lines.find((line) => line.startsWith(key.key_id))).toMatch(/ shop +submit,read +acme +live /)
  expect(await duly(`key revoke ${key.key_id}`, env)).toMatchObject({ code: 0, lines: [`${key.key_id} revoked`] })
  await expect(shop.queues.list()).rejects.toMatchObject({ status: 401, message: 'This API key was revoked.' })
  expect((await duly(`key revoke ${key.key_id}`, env)).code).toBe(0)
  expect((await duly('key revoke key-01m8m8kd7xe3bty5rn8g2h4j6q', env)).code).toBe(4)
})

it('the first key needs a database that is migrated', async () => {
  const { url } = await createDatabase({ empty: true })
  const refused = await duly(`key create --name a --scopes admin --database-url ${url}`)
  expect(refused.lines.join('\n')).toMatch(/not up to date: run `duly migrate` first/)
  expect(refused.code).toBe(2)
})

describe('a worker', () => {
  it('whose key is no good from the beginning ends at once and says why', async () => {
    const worker = startWorker({
      url: server.url,
      file,
      env: { DULY_API_KEY: `duly_${'0'.repeat(52)}`, GRACE_MS: '300' },
    })
    await worker.line(/There is no such API key/)
    expect(await worker.exited).toMatchObject({ code: 7 })
  })

  it('whose key is revoked while it runs says so, and asks at growing intervals', async () => {
    const key = await client(admin).keys.create({ name: 'worker', scopes: ['work'] })
    const worker = startWorker({ url: server.url, file, env: { DULY_API_KEY: key.secret, GRACE_MS: '300' } })
    everyProcess.push(worker)
    await worker.line(/registered as/)
    const { id } = await client(admin).submit('work', 10)
    expect(await client(admin).tasks.wait(id)).toMatchObject({ status: 'SUCCEEDED' })
    await client(admin).keys.revoke(key.id)
    await worker.line(/answers: This API key was revoked; retrying/)
    const [before, began] = [await refusedRequests(), performance.now()]
    await delay(2_000)
    // as long as it really took
    expect((await refusedRequests()) - before).toBeLessThan((performance.now() - began) / 100)
    expect(worker.isRunning).toBe(true)
    await worker.kill('SIGTERM')
  })
})

/** Requests that the server answered 401. */
async function refusedRequests(): Promise<number> {
  const answer = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${admin}` } })
  const lines = (await answer.text())
    .split('\n')
    .filter((line) => /^duly_http_request\w*_count.*status="401"/.test(line))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

it('no secret is in what any process printed, or is called', () => {
  const called = everyProcess
    .filter(({ isRunning }) => isRunning && process.platform === 'linux')
    .map(({ pid }) => readFileSync(`/proc/${pid}/cmdline`, 'latin1'))
  const text = [...everyProcess.flatMap(({ output }) => output), ...called].join('\n')
  expect(text).toContain('API key made')
  expect(text).not.toMatch(/duly_[0-9a-z]{20}/)
})
