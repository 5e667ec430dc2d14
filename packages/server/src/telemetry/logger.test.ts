import { describe, expect, it } from 'vitest'
import { createLogger } from './logger.js'

function logged(log: (logger: ReturnType<typeof createLogger>) => void): {
  line: string
  entry: Record<string, unknown>
} {
  const lines: string[] = []
  const destination = { write: (text: string) => void lines.push(text) }
  log(createLogger({ level: 'info', node: 'n1', destination }))
  const line = lines[0] ?? ''
  return { line, entry: line === '' ? {} : (JSON.parse(line) as Record<string, unknown>) }
}

describe('the log', () => {
  it('has one JSON line a message, with level, time and node', () => {
    const { entry } = logged((logger) => logger.info({ tasks: 3 }, 'committed'))
    expect(entry).toMatchObject({ level: 'info', node: 'n1', tasks: 3, msg: 'committed' })
    expect(entry.time).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)
  })

  it('leaves out what is below its level', () => {
    expect(logged((logger) => logger.debug('x')).line).toBe('')
  })

  it('hides payloads and secrets', () => {
    const { line } = logged((logger) =>
      logger.info({ payload: 'p-1', task: { result: 'p-2', headers: { authorization: 'p-3' } }, password: 'p-4' }, 'x'),
    )
    expect(line).not.toContain('p-')
    expect(line).toContain('[hidden]')
  })

  it('tells causes of errors, without credentials and without row values', () => {
    const cause = Object.assign(new Error('connect postgres://duly:s3cret@db:5432/duly'), {
      code: 'ECONNREFUSED',
      detail: 'Key (x)=(y)',
    })
    const { line, entry } = logged((logger) => logger.error({ err: new Error('no store', { cause }) }, 'failed'))
    expect(entry).toMatchObject({
      err: {
        message: 'no store',
        cause: { code: 'ECONNREFUSED', message: 'connect postgres://[hidden]@db:5432/duly' },
      },
    })
    expect(line).not.toMatch(/s3cret|Key \(x\)/)
  })
})
