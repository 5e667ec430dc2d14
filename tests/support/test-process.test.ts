import { expect, test } from 'vitest'
import { startNode } from './test-process.js'

function run(script: string) {
  return startNode(['-e', script], { name: 'a script', env: { GREETING: 'hello' } })
}

test('lines of both streams arrive, also those printed before they were asked for', async () => {
  const child = run(`console.log(process.env.GREETING); console.error('port 4711'); setInterval(() => {}, 1e6)`)
  expect((await child.line(/port (\d+)/))[1]).toBe('4711')
  expect((await child.line(/hel+o/))[0]).toBe('hello')
  expect(child.isRunning).toBe(true)
  expect(await child.kill('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
  expect(child.isRunning).toBe(false)
})

test('a line that never comes is told with what did come', async () => {
  const child = run(`process.stdout.write('half a line'); process.exitCode = 3`)
  await expect(child.line(/whole/)).rejects.toThrow(/a script \(pid \d+\) did not print \/whole\/.*half a line/s)
  expect(await child.exited).toEqual({ code: 3, signal: null })
})

test('a paused process can be ended by any signal', async () => {
  const child = run(`process.once('SIGTERM', () => process.exit(7)); console.log('up'); setInterval(() => {}, 1e6)`)
  await child.line(/up/)
  child.signal('SIGSTOP')
  expect(await child.kill('SIGTERM')).toEqual({ code: 7, signal: null })
})
