import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { generatedPages, stalePages } from '../../scripts/generate.mjs'
import { root } from './files.js'

describe('docs/reference', () => {
  it('is what the code says (else: `npm run generate`)', async () => {
    expect(await stalePages()).toEqual([])
  })

  it('holds generated pages alone', async () => {
    const pages = readdirSync(join(root, 'docs', 'reference')).map((name) => `docs/reference/${name}`)
    expect(pages.sort()).toEqual([...(await generatedPages()).keys()].sort())
  })
})
