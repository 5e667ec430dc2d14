import { expect, test } from 'vitest'
import { createDatabase } from '../../../../tests/support/database.js'
import { createLogger } from '../telemetry/logger.js'
import { resolveConfig } from './config.js'
import { OPEN_WARNING } from './exposure.js'
import { startNode } from './start-node.js'

/** Of the range for documentation: no machine has it, so that the start of a node ends at its listening. */
const ELSEWHERE = '192.0.2.1'

async function hostsWarnedOf(host: string): Promise<readonly string[]> {
  const { url } = await createDatabase()
  const lines: string[] = []
  const logger = createLogger({ level: 'warn', destination: { write: (line) => void lines.push(line) } })
  const config = resolveConfig({ flags: { databaseUrl: url, port: 0, host, open: true, drainDelaySeconds: 0 } })
  await startNode(config, { logger }).then((node) => node.stop(), expectNoSuchAddress)
  return lines.flatMap((line) => (line.includes(OPEN_WARNING) ? [JSON.parse(line).host] : []))
}

function expectNoSuchAddress(error: unknown): void {
  expect(error).toMatchObject({ code: 'EADDRNOTAVAIL' })
}

test('a node that strangers reach says so at its start, once', async () => {
  expect(await hostsWarnedOf(ELSEWHERE)).toEqual([ELSEWHERE])
  expect(await hostsWarnedOf('127.0.0.1')).toEqual([])
})

test('a configuration made by hand does not get around the refusal', async () => {
  const config = { ...resolveConfig({}), host: '0.0.0.0' }
  await expect(startNode(config)).rejects.toMatchObject({ code: 'invalid_request', message: /--open/ })
})
