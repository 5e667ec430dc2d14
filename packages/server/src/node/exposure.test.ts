import { describe, expect, test } from 'vitest'
import { createDatabase } from '../../../../tests/support/database.js'
import { createLogger } from '../telemetry/logger.js'
import { resolveConfig } from './config.js'
import { isLoopback, NO_KEYS, OPEN_WARNING } from './exposure.js'
import { type NodeOptions, startNode } from './start-node.js'

describe('loopback', () => {
  test.each([
    ...['127.0.0.1', '127.8.9.10', '::1', '0:0:0:0:0:0:0:1', '::1%lo'],
    ...['::ffff:127.0.0.1', 'localhost', 'LOCALHOST'],
  ])('is %s', (host) => {
    expect(isLoopback(host)).toBe(true)
  })

  test.each([
    ...['0.0.0.0', '::', '10.0.0.1', '128.0.0.1', '::2'],
    ...['::ffff:10.0.0.1', 'duly.example', 'localhost.example'],
  ])('is not %s', (host) => {
    expect(isLoopback(host)).toBe(false)
  })
})

/** What a node says of keys at its start. */
async function warningsOf(flags: { readonly open?: boolean }, options: NodeOptions = {}): Promise<readonly string[]> {
  const { url } = await createDatabase()
  const lines: string[] = []
  const logger = createLogger({ level: 'warn', destination: { write: (line) => void lines.push(line) } })
  const config = resolveConfig({ flags: { databaseUrl: url, port: 0, drainDelaySeconds: 0, ...flags } })
  const node = await startNode(config, { logger, ...options })
  await node.stop()
  return lines.map((line) => JSON.parse(line).msg).filter((said) => said === OPEN_WARNING || said === NO_KEYS)
}

test('an open node says so at its start, once, unless it is known', async () => {
  expect(await warningsOf({ open: true })).toEqual([OPEN_WARNING])
  expect(await warningsOf({ open: true }, { isOpenKnown: true })).toEqual([])
})

test('a node that asks for keys says how to make the first one, while there is none', async () => {
  expect(await warningsOf({})).toEqual([NO_KEYS])
})
