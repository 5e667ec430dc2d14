import { settings } from '@duly/server'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { misspeltVariables, serviceLinks } from './misspelt-variables.js'

const known = Object.values(settings).map(({ env }) => env)
const linesOf = (...names: string[]): string[] =>
  misspeltVariables(Object.fromEntries(names.map((name) => [name, 'x'])), known).map(({ message }) => message)

describe('a variable that is no setting', () => {
  it.each([
    ['DULY_RETENTION_DAY', 'DULY_RETENTION_DAYS'],
    ['DULY_PROT', 'DULY_PORT'],
    ['DULY_PAYLOAD_MAXBYTES', 'DULY_PAYLOAD_MAX_BYTES'],
    ['DULY_DB_URL', undefined],
    ['DULY_DATABASEURL', 'DULY_DATABASE_URL'],
    ['DULY_APIKEY', 'DULY_API_KEY'],
    ['DULY_DATADIR', 'DULY_DATA_DIR'],
    ['DULY_RATE_LIMIT_OF_ALL', undefined],
    ['DULY_', undefined],
  ])('%s is told, with the nearest that is one: %s', (wrong, right) => {
    const [line, ...others] = linesOf(wrong)
    expect(others).toEqual([])
    expect(line).toMatch(new RegExp(`^${wrong} is no setting`))
    if (right === undefined) expect(line).toContain('`duly config` shows the settings')
    else expect(line).toContain(`did you mean ${right}?`)
  })

  it('is told once for each, in the order of their names', () => {
    const lines = linesOf('DULY_PROT', 'DULY_HOSTS', 'DULY_PORT', 'PATH', 'EDULY_PORT')
    expect(lines.map((line) => line.split(' ')[0])).toEqual(['DULY_HOSTS', 'DULY_PROT'])
  })
})

describe('a setting that holds the word of a service', () => {
  it('is told with the service, and how to be rid of it', () => {
    const [warning, ...others] = serviceLinks(['DULY_PORT'])
    expect(others).toEqual([])
    expect(warning).toMatchObject({ code: 'service_link', variable: 'DULY_PORT' })
    expect(warning?.message).toMatch(/service called duly, .*enableServiceLinks: false/)
  })
})

describe('nothing is told', () => {
  it('of what is read somewhere', () => {
    expect(linesOf(...known, 'DULY_URL', 'DULY_API_KEY', 'DULY_DATA_DIR', 'DULY_MAIL_DIR')).toEqual([])
  })

  it('of what Kubernetes says of services', () => {
    const ports = ['PORT', 'PORT_7070_TCP', 'PORT_7070_TCP_ADDR', 'PORT_7070_TCP_PORT', 'PORT_7070_TCP_PROTO']
    const names = ['SERVICE_HOST', 'SERVICE_PORT', 'SERVICE_PORT_HTTP', ...ports]
    expect(linesOf(...names.flatMap((name) => [`DULY_${name}`, `DULY_POSTGRES_${name}`]))).toEqual([])
  })

  it('of variables of others', () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        fc.pre(!name.startsWith('DULY_'))
        expect(linesOf(name)).toEqual([])
      }),
    )
  })
})
