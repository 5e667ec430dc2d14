import { Worker } from '@duly/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase } from '../../../../tests/support/database.js'
import { startTestServer, type TestServer } from './index.js'

/** A whole year of the hourly one and a month of the one each 15 minutes take some minutes, on a machine that is busy half an hour. */
const isLong = process.env.DULY_LONG === '1'
const dayMs = 86_400_000

let server: TestServer
let drop: () => Promise<void>
let worker: Worker
/** When the tasks of each name ran, and for which time. */
const ran = new Map<string, { readonly at: string; readonly scheduledAt: string | undefined }[]>()

beforeAll(async () => {
  const database = await createDatabase({ empty: true })
  drop = database.drop
  server = await startTestServer({ at: '2026-01-01T00:00:00Z', databaseUrl: database.url, patience: '60s' })
  worker = new Worker(server.client, { logger: null }).handle('tick', (payload, context) => {
    const name = String(payload)
    const run = { at: server.now().toISOString(), scheduledAt: context.scheduledAt?.toISOString() }
    ran.set(name, [...(ran.get(name) ?? []), run])
  })
  await worker.start()
})
afterAll(async () => {
  await worker.stop()
  await server.stop()
  await drop()
})

const runsOf = (name: string) => ran.get(name) ?? []
const hoursOf = (name: string) => new Set(runsOf(name).map(({ at }) => at.slice(11, 16)))

test('a year of several schedules makes each run once, at its time, across both changes of the clock', async () => {
  const newYork = { timezone: 'America/New_York' }
  const end = (days: number) => new Date(server.now().getTime() + days * dayMs)
  const [hourlyDays, quarterDays] = isLong ? [365, 31] : [7, 1]
  await server.client.cron.create('morning', 'tick', { cron: '0 9 * * *', ...newYork, payload: 'morning' })
  await server.client.cron.create('night', 'tick', { cron: '30 2 * * *', ...newYork, payload: 'night' })
  await server.client.cron.create('hourly', 'tick', { cron: '0 * * * *', endsAt: end(hourlyDays), payload: 'hourly' })
  await server.client.cron.create('quarter', 'tick', { every: '15m', endsAt: end(quarterDays), payload: 'quarter' })
  await server.advanceTo('2027-01-01T00:00:00Z')

  expect(runsOf('morning')).toHaveLength(365)
  expect(hoursOf('morning')).toEqual(new Set(['14:00', '13:00']))
  expect(runsOf('morning').filter(({ at }) => at.includes('T13:00'))).toHaveLength(238)
  // 02:30 is left out on 8 March (run at the end of the gap), and comes once on 1 November
  expect(runsOf('night')).toHaveLength(365)
  const changes = runsOf('night').filter(({ at }) => /-03-0[789]|-(10-31|11-0[12])/.test(at))
  expect(changes.map(({ at }) => at)).toEqual([
    '2026-03-07T07:30:00.000Z',
    '2026-03-08T07:00:00.000Z',
    '2026-03-09T06:30:00.000Z',
    '2026-10-31T06:30:00.000Z',
    '2026-11-01T07:30:00.000Z',
    '2026-11-02T07:30:00.000Z',
  ])
  expect([runsOf('hourly').length, runsOf('quarter').length]).toEqual([hourlyDays * 24, quarterDays * 96])
  for (const name of ran.keys()) {
    const times = runsOf(name)
    expect(times.filter(({ at, scheduledAt }) => at !== scheduledAt)).toEqual([])
    expect(new Set(times.map(({ at }) => at)).size).toBe(times.length)
  }
}, 3_600_000)

test('what was missed in a pause is made up for, one by one, if the definition says so', async () => {
  const begin = server.now()
  const { id } = await server.client.cron.create('kept', 'tick', {
    cron: '0 6 * * *',
    misfire: 'fire_all',
    overlap: 'queue',
    payload: 'kept',
  })
  await server.advance('2d')
  await server.client.cron.pause(id)
  await server.advance('10d')
  expect(runsOf('kept')).toHaveLength(2)
  await server.client.cron.resume(id)
  await server.runUntilIdle()
  const days = runsOf('kept').map(({ scheduledAt }) => (Date.parse(scheduledAt ?? '') - begin.getTime()) / dayMs - 0.25)
  expect(days).toEqual(Array.from({ length: 12 }, (_, day) => day))
  await server.advance('1d')
  expect(runsOf('kept')).toHaveLength(13)
})
