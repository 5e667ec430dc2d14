import { describe, expect, it } from 'vitest'
import { filesUnder, type SourceFile } from './files.js'

/** Languages of fenced blocks that are code of ours; shell, JSON and text are not. */
const FENCED = /^```(?:js|mjs|ts)\n([\s\S]*?)^```$/gm
const runnable = [...filesUnder('examples', ['.mjs']), ...filesUnder('packages', ['.test.ts'])]
const pages = [...filesUnder('', ['.md'])].filter(({ path }) => path === 'README.md' || path.startsWith('docs/guide/'))

/** Blocks that stand in no file that is run, by their first lines. A line with `…` alone stands for what is left out. */
function strangers(page: SourceFile, files: readonly SourceFile[]): string[] {
  return [...page.text.matchAll(FENCED)].flatMap(([, block = '']) => {
    const parts = block.split(/^\s*…\n/m).filter((part) => part.trim() !== '')
    const isKnown = files.some(({ text }) => parts.every((part) => text.includes(part)))
    return isKnown ? [] : [`${page.path}: ${block.split('\n', 2).join(' / ')}`]
  })
}

describe('code in README and guide', () => {
  it('stands word for word in an example or a test', () => {
    expect(pages.length).toBeGreaterThan(3)
    expect(pages.flatMap((page) => strangers(page, runnable))).toEqual([])
  })

  it('is found to be a stranger when it does not', () => {
    const page = { path: 'page.md', text: 'text\n\n```js\nconst a = 1\n…\nconst b = 2\n```\n' }
    const look = (text: string) => strangers(page, [{ path: 'a.mjs', text }])
    expect(look('const a = 1\nconst x = 0\nconst b = 2\n')).toEqual([])
    expect(look('const a = 1\n')).toEqual(['page.md: const a = 1 / …'])
  })
})
