import { describe, expect, it } from 'vitest'
import { dial, problemIn } from './test-support/dial.js'
import { started } from './test-support/started.js'

const task = '{"task_type":"a"}'

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
