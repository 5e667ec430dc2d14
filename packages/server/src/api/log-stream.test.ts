import { connect } from 'node:net'
import { DulyError } from '@duly/domain'
import { expect, it } from 'vitest'
import { FollowedLog } from '../tasks/testing/followed.js'
import { started } from './test-support/started.js'
import { recordErrors, type TestApi } from './test-support/test-api.js'
import { fixedAtMs } from './test-support/told.js'

/** An API that listens, a task of it, and where its log is. */
async function listening(...config: Parameters<typeof started>) {
  const api = started(...config)
  const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
  const id = String((await api.post('/api/v1/tasks', '{"task_type":"a"}')).json.task_id)
  return { api, url, path: `/tasks/${id}/logs` }
}

const lines = (from: number, count: number, message = 'x') =>
  Array.from({ length: count }, (_, n) => ({
    ...({ line: from + n, attempt: 1, atMs: fixedAtMs, level: 'info', message } as const),
  }))

/** Pages one after the other, the last one again and again. */
function script(api: TestApi, pages: readonly (Partial<TestApi['services']['logPage']> | Error)[]) {
  let reads = 0
  const { logs, logPage } = api.services
  Object.assign(logs, {
    read: async () => {
      const page = pages[Math.min(reads++, pages.length - 1)]
      if (page instanceof Error) {
        // its answer has begun by then
        await new Promise((resolve) => setTimeout(resolve, 100))
        throw page
      }
      return { ...logPage, ...page }
    },
  })
  return { reads: () => reads }
}

it('every record is as the contract says', async () => {
  const { api, url, path } = await listening()
  const progress = { percent: 40, note: 'n', updatedAtMs: fixedAtMs }
  script(api, [{ lines: lines(1, 2), next: 2, progress, isComplete: true, dropped: 3 }])
  const log = await FollowedLog.open(url, path)
  await log.ended
  expect(log.records.map(({ type }) => type)).toEqual(['line', 'line', 'progress', 'end'])
  for (const record of log.records) expect(recordErrors('readLogs', record)).toEqual([])
  expect(log.last).toMatchObject({ is_complete: true, dropped_lines: 3 })
  expect(log.headers.get('connection')).toBe('close')
})

it('nothing is said for no longer than the heartbeat', async () => {
  const { url, path } = await listening({ streamHeartbeatMs: 5 })
  const log = await FollowedLog.open(url, path)
  await log.until(({ emptyLines }) => emptyLines > 3)
  log.close()
})

it('so many are open at a time, and one that ends makes room', async () => {
  const { url, path } = await listening({ maxStreams: 2 })
  const open = [await FollowedLog.open(url, path), await FollowedLog.open(url, path)]
  const refused = await FollowedLog.open(url, path)
  await refused.ended
  expect([refused.status, JSON.parse(refused.text).code]).toEqual([503, 'too_many_streams'])
  expect(refused.headers.get('retry-after')).toBe('1')
  // one that is refused for itself takes no room
  expect((await FollowedLog.open(url, `${path}?cursor=AAAA`)).status).toBe(400)
  open[0]?.close()
  await expect.poll(async () => (await FollowedLog.open(url, path)).status).toBe(200)
})

it('a page is read when the one before it was taken, however slow its reader is', async () => {
  const { api, url, path } = await listening()
  const pages = Array.from({ length: 400 }, (_, n) => ({
    ...{ lines: lines(1 + n * 10, 10, 'y'.repeat(8_000)), next: 10 + n * 10, hasMore: true },
  }))
  const { reads } = script(api, [...pages, { next: 4_000, isComplete: true }])
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.pause()
  socket.write(`GET /api/v1${path} HTTP/1.1\r\nHost: x\r\nAccept: application/x-ndjson\r\n\r\n`)
  let before = -1
  // as far as the buffers of the system go, and no further
  await expect
    .poll(
      () => {
        const isSame = reads() === before
        before = reads()
        return isSame && before > 0
      },
      { interval: 300, timeout: 20_000 },
    )
    .toBe(true)
  expect(reads()).toBeLessThan(300)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.resume()
  await closed
  expect(text.match(/"type":"line"/g)).toHaveLength(4_000)
  expect(text).toContain('"is_complete":true')
})

it('one whose store goes away says that it is not all, and where to go on', async () => {
  const { api, url, path } = await listening()
  script(api, [{ lines: lines(1, 1), next: 1 }, new DulyError('store_unavailable', 'Away.'), { isComplete: true }])
  const log = await FollowedLog.open(url, path)
  expect(await log.ended).toBe(true)
  expect(log.last).toMatchObject({ type: 'end', is_complete: false, cursor: log.records[0]?.cursor })
})

it('one that fails by a fault of ours is cut off, and the next one is served', async () => {
  const { api, url, path } = await listening()
  script(api, [{ lines: lines(1, 1), next: 1 }, new Error('a fault'), { isComplete: true }])
  const log = await FollowedLog.open(url, path)
  await log.ended
  expect(log.records.map(({ type }) => type)).toEqual(['line'])
  const next = await FollowedLog.open(url, path)
  expect(await next.ended).toBe(true)
})

it('readers who take nothing any more do not keep a node from stopping', async () => {
  const { api, url, path } = await listening()
  const { reads } = script(api, [{ lines: lines(1, 100, 'y'.repeat(8_000)), next: 100, hasMore: true }])
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.pause()
  socket.write(`GET /api/v1${path} HTTP/1.1\r\nHost: x\r\nAccept: application/x-ndjson\r\n\r\n`)
  await expect.poll(() => reads()).toBeGreaterThan(1)
  await api.app.close()
  socket.destroy()
})
