import { ManualClock, systemClock } from '@duly/domain'
import { pino } from 'pino'
import { beforeAll, describe, expect, it } from 'vitest'
import { cleanUpLater } from '../../../../tests/support/clean-up.js'
import { until } from '../dispatch/testing/http-node.js'
import { makeStoreBench, type StoreBench } from '../queue/testing/store-bench.js'
import { type Hints, Signals } from './signals.js'

let bench: StoreBench
beforeAll(async () => {
  bench = await makeStoreBench()
  cleanUpLater(() => bench.close())
})

let nodes = 0

interface Ear {
  readonly signals: Signals
  /** What was said, greetings apart. */
  readonly heard: Hints[]
  /** Greetings of nodes that listen from then on. */
  joined: number
  /** How often it began to listen. */
  listened: number
}

/** A node's signals, with what it heard. */
async function start(options: { others?: number } = {}): Promise<Ear> {
  const heard: Hints[] = []
  const ear: { joined: number; listened: number } = { joined: 0, listened: 0 }
  const [before] = await bench.sql<{ n: number }>(listeners)
  const signals = new Signals({
    database: bench.database,
    url: bench.url,
    nodeId: `node ${nodes++}`,
    clock: systemClock,
    log: pino({ level: 'silent' }),
    others: () => options.others ?? 1,
    onRevoked: () => {},
    onHints: (hints) => {
      if (hints.joined) ear.joined++
      else heard.push(hints)
    },
    onConnected: () => {
      ear.listened++
    },
  })
  signals.start()
  cleanUpLater(() => signals.stop())
  await until('listening', async () => ((await bench.sql<{ n: number }>(listeners))[0]?.n ?? 0) > (before?.n ?? 0))
  return Object.assign(ear, { signals, heard })
}

const listeners = `
select count(*)::integer as n from pg_stat_activity
where datname = current_database() and application_name = 'duly listener' and state = 'idle' and query ilike 'listen%'`

describe('signals', () => {
  it('reach the other nodes, gathered, and not their own', async () => {
    const [one, two, three] = [await start(), await start(), await start()]
    for (const queue of ['a', 'b', 'a']) one.signals.publish('ready', queue)
    one.signals.publish('session', 's')
    one.signals.publish('finished', 't')
    one.signals.publish('follow', 'f')
    one.signals.publish('lines', 'l')
    one.signals.publishTimer(2_000)
    one.signals.publishTimer(1_000)
    one.signals.publishTimer(3_000)
    one.signals.publishFreed()
    await until('the word', () => two.heard.length > 0 && three.heard.length > 0)
    expect(two.heard).toEqual([
      {
        drain: [],
        ready: ['a', 'b'],
        session: ['s'],
        finished: ['t'],
        follow: ['f'],
        lines: ['l'],
        timers: 1_000,
        freed: true,
        cron: false,
        joined: false,
      },
    ])
    expect(three.heard).toEqual(two.heard)
    expect(one.heard).toEqual([])
  })

  it('of ends wait a little after another word, and leave with what is more urgent', async () => {
    const [one, two] = [await start(), await start()]
    one.signals.publish('finished', 'a')
    await until('the first word', () => two.heard.length > 0)
    one.signals.publish('finished', 'b')
    one.signals.publish('ready', 'q')
    await until('the second word', () => two.heard.length > 1)
    expect(two.heard.map(({ ready, finished }) => [ready, finished])).toEqual([
      [[], ['a']],
      [['q'], ['b']],
    ])
  })

  it('are not sent while nobody else listens', async () => {
    const listener = await start()
    const alone = await start({ others: 0 })
    alone.signals.publish('ready', 'unheard')
    alone.signals.publishTimer()
    const other = await start()
    other.signals.publish('ready', 'heard')
    await until('the word', () => listener.heard.length > 0)
    expect(listener.heard.flatMap((hints) => hints.ready)).toEqual(['heard'])
  })

  it('that are too many for one notification are left out, not failed', async () => {
    const [one, two] = [await start(), await start()]
    for (let n = 0; n < 2_000; n++) one.signals.publish('finished', `task-${n}-${'x'.repeat(100)}`)
    one.signals.publish('session', 'important')
    await until('the word', () => two.heard.length > 0)
    const [hints] = two.heard
    expect(hints?.session).toEqual(['important'])
    expect(hints?.finished.length).toBeGreaterThan(20)
    expect(hints?.finished.length).toBeLessThan(100)
  })

  it('begin with a greeting, so that the others know at once whom to tell; again after a cut', async () => {
    const [one, two] = [await start(), await start({ others: 0 })]
    await until('the greeting', () => one.joined > 0)
    const greeted = one.joined
    expect([one.listened, two.listened]).toEqual([1, 1])
    await bench.sql(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'duly listener'",
    )
    await until('both to listen again', () => one.listened === 2 && two.listened === 2)
    await until('another greeting', () => one.joined + two.joined > greeted)
  })

  it('survive a cut connection, and words that are none of ours', async () => {
    const [one, two] = [await start(), await start()]
    await bench.sql("select pg_notify('duly', 'no json'), pg_notify('duly', '{}'), pg_notify('duly', 'null')")
    await bench.sql(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'duly listener'",
    )
    await until('the word', () => {
      one.signals.publish('ready', 'again')
      return two.heard.some((hints) => hints.ready?.includes('again'))
    })
  })

  it('stop at once, also while they try to connect', async () => {
    const { signals } = await start()
    await signals.stop()
    const lost = new Signals({
      database: bench.database,
      url: 'postgres://nobody@127.0.0.1:1/none',
      nodeId: `node ${nodes++}`,
      // no pause of it ever ends by itself
      clock: new ManualClock(),
      log: pino({ level: 'silent' }),
      others: () => 0,
      onRevoked: () => {},
      onConnected: () => {},
      onHints: () => {},
    })
    lost.start()
    await lost.stop()
  })
})
