import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { curlOf, routeList } from '@duly/contract'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { filesUnder } from '../repo/files.js'
import { blocksOf } from './blocks.js'
import { PageRun } from './page-run.js'
import { Job, Playground } from './playground.js'

const pages = filesUnder('', ['.md'])
  .map((page) => ({ path: page.path, blocks: blocksOf(page) }))
  .filter(({ blocks }) => blocks.some(({ language }) => language === 'sh' || language === 'http'))

/** The README's thousand tasks alone take 20 s, by their delays. */
const PATIENCE_MS = 600_000

let playground: Playground
beforeAll(async () => {
  playground = await Playground.start('npm start')
})

describe.concurrent('whoever tries everything on a page, from top to bottom', () => {
  it('begins with the README', () => {
    expect(pages.map(({ path }) => path)).toContain('README.md')
  })

  it.each(pages)(
    'sees what the page says: $path',
    async ({ blocks }) => {
      const run = new PageRun(playground)
      for (const block of blocks) await run.block(block)
      await run.end()
      expect(run.faults).toEqual([])
    },
    PATIENCE_MS,
  )

  it('is told when a page is wrong', async () => {
    const text = [
      ...[
        '```sh',
        'duly task get task-01m8m8g63ye0v964cp0nfyyggj',
        'curl -s 127.0.0.1:7070/api/v1/nothing',
        'true # exit code 1',
      ],
      ...['echo \'{"a":1}\'', '```', '', '```json', '{"a":2}', '```', '', '```http', 'GET /nowhere', '```', ''],
    ].join('\n')
    const run = new PageRun(playground)
    for (const block of blocksOf({ path: 'p.md', text })) await run.block(block)
    expect(run.faults).toEqual([
      expect.stringMatching(/^p\.md:2 .*ended with/),
      expect.stringMatching(/^p\.md:3 .*problem/),
      expect.stringMatching(/^p\.md:4 .*ended with 0/),
      expect.stringMatching(/^p\.md:9 is not what/),
      expect.stringMatching(/^p\.md:13 GET \/nowhere was answered 404/),
    ])
  })
})

describe('the calls that /docs shows', () => {
  it('are understood by the server', async () => {
    const { call, task, worker } = await thingsToCall(playground.url)
    const routes = [...routeList].sort((a, b) => Number(a.operationId === 'leave') - Number(b.operationId === 'leave'))
    const script = routes.map((route) => {
      const text = curlOf(route)
        .replaceAll(/\btask-\w{26}/g, task)
        .replaceAll(/\bworker-\w{26}/g, worker)
      return `printf '%s ' ${route.operationId}; ${playground.fitted(text)} -s -o ${playground.folder}/body -w '%{http_code}\\n'`
    })
    const { code, out } = await call(script.join('\n'))
    const refused = out.split('\n').filter((line) => / (?!2\d\d|404|409)\d{3}$/.test(line))
    expect({ code, refused, calls: out.trim().split('\n').length }).toEqual({
      code: 0,
      refused: [],
      calls: routes.length,
    })
  })
})

async function thingsToCall(url: string) {
  const post = async (path: string, body: object): Promise<Record<string, string>> => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${url}/api/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await answer.json()) as Record<string, string>
  }
  const { task_id: task = '' } = await post('tasks', { task_type: 'none', queue: 'calls', delay_seconds: 3_600 })
  const session = { name: 'calls', queues: ['calls'], task_types: ['none'], slots: 1 }
  const { worker_id: worker = '' } = await post('workers', session)
  return { task, worker, call: (script: string) => new Job(script, { DULY_API_KEY: 'none' }).result() }
}

describe("the SDK's page", () => {
  it('submits to a running worker and gets the result', async () => {
    vi.stubEnv('DULY_URL', playground.url)
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    onTestFinished(() => {
      vi.unstubAllEnvs()
      log.mockRestore()
    })
    const { duly } = await import('../../examples/sdk/mail.js')
    onTestFinished(() => duly.close())
    await import('../../examples/sdk/submit.js')
    expect(log).toHaveBeenCalledWith('<welcome-1@duly.example>')
  })

  it('works for a service that knows idempotency keys', async () => {
    const keys: unknown[] = []
    const service = createServer((request, answer) => {
      keys.push(request.headers['idempotency-key'])
      answer.end('m-1')
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => service.once('listening', resolve))
    vi.stubEnv('DULY_URL', playground.url)
    vi.stubEnv('MAIL_SERVICE', `http://127.0.0.1:${(service.address() as AddressInfo).port}`)
    onTestFinished(() => {
      vi.unstubAllEnvs()
      service.close()
    })
    const { duly, sendEmail } = await import('../../examples/sdk/mail.js')
    const { worker } = await import('../../examples/sdk/mail-worker.js')
    onTestFinished(() => worker.stop().then(() => duly.close()))
    // the example worker of the playground serves the same queue: one of several is ours
    let ours = 0
    for (let n = 0; ours === 0; n += 1) {
      const handles = await Promise.all(
        Array.from({ length: 40 }, (_, k) =>
          duly.submit(sendEmail, { to: `a${k}@example.com` }, { idempotencyKey: `mail-${n * 40 + k}` }),
        ),
      )
      const results = await Promise.all(handles.map((handle) => handle.result()))
      ours += results.filter(({ message_id: id }) => id === 'm-1').length
    }
    expect(keys).toHaveLength(ours)
    for (const key of keys) expect(key).toMatch(/^mail-\d+$/)
  })

  it('runs a workflow whose handlers read the results of others', async () => {
    vi.stubEnv('DULY_URL', playground.url)
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    const { duly } = await import('../../examples/sdk/onboarding.js')
    const { worker } = await import('../../examples/sdk/onboarding-worker.js')
    onTestFinished(() => {
      vi.unstubAllEnvs()
      log.mockRestore()
      return worker.stop().then(() => duly.close())
    })
    await import('../../examples/sdk/submit-onboarding.js')
    expect(log).toHaveBeenCalledWith('hello to account 13')
  })

  it('runs a workflow on a schedule', async () => {
    vi.stubEnv('DULY_URL', playground.url)
    const { duly, worker, runTonight } = await import('../../examples/sdk/nightly.js')
    onTestFinished(() => {
      vi.unstubAllEnvs()
      return worker.stop().then(() => duly.close())
    })
    expect(await runTonight()).toMatchObject({ name: 'nightly', status: 'SUCCEEDED', nodes: 2 })
  })

  it('runs a workflow that grows while it runs', async () => {
    vi.stubEnv('DULY_URL', playground.url)
    const { duly, worker, printPages } = await import('../../examples/sdk/pages.js')
    onTestFinished(() => {
      vi.unstubAllEnvs()
      return worker.stop().then(() => duly.close())
    })
    expect(await printPages(20)).toBe(20 * 100 + 190)
  })

  it('runs a workflow whose task waits for its children', async () => {
    vi.stubEnv('DULY_URL', playground.url)
    const { duly, worker, crawlSite } = await import('../../examples/sdk/crawl.js')
    onTestFinished(() => {
      vi.unstubAllEnvs()
      return worker.stop().then(() => duly.close())
    })
    expect(await crawlSite()).toBe('4 pages')
  })
})
