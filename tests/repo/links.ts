import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SourceFile } from './files.js'

/** Links of a Markdown file to files or headings that are not there. Links that leave the repository are not followed. */
export function brokenLinks(file: SourceFile, root: string): string[] {
  return linksOf(file.text).flatMap((link) => {
    const reason = problemOf(link, file, root)
    return reason === null ? [] : [`${file.path}: [${link}] ${reason}`]
  })
}

/** Targets of inline links, images and reference definitions; code is left out. */
export function linksOf(markdown: string): string[] {
  const prose = withoutCode(markdown)
  const inline = [...prose.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)]
  const references = [...prose.matchAll(/^\s{0,3}\[[^\]]+\]:\s+<?(\S+?)>?\s*$/gm)]
  return [...inline, ...references].flatMap(([, target]) => (target === undefined ? [] : [target]))
}

/** The anchors that a Markdown file offers, as GitHub makes them: a repeated heading gets -1, -2, … */
export function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of withoutFences(markdown).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)) {
    const slug = slugOf(heading)
    let anchor = slug
    for (let n = 1; anchors.has(anchor); n += 1) anchor = `${slug}-${n}`
    anchors.add(anchor)
  }
  for (const [, id = ''] of markdown.matchAll(/<a\s+(?:id|name)="([^"]+)"/g)) anchors.add(id)
  return anchors
}

function slugOf(heading: string): string {
  return heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
}

function problemOf(link: string, file: SourceFile, root: string): string | null {
  if (/^[a-z][a-z+.-]*:/i.test(link)) return null
  if (link.startsWith('/')) return 'begins at /: write it from this file'
  const [path = '', anchor] = link.split('#', 2)
  if (path === '') return problemOfAnchor(anchor ?? '', file)
  const target = join(root, dirname(file.path), decodeURIComponent(path))
  if (!existsSync(target)) return 'leads to no file'
  if (anchor === undefined) return null
  if (statSync(target).isDirectory()) return 'leads to a heading of a folder'
  return problemOfAnchor(anchor, { path: target, text: readFileSync(target, 'utf8') })
}

function problemOfAnchor(anchor: string, { path, text }: SourceFile): string | null {
  if (path.endsWith('.md')) return anchorsOf(text).has(anchor) ? null : 'leads to no heading'
  const line = /^L(\d+)(?:-L(\d+))?$/.exec(anchor)
  const last = Number(line?.[2] ?? line?.[1] ?? Number.NaN)
  return last <= text.split('\n').length ? null : 'leads to no line'
}

function withoutFences(markdown: string): string {
  return markdown.replace(/^(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1[^\n]*$/gm, '')
}

function withoutCode(markdown: string): string {
  return withoutFences(markdown).replace(/(`+)[^`][\s\S]*?\1/g, '')
}
