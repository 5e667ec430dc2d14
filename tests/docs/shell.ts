/** One command of a shell block. */
export interface ShellCommand {
  readonly text: string
  /** What stands after `#` at its end. */
  readonly comment: string
  /** In the block, from 0. */
  readonly line: number
}

/** The commands of a block: lines, joined where a quote is open or a backslash ends them. */
export function commandsOf(block: string): ShellCommand[] {
  const commands: ShellCommand[] = []
  let pending = ''
  let start = 0
  for (const [index, line] of block.split('\n').entries()) {
    if (pending === '') start = index
    pending = pending === '' ? line : `${pending}\n${line}`
    const { text, comment, isOpen } = split(pending)
    if (isOpen) continue
    if (text !== '') commands.push({ text, comment, line: start })
    pending = ''
  }
  if (pending !== '') throw new Error(`a quote or a line is not ended: ${pending}`)
  return commands
}

function split(line: string): { readonly text: string; readonly comment: string; readonly isOpen: boolean } {
  let quote = ''
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at] ?? ''
    if (quote !== '') {
      if (char === quote) quote = ''
    } else if (char === "'" || char === '"') quote = char
    else if (char === '#' && (at === 0 || /\s/.test(line[at - 1] ?? ''))) {
      return { text: line.slice(0, at).trim(), comment: line.slice(at + 1).trim(), isOpen: false }
    }
  }
  return { text: line.trim(), comment: '', isOpen: quote !== '' || line.endsWith('\\') }
}

/** The simple commands in a command line, each as its words: split at pipes and lists, quotes taken off. */
export function wordsOf(text: string): string[][] {
  const commands: string[][] = []
  let words: string[] = []
  const next = () => {
    if (words.length > 0) commands.push(words)
    words = []
  }
  for (const [token] of text.replaceAll('\\\n', ' ').matchAll(/(?:"[^"]*"|'[^']*'|[^\s'"|&;])+|&&|\|\||[|;&]/g)) {
    if (/^(?:&&|\|\||[|;&])$/.test(token)) next()
    else
      words.push(token.replace(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? ''))
  }
  next()
  return commands.map((each) => each.filter((word, index) => index > 0 || !/^[A-Z_]+=/.test(word)))
}
