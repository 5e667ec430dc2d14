import { describe, expect, it } from 'vitest'
import { filesUnder, root } from './files.js'
import { anchorsOf, brokenLinks, linksOf } from './links.js'

const pages = filesUnder('', ['.md'])

describe('documents', () => {
  it('link to files and headings that exist', () => {
    expect(pages.length).toBeGreaterThan(0)
    expect(pages.flatMap((page) => brokenLinks(page, root))).toEqual([])
  })
})

describe('the checker of links', () => {
  const look = (text: string) => brokenLinks({ path: 'tests/repo/page.md', text: `# A page\n\n${text}\n` }, root)

  it.each([
    ['[a](missing.md)', /no file/],
    ['![a](../../missing.png)', /no file/],
    ['[a](#elsewhere)', /no heading/],
    ['[a](links.ts#L9999)', /no line/],
    ['[a](links.ts#links)', /no line/],
    ['[a](/README.md)', /write it from this file/],
    ['[a](../repo#links)', /heading of a folder/],
    ['[a]: missing.md', /no file/],
  ])('refuses %s', (text, message) => {
    expect(look(text)).toEqual([expect.stringMatching(message)])
  })

  it.each([
    '[a](links.ts)',
    '[a](#a-page)',
    '[a](links.ts#L3)',
    '[a](../repo)',
    '[a](https://example.com/#x)',
    '`[a](missing.md)`',
  ])('admits %s', (text) => {
    expect(look(text)).toEqual([])
  })

  it('reads neither links nor headings in fenced code', () => {
    const text = '# One\n\n```md\n# Two\n[a](missing.md)\n```\n'
    expect(linksOf(text)).toEqual([])
    expect([...anchorsOf(text)]).toEqual(['one'])
  })

  it('makes anchors as GitHub does', () => {
    const text = '# `duly serve`: the API, v1\n## Same\n## Same\n## I1–I10 & more\n'
    expect([...anchorsOf(text)]).toEqual(['duly-serve-the-api-v1', 'same', 'same-1', 'i1i10--more'])
  })
})
