import { connect } from 'node:net'
import { encodeId } from '@duly/domain'
import { describe, expect, it } from 'vitest'
import { dial, problemIn } from './test-support/dial.js'
import { started } from './test-support/started.js'

const json = { 'content-type': 'application/json' }
const task = '{"task_type":"a"}'

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
      api.services.told.onWait = resolve
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
      api.services.told.onWait = resolve
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
