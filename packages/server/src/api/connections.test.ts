import { connect, type Socket } from 'node:net'
import { Problem } from '@duly/contract'
import { encodeId } from '@duly/domain'
import { afterEach, describe, expect, it } from 'vitest'
import { type TestApi, testApi } from './test-support/test-api.js'
import { compileValidator } from './validate.js'

const apis: TestApi[] = []
afterEach(async () => {
  await Promise.all(apis.splice(0).map(({ app }) => app.close()))
})

function started(...config: Parameters<typeof testApi>): TestApi {
  const api = testApi(...config)
  apis.push(api)
  return api
}

const json = { 'content-type': 'application/json' }
const task = '{"task_type":"a"}'

/** A real connection: sends texts, gathers what comes back, tells when the other side has closed. */
async function dial(api: TestApi) {
  const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
  const { port, hostname } = new URL(url)
  const socket: Socket = connect(Number(port), hostname)
  let received = ''
  const watchers = new Set<() => void>()
  socket.on('data', (chunk) => {
    received += chunk.toString()
    for (const watcher of watchers) watcher()
  })
  socket.on('error', () => {})
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(received)))
  const until = (text: string) =>
    new Promise<string>((resolve) => {
      const look = () => received.includes(text) && resolve(received)
      watchers.add(look)
      look()
    })
  const send = (text: string | Buffer) => socket.write(text)
  const sent = (bytes: Buffer) =>
    new Promise<void>((resolve, reject) => socket.write(bytes, (error) => (error ? reject(error) : resolve())))
  return { url, socket, closed, until, send, sent }
}

/** The problem document of a whole answer, with what its head promises checked. */
function problemIn(answer: string): Record<string, unknown> {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  const problem = JSON.parse(body)
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${problem.status} `))
  expect(head.toLowerCase()).toContain('content-type: application/problem+json')
  expect(head.toLowerCase()).toContain(`x-request-id: ${problem.request_id}`)
  expect(compileValidator(Problem)(problem)).toEqual([])
  return problem
}

describe('bodies over the limit', () => {
  const head = (rest: string) =>
    `POST /api/v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${rest}\r\n\r\n`

  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, ' '), Buffer.from('\r\n')])

  it('are refused by their length alone', async () => {
    const { send, closed, until, socket } = await dial(started())
    send(head('Content-Length: 10000000000'))
    await until('too_large')
    socket.end()
    expect(problemIn(await closed)).toMatchObject({ status: 413, code: 'too_large' })
  })

  it('are cut off while they arrive in chunks', async () => {
    const { send, until, socket } = await dial(started())
    send(head('Transfer-Encoding: chunked'))
    for (let sent = 0; sent < 33; sent++) send(chunk)
    expect(await until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 413 /)
    socket.destroy()
  })

  it.each([
    ['by its length', head('Content-Length: 10000000000'), Buffer.alloc(0x10000, ' ')],
    ['by its chunks', head('Transfer-Encoding: chunked'), chunk],
    ['before its form', head('X-No: type\r\nTransfer-Encoding: chunked').replace('Content-Type', 'X-Type'), chunk],
    ['before its path', head('Transfer-Encoding: chunked').replace('tasks', 'nowhere'), chunk],
  ])('is answered so that a client reads it that first sends all, refused %s', async (_how, begin, part) => {
    const { socket, send, closed, sent } = await dial(started())
    socket.pause()
    send(begin)
    // ten times what the buffers on the way can hold; a reset makes a write fail
    for (let count = 0; count < 512; count++) await sent(part)
    socket.resume()
    socket.end()
    const answer = await closed
    expect(problemIn(answer)).toMatchObject({ status: expect.any(Number) })
    expect(answer.toLowerCase()).toContain('connection: close\r\n')
  })

  it('are not read for ever', async () => {
    const { send, closed, socket, until } = await dial(started({ linger: { ms: 60_000, bytes: 0x100000 } }))
    send(head('Transfer-Encoding: chunked'))
    const pump = () => {
      while (socket.writable && socket.write(chunk));
    }
    socket.on('drain', pump)
    pump()
    await until('too_large')
    await closed
  })

  it('do not keep the connection of a client that falls silent', async () => {
    const { send, closed } = await dial(started({ linger: { ms: 50, bytes: 0x100000 } }))
    send(`${head('Content-Length: 10000000000')}{`)
    expect(problemIn(await closed)).toMatchObject({ status: 413 })
  })

  it('end the connection for what comes behind them', async () => {
    const api = started()
    const { send, closed, until, socket } = await dial(api)
    const small = `${head(`Content-Length: ${task.length}`)}${task}`
    send(`${small}${head('Content-Length: 2097153')}${' '.repeat(2_097_153)}${small}`)
    await until('too_large')
    socket.end()
    const answers = await closed
    expect([...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1])).toEqual(['202', '413'])
    expect(api.services.submitted).toHaveLength(1)
  })

  it('are not asked for when the client asks first', async () => {
    const { send, closed, until, socket } = await dial(started())
    send(head('Expect: 100-continue\r\nContent-Length: 2097153'))
    await until('too_large')
    socket.end()
    expect(await closed).toMatch(/^HTTP\/1\.1 413 /)
  })

  it('are not asked for when the request is refused for something else', async () => {
    const { send, closed, until, socket } = await dial(started())
    send(head(`Expect: 100-continue\r\nContent-Encoding: gzip\r\nContent-Length: ${task.length}`))
    await until('unsupported_media_type')
    socket.end()
    const answer = await closed
    expect(answer).toMatch(/^HTTP\/1\.1 415 /)
    expect(answer.toLowerCase()).toContain('connection: close\r\n')
  })

  it('are asked for up to the limit, and the connection goes on', async () => {
    const { send, until, socket } = await dial(started())
    send(head(`Expect: 100-continue\r\nContent-Length: ${task.length}`))
    await until('100 Continue')
    send(task)
    expect((await until('task_id')).toLowerCase()).not.toContain('connection: close')
    send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    await until('"ok"')
    socket.destroy()
  })

  it('are taken in full up to it', async () => {
    const api = started()
    const body = `{"task_type":"a"${' '.repeat(2_097_152 - task.length)}}`
    expect((await api.post('/api/v1/tasks', body)).status).toBe(202)
    expect((await api.post('/api/v1/tasks', `${body} `)).status).toBe(413)
  })
})

describe('slow and broken clients', () => {
  it('lose their connection when the headers do not come', async () => {
    const api = started({ headersTimeoutMs: 100, requestTimeoutMs: 200, connectionsCheckMs: 50 })
    const { send, closed } = await dial(api)
    send('POST /api/v1/tasks HTTP/1.1\r\nHost')
    expect(await closed).toMatch(/^HTTP\/1\.1 408 /)
  })

  it('lose it when the body does not come', async () => {
    const api = started({ headersTimeoutMs: 100, requestTimeoutMs: 200, connectionsCheckMs: 50 })
    const { send, closed } = await dial(api)
    send('POST /api/v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"task')
    expect(problemIn(await closed)).toMatchObject({ status: 408, code: 'request_timeout' })
    expect(api.services.submitted).toEqual([])
  })

  it('get 400 for what is not HTTP', async () => {
    const { send, closed } = await dial(started())
    send('hello\r\n\r\n')
    expect(problemIn(await closed)).toMatchObject({ status: 400, code: 'invalid_request', title: 'Invalid request' })
  })

  const submission = (head: string) =>
    `POST /api/v1/tasks HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${task.length}\r\n\r\n${task}`

  it.each([
    ['names no host', submission(''), 'is required'],
    ['names two', submission('Host: a\r\nhost: b\r\n'), 'is given more than once'],
    ['names none of a path that is not there', 'GET /nowhere HTTP/1.1\r\n\r\n', 'is required'],
  ])('get 400 for a request that %s', async (_what, request, message) => {
    const api = started()
    const { send, until, socket, closed } = await dial(api)
    send(request)
    await until('"errors"')
    socket.end()
    expect(problemIn(await closed)).toMatchObject({ code: 'invalid_request', errors: [{ path: 'Host', message }] })
    expect(api.services.submitted).toEqual([])
  })

  it('get an answer without a host by HTTP/1.0', async () => {
    const { send, closed } = await dial(started())
    send('GET /healthz HTTP/1.0\r\n\r\n')
    expect(await closed).toMatch(/^HTTP\/1\.1 200 /)
  })

  it.each([
    ['sends its body', submission('Host: x\r\nExpect: a-miracle\r\n')],
    ['waits for it', submission('Host: x\r\nExpect: a-miracle\r\n').slice(0, -task.length)],
  ])('get 417 for what they expect beyond a word on the body, whether the client %s', async (_what, request) => {
    const api = started()
    const { send, until, socket, closed } = await dial(api)
    send(request)
    await until('expectation_failed')
    socket.end()
    const answer = await closed
    expect(problemIn(answer)).toMatchObject({ status: 417, code: 'expectation_failed' })
    expect(answer.toLowerCase()).toContain('connection: close')
    expect(api.services.submitted).toEqual([])
  })

  it('get 431 for headers that are too large', async () => {
    const { send, closed } = await dial(started())
    send(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(17_000)}\r\n\r\n`)
    expect(problemIn(await closed)).toMatchObject({ status: 431, code: 'headers_too_large' })
  })

  it('get 431 also while they go on sending headers', async () => {
    const { socket, send, sent, closed } = await dial(started())
    socket.pause()
    send('GET /healthz HTTP/1.1\r\nHost: x\r\n')
    for (let count = 0; count < 512; count++) await sent(Buffer.from(`X-Long: ${'x'.repeat(0x10000)}\r\n`))
    socket.resume()
    socket.end()
    expect(problemIn(await closed)).toMatchObject({ status: 431, code: 'headers_too_large' })
  })

  it('get 400 after an answer that was good, and the two are told apart', async () => {
    const { send, until, closed } = await dial(started())
    send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    await until('"ok"')
    send('what?\r\n\r\n')
    const answers = await closed
    expect(problemIn(answers.slice(answers.lastIndexOf('HTTP/1.1 4')))).toMatchObject({ status: 400 })
  })

  it.each([
    ['what is not HTTP', 'what?\r\n\r\n'],
    ['headers that are too large', `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(17_000)}\r\n\r\n`],
  ])('get the answer to a request that is under way, and none to %s behind it', async (_what, behind) => {
    const api = started()
    const { submit } = api.services.intake
    let commit = (): void => {}
    const isUnderWay = new Promise<void>((resolve) => {
      api.services.intake.submit = async (submission) => {
        resolve()
        await new Promise<void>((go) => {
          commit = go
        })
        return submit(submission)
      }
    })
    const refused = new Promise((resolve) => api.app.server.once('clientError', resolve))
    const { send, closed } = await dial(api)
    send(
      `POST /api/v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${task.length}\r\n\r\n${task}`,
    )
    await isUnderWay
    send(behind)
    await refused
    commit()
    const answers = await closed
    expect([...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1])).toEqual(['202'])
    expect(answers.toLowerCase()).toContain('connection: close')
  })

  it('are no error of ours when they leave in the middle of a body', async () => {
    const api = started()
    const { send, socket, until } = await dial(api)
    send('POST /api/v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n')
    send('Expect: 100-continue\r\n\r\n{"task')
    await until('100 Continue')
    socket.destroy()
    while (!api.log.some((line) => line.includes('went away before'))) await new Promise(setImmediate)
    expect(api.log.filter((line) => !line.includes('"level":"debug"'))).toEqual([])
    expect(api.services.submitted).toEqual([])
  })

  it('get their answers in order when they pipeline', async () => {
    const { send, until, socket } = await dial(started())
    const request = (body: string) =>
      `POST /api/v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    send(`${request(task)}${request('{')}GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`)
    const answers = await until('"ok"')
    expect([...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1])).toEqual(['202', '400', '200'])
    socket.destroy()
  })

  it('are turned away at the door when there are too many connections', async () => {
    const api = started({ maxConnections: 1 })
    const first = await dial(api)
    await new Promise((resolve) => first.socket.once('connect', resolve))
    const second = connect(Number(new URL(first.url).port), '127.0.0.1')
    second.on('error', () => {})
    await new Promise((resolve) => second.once('close', resolve))
    first.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    await first.until('"ok"')
    first.socket.destroy()
  })

  it('end their wait when they go away', async () => {
    const api = started()
    const session = await api.services.workers.register()
    const waiting = new Promise<AbortSignal>((resolve) => {
      api.services.onWait = resolve
    })
    const { send, socket } = await dial(api)
    const body = '{"slots":1,"wait_seconds":60}'
    send(
      `POST /api/v1/workers/${encodeId('worker', session.id)}/poll HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    const signal = await waiting
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
    socket.destroy()
    await aborted
  })
})

describe('closing', () => {
  it('answers waiting polls empty, refuses what is new and ends the connections', async () => {
    const api = started()
    const late = await dial(api)
    const registration = '{"name":"w","queues":["q"],"task_types":["t"],"slots":1}'
    const post = (path: string, body: string) =>
      fetch(`${late.url}/api/v1/${path}`, { method: 'POST', headers: json, body })
    const { worker_id } = (await (await post('workers', registration)).json()) as { worker_id: string }
    const waiting = new Promise<AbortSignal>((resolve) => {
      api.services.onWait = resolve
    })
    const poll = post(`workers/${worker_id}/poll`, '{"slots":1,"wait_seconds":60}')
    const signal = await waiting
    late.send('GET /api/v1/queues HTTP/1.1\r\nHost: x\r\n')
    await fetch(`${late.url}/healthz`)
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
    const closed = api.app.close()
    await aborted
    late.send('\r\n')
    const refusal = await late.closed
    expect(refusal).toMatch(/^HTTP\/1\.1 503 /)
    expect(refusal).toContain('"code":"shutting_down"')
    expect(refusal.toLowerCase()).toContain('retry-after: 1\r\n')
    expect(refusal.toLowerCase()).toContain('connection: close\r\n')
    const answer = await poll
    expect(answer.status).toBe(200)
    expect(answer.headers.get('connection')).toBe('close')
    expect(await answer.json()).toEqual({ tasks: [] })
    await closed
  })
})
