import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { gates } from './lane.js'
import { isName, limits } from './limits.js'
import { renderLimits } from './limits-page.js'

describe('limits', () => {
  it('are the agreed ones', () => {
    const day = 86_400_000
    expect(limits).toMatchObject({
      payloadMaxBytes: 1_048_576,
      resultMaxBytes: 1_048_576,
      settablePayloadMaxBytes: 16_777_216,
      singleBodyMaxBytes: 2_097_152,
      batchBodyMaxBytes: 67_108_864,
      metadataMaxBytes: 16_384,
      timeoutMinMs: 100,
      timeoutMaxMs: 7 * day,
      checkpointMaxBytes: 262_144,
      logsMaxBytesPerTask: 1_048_576,
      workflowMaxNodes: 10_000,
      workflowMaxEdges: 100_000,
      dependencyResultsMaxBytes: 1_048_576,
      dependencyResultsMaxItems: 100,
      jsonMaxDepth: 100,
      jsonMaxParts: 2_000_000,
      jsonMaxKeys: 10_000,
    })
    expect(limits.instantMaxMs).toBe(Date.parse('9999-12-31T23:59:59.999Z'))
    expect(limits.delayMaxMs).toBe(Date.parse('2037-01-01') - Date.parse('2027-01-01'))
  })
})

describe('isName', () => {
  const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-:/'

  it('takes 1 to 128 of the allowed characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength: 128 }), (name) => {
        expect(isName(name)).toBe(true)
      }),
    )
  })

  it('refuses every other length and every other character', () => {
    expect(isName('')).toBe(false)
    expect(isName('a'.repeat(129))).toBe(false)
    for (let unit = 0; unit < 0x1_0000; unit++) {
      const character = String.fromCharCode(unit)
      if (isName(`a${character}`) !== characters.includes(character))
        throw new Error(`wrong about U+${unit.toString(16)}`)
    }
    expect(isName('name\n')).toBe(false)
  })

  it('keeps reserved gates apart from names', () => {
    for (const gate of [gates.suspect, gates.overflow]) expect(isName(gate)).toBe(false)
  })
})

describe('docs/reference/limits.md', () => {
  const page = readFileSync(new URL('../../../docs/reference/limits.md', import.meta.url), 'utf8')

  it('equals what the limits render; `npm run generate` writes it anew', () => {
    expect(page).toBe(renderLimits())
  })

  it('has a row for each limit, with its unit', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| What |'))
    expect(rows).toHaveLength(Object.keys(limits).length)
    expect(rows).toContain('| tasks of a workflow, added ones too | 10,000 |')
    expect(rows).toContain('| checkpoint | 256 KiB |')
    expect(rows).toContain('| time limit of an attempt, at least | 0.1 s |')
    expect(rows).toContain('| time limit of an attempt, at most | 7 days |')
    expect(rows).toContain('| latest instant | 9999-12-31T23:59:59.999Z |')
  })
})
