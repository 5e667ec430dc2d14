import type { SourceFile } from '../repo/files.js'

/** A fenced block of a Markdown page. */
export interface Block {
  readonly page: string
  /** Of its first line inside the fence, from 1. */
  readonly line: number
  readonly language: string
  readonly text: string
  /** What `<!-- sample: … -->` right above it says; null: nothing. */
  readonly note: string | null
}

/** Every fenced block of a page, in order. */
export function blocksOf({ path, text }: SourceFile): Block[] {
  const blocks: Block[] = []
  let open: {
    readonly fence: string
    readonly language: string
    readonly note: string | null
    readonly line: number
  } | null = null
  let content: string[] = []
  const lines = text.split('\n')
  for (const [index, line] of lines.entries()) {
    const [, fence = '', language = ''] = /^ {0,3}(`{3,}|~{3,})\s*(\S*)/.exec(line) ?? []
    if (open === null && fence !== '') {
      open = { fence, language, note: noteAbove(lines, index), line: index + 2 }
      content = []
    } else if (open !== null && line.trim() === open.fence) {
      const { language: name, note, line: first } = open
      blocks.push({ page: path, line: first, language: name, text: `${content.join('\n')}\n`, note })
      open = null
    } else content.push(line)
  }
  return blocks
}

function noteAbove(lines: readonly string[], index: number): string | null {
  let at = index - 1
  while (at >= 0 && lines[at]?.trim() === '') at -= 1
  return /^<!--\s*sample:\s*(.*?)\s*-->$/.exec(lines[at] ?? '')?.[1] ?? null
}

/** Where a block stands, for messages. */
export const placeOf = ({ page, line }: Pick<Block, 'page' | 'line'>): string => `${page}:${line}`

/** Code in a line of text, between backticks; fenced blocks left out. */
export function inlineCode({ text }: SourceFile): string[] {
  const prose = text.replace(/^(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1[^\n]*$/gm, '')
  return [...prose.matchAll(/(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)/g)].map(([, code = '']) => code.replaceAll('\n', ' '))
}
