import { DulyError } from '@duly/domain'
import { describe, expect, test } from 'vitest'
import { describeConfig, resolveConfig } from './config.js'
import { flagOf, type SettingName, settings } from './settings.js'

const names = Object.keys(settings) as SettingName[]

/** What is wrong, as `path: message`. */
function complaints(sources: Parameters<typeof resolveConfig>[0]): string[] {
  try {
    resolveConfig(sources)
  } catch (error) {
    if (!(error instanceof DulyError)) throw error
    expect(error.code).toBe('invalid_request')
    for (const { path } of error.errors ?? []) expect(error.message).toContain(path)
    return (error.errors ?? []).map(({ path, message }) => `${path}: ${message}`)
  }
  return []
}

describe('the configuration', () => {
  test('is complete without anything given, and can not be changed', () => {
    const config = resolveConfig({})
    expect(config).toMatchObject({
      ...{ host: '127.0.0.1', port: 7070, roles: ['api', 'scheduler'], partitions: 64, heartbeatMs: 5_000 },
      ...{ leaseMs: 15_000, graceMs: 5_000, maxCrashes: 3, payloadMaxBytes: 1_048_576, databaseUrl: '' },
    })
    expect(Object.isFrozen(config)).toBe(true)
  })

  test('takes the flag before the environment before the file', () => {
    const file = { port: 1, host: '127.0.0.1', logLevel: 'warn' }
    const env = { DULY_PORT: '2', DULY_HOST: '127.0.0.2' }
    expect(resolveConfig({ file, env, flags: { port: 3 } })).toMatchObject({
      port: 3,
      host: '127.0.0.2',
      logLevel: 'warn',
    })
    expect(resolveConfig({ file, env: { ...env, DULY_PORT: '' } })).toMatchObject({ port: 1 })
    expect(resolveConfig({ file, env, flags: { port: undefined } })).toMatchObject({ port: 2 })
    expect(resolveConfig({ flags: { port: 0 } })).toMatchObject({ port: 0 })
    const defaults = { logLevel: 'error' }
    expect(resolveConfig({ defaults })).toMatchObject({ logLevel: 'error' })
    expect(resolveConfig({ file, defaults })).toMatchObject({ logLevel: 'warn' })
  })

  test('takes no word of Kubernetes about a service of our name for a setting', () => {
    const env = { DULY_PORT: 'tcp://10.0.0.7:7070' }
    expect(resolveConfig({ env })).toMatchObject({ port: 7070 })
    expect(resolveConfig({ env, file: { port: 8080 } })).toMatchObject({ port: 8080 })
    expect(complaints({ env: { DULY_PORT: 'tcp://10.0.0.7' } })).toEqual([
      expect.stringContaining('DULY_PORT: must be'),
    ])
    expect(complaints({ flags: { port: 'tcp://10.0.0.7:7070' } })).toEqual([expect.stringContaining('--port: must be')])
    expect(resolveConfig({ env: { DULY_HOST: 'tcp://h:1' } })).toMatchObject({ host: 'tcp://h:1' })
  })

  test('tells all errors at once, each with where it was given', () => {
    const found = complaints({
      flags: { port: 65_536, maxCrashes: '2.5' },
      env: {
        DULY_ROLES: 'api,worker',
        DULY_LOG_LEVEL: 'loud',
        DULY_DATABASE_URL: 'mysql://u:s3cret@h/d',
        DULY_HOST: ' ',
      },
      file: { leaseSeconds: 'long', partitons: 3, hotConnections: null },
    })
    expect(found).toEqual([
      'file: partitons: is not a setting',
      'DULY_HOST: must not be empty',
      '--port: must be a whole number from 0 to 65535',
      'DULY_DATABASE_URL: must be a postgres:// URL',
      'DULY_ROLES: must be a list of api, scheduler',
      'DULY_LOG_LEVEL: must be one of fatal, error, warn, info, debug, trace, silent',
      'file: leaseSeconds: must be seconds from 0.3 to 300',
      '--max-crashes: must be a whole number from 1 to 100',
    ])
    expect(found.join()).not.toContain('s3cret')
  })

  test.each(['', ' ', 'NaN', 'Infinity', '-1', '5s', '1e999', 'five', '1,5'])('refuses %j for a number', (text) => {
    expect(complaints({ file: { leaseSeconds: text } })).toHaveLength(1)
    expect(complaints({ file: { partitions: text } })).toHaveLength(1)
  })

  test('wants a lease of two heartbeats at least', () => {
    expect(complaints({ env: { DULY_HEARTBEAT_SECONDS: '10' } })).toEqual([
      'DULY_LEASE_SECONDS: must be at least two heartbeats',
    ])
    expect(complaints({ env: { DULY_HEARTBEAT_SECONDS: '10' }, flags: { leaseSeconds: 20 } })).toEqual([])
    expect(resolveConfig({ env: { DULY_HEARTBEAT_SECONDS: '0.1', DULY_LEASE_SECONDS: '0.3' } })).toMatchObject({
      ...{ heartbeatMs: 100, leaseMs: 300 },
    })
  })

  test('is never open unless it is told so by name, wherever it listens', () => {
    for (const host of ['127.0.0.1', '0.0.0.0', 'duly.example']) {
      expect(resolveConfig({ flags: { host } })).toMatchObject({ host, open: false })
      expect(resolveConfig({ env: { DULY_HOST: host }, flags: { open: true } })).toMatchObject({ host, open: true })
      expect(resolveConfig({ flags: { host }, env: { DULY_OPEN: 'true' } }).open).toBe(true)
      expect(resolveConfig({ file: { host, open: true } }).open).toBe(true)
      expect(resolveConfig({ flags: { host, open: false }, env: { DULY_OPEN: 'true' } }).open).toBe(false)
    }
  })

  test('takes no word but true and false for a switch', () => {
    expect(complaints({ env: { DULY_OPEN: 'yes' } })).toEqual(['DULY_OPEN: must be true or false'])
  })

  test('reads lists without repeats, from text and from a file', () => {
    expect(resolveConfig({ env: { DULY_ROLES: ' api , api ' } }).roles).toEqual(['api'])
    expect(resolveConfig({ file: { roles: ['scheduler', 'api'] } }).roles).toEqual(['scheduler', 'api'])
    expect(complaints({ file: { roles: [] } })).toHaveLength(1)
  })

  test('does not take what every object has for a setting', () => {
    expect(complaints({ file: JSON.parse('{"constructor": 1, "__proto__": 2, "toString": 3}') })).toHaveLength(3)
  })
})

describe('what is printed', () => {
  const shown = (databaseUrl: string) =>
    describeConfig(resolveConfig({ flags: { databaseUrl } })).DULY_DATABASE_URL ?? ''

  test.each([
    'postgres://ada:s3cret@db:5432/duly',
    'postgresql://ada:s3cret@db/duly?sslmode=require',
    'postgres://ada@db/duly?password=s3cret',
    'postgres://ada@db/duly?sslpassword=s3cret&application_name=x',
    'postgres://ada:s3cret%20more@db/duly',
    'postgres://ada:s3cret@db1:5432,db2:5432/duly',
    'postgres://ada:s3cret#more@db/duly',
    'postgres://ada:s3cret/more@db/duly',
    'postgres://ada:12/s3cret@db/duly',
  ])('of %s holds no password', (url) => {
    expect(shown(url)).not.toContain('s3cret')
  })

  test('names every setting by its variable, and reads back the same', () => {
    const config = resolveConfig({ flags: { databaseUrl: 'postgres://db/duly', heartbeatSeconds: 0.5, roles: 'api' } })
    const printed = describeConfig(config)
    expect(Object.keys(printed).sort()).toEqual(names.map((name) => settings[name].env).sort())
    expect(resolveConfig({ env: printed })).toEqual(config)
  })

  test('flags are the names in kebab case', () => {
    expect(names.map(flagOf)).toContain('--statement-timeout-seconds')
    expect(new Set(names.map(flagOf)).size).toBe(names.length)
  })
})
