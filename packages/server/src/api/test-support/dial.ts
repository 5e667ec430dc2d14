import { connect, type Socket } from 'node:net'
import { Problem } from '@duly/contract'
import { expect } from 'vitest'
import { compileValidator } from '../validate.js'
import type { TestApi } from './test-api.js'

/** A real connection: sends texts, gathers what comes back, tells when the other side has closed. */
export async function dial(api: TestApi) {
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
export function problemIn(answer: string): Record<string, unknown> {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  const problem = JSON.parse(body)
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${problem.status} `))
  expect(head.toLowerCase()).toContain('content-type: application/problem+json')
  expect(head.toLowerCase()).toContain(`x-request-id: ${problem.request_id}`)
  expect(compileValidator(Problem)(problem)).toEqual([])
  return problem
}
