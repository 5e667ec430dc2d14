import { describe, expect, it } from 'vitest'
import { filesUnder, type SourceFile } from '../repo/files.js'
import { type Block, blocksOf, inlineCode, placeOf } from './blocks.js'
import { dulyFault, faultOf, requestFault, schemaFault } from './check-words.js'
import { mismatch } from './json-shape.js'
import { commandsOf, wordsOf } from './shell.js'

const pages = filesUnder('', ['.md'])
const blocks = pages.flatMap(blocksOf)
/** What samples in JavaScript and TypeScript are taken from: all of it is run by tests. */
const runnable = [...filesUnder('examples', ['.mjs', '.ts']), ...filesUnder('packages', ['.test.ts'])]
/**
 * How each kind of block is covered. `run`: by run.test.ts, against a server. `known`: it stands in a file that is run. `judged`:
 * here, without running it. `none`: it is no code.
 */
const kinds: Readonly<Record<string, 'run' | 'known' | 'judged' | 'none'>> = {
  sh: 'run',
  http: 'run',
  json: 'run',
  js: 'known',
  ts: 'known',
  ini: 'judged',
  yaml: 'judged',
  sql: 'judged',
  text: 'none',
  mermaid: 'none',
}

/** Why a block is not covered as its kind is: `parse: …` and `no: …` give a reason, `body …` names a schema. */
const NOTE = /^(?:(?:parse|no): .{20,}|body \w+)$/

describe('samples in documents', () => {
  it('are of a kind that is covered, and what is excepted has its reason', () => {
    expect(blocks.length).toBeGreaterThan(20)
    const strange = blocks.filter(
      ({ language, note }) => kinds[language] === undefined || (note !== null && !NOTE.test(note)),
    )
    expect(strange.map((block) => `${placeOf(block)} \`${block.language}\` ${block.note ?? ''}`)).toEqual([])
    expect(blocks.filter(({ note }) => note?.startsWith('no:')).length).toBeLessThanOrEqual(2)
    expect(blocks.filter(({ note }) => note?.startsWith('parse:')).length).toBeLessThanOrEqual(6)
  })

  it('in JavaScript and TypeScript stand word for word in an example or a test', () => {
    const known = blocks.filter(({ language }) => kinds[language] === 'known')
    expect(known.length).toBeGreaterThan(10)
    expect(known.filter((block) => !stands(block.text, runnable)).map(placeOf)).toEqual([])
  })

  it('in JSON fit the schema that they are said to have', () => {
    const said = blocks.flatMap((block) => {
      const [, schema] = /^body (\w+)$/.exec(block.note ?? '') ?? []
      return schema === undefined ? [] : [`${placeOf(block)} ${schemaFault(schema, block.text)}`]
    })
    expect(said.filter((line) => !line.endsWith(' null'))).toEqual([])
  })

  it('for a shell have commands, flags, paths and bodies that exist', async () => {
    const faults: string[] = []
    for (const block of blocks) {
      if (block.note?.startsWith('no:')) continue
      for (const { words, line } of linesOf(block)) {
        const fault = await faultOf(words)
        if (fault !== null) faults.push(`${block.page}:${block.line + line} ${fault}`)
      }
    }
    expect(faults).toEqual([])
  })

  it('in the middle of a sentence name commands and flags that exist', async () => {
    const faults: string[] = []
    for (const page of pages) {
      for (const code of inlineCode(page)) {
        if (!/^(?:npx )?duly /.test(code)) continue
        const [words = []] = wordsOf(code.replaceAll(/<[^>]+>|[[\]]/g, 'x').replace(/^npx /, ''))
        for (const name of (words[2] ?? '').split('|')) {
          const args = words.slice(1).map((word, index) => (index === 1 ? name : word))
          const fault = await dulyFault(
            args.filter((word) => word !== '…'),
            { isWhole: false },
          )
          if (fault !== null) faults.push(`${page.path} \`${code}\`: ${fault}`)
        }
      }
    }
    expect(faults).toEqual([])
  })

  it('in the middle of a sentence name routes that exist', () => {
    const faults = pages.flatMap((page) =>
      inlineCode(page).flatMap((code) => {
        const [, method = '', path = ''] = /^(GET|POST|PUT|PATCH|DELETE) (\/[^\s?]*)/.exec(code) ?? []
        const fault = method === '' ? null : requestFault(method, path.replace('…', 'x'))
        return fault === null ? [] : [`${page.path} ${fault}`]
      }),
    )
    expect(faults).toEqual([])
  })

  it('name settings and metrics that exist', () => {
    const sources = filesUnder('packages', ['.ts', '.sql', '.mjs']).concat(
      filesUnder('scripts', ['.mjs']),
      filesUnder('tests', ['.ts', '.mjs']),
      filesUnder('bench', ['.ts', '.mjs']),
      filesUnder('examples', ['.mjs', '.ts']),
    )
    const all = sources.map(({ text }) => text).join('\n')
    const unknown = pages.flatMap(({ path, text }) =>
      [...new Set(text.match(/\bDULY_[A-Z_]+\b|\bduly_[a-z_]+\b/g))]
        .filter((name) => !all.includes(name.replace(/_(?:bucket|sum|count)$/, '')))
        .map((name) => `${path}: ${name}`),
    )
    expect(unknown).toEqual([])
  })
})

/** Do all parts of a sample stand in one of the files? A line with `…` alone stands for what is left out. */
function stands(sample: string, files: readonly SourceFile[]): boolean {
  const parts = sample.split(/^\s*…\n/m).filter((part) => part.trim() !== '')
  return files.some(({ text }) => parts.every((part) => text.includes(part)))
}

/** The commands in a block: of a shell, of a systemd unit, of the examples in the help of a command. */
function linesOf(block: Block): { readonly words: readonly string[]; readonly line: number }[] {
  if (block.language === 'sh') {
    return commandsOf(block.text).flatMap(({ text, line }) => wordsOf(text).map((words) => ({ words, line })))
  }
  if (block.language !== 'ini' && block.language !== 'text') return []
  return block.text.split('\n').flatMap((text, line) => {
    const [, command] = /^(?:ExecStart(?:Pre)?=| {2}(?=duly ))(.*)$/.exec(text) ?? []
    return command === undefined ? [] : wordsOf(command).map((words) => ({ words, line }))
  })
}

describe('the checks of samples', () => {
  it('find a stranger', () => {
    const file = (text: string) => [{ path: 'a.mjs', text }]
    const sample = 'const a = 1\n…\nconst b = 2\n'
    expect(stands(sample, file('const a = 1\nconst x = 0\nconst b = 2\n'))).toBe(true)
    expect(stands(sample, file('const a = 1\n'))).toBe(false)
  })

  it('read blocks with their notes', () => {
    const text = 'a\n\n<!-- sample: body Queue -->\n\n```json\n{}\n```\n\n~~~sh\nls\n```\n~~~\n'
    expect(blocksOf({ path: 'p.md', text })).toEqual([
      { page: 'p.md', line: 6, language: 'json', text: '{}\n', note: 'body Queue' },
      { page: 'p.md', line: 10, language: 'sh', text: 'ls\n```\n', note: null },
    ])
    expect(inlineCode({ path: 'p.md', text: 'the `a\nb` of ``x`` \n```sh\n`c`\n```\n' })).toEqual(['a b'])
  })

  it('read commands as a shell does', () => {
    const text =
      'curl -s \'a#b\' \\\n  -d \'{\n  "a": 1}\' # comment, exit code 1\n\n# alone\nA=1 duly x | cat && b "c d"\n'
    const commands = commandsOf(text)
    expect(commands.map(({ comment, line }) => ({ comment, line }))).toEqual([
      { comment: 'comment, exit code 1', line: 0 },
      { comment: '', line: 5 },
    ])
    expect(commands.map(({ text: command }) => wordsOf(command))).toEqual([
      [['curl', '-s', 'a#b', '-d', '{\n  "a": 1}']],
      [['duly', 'x'], ['cat'], ['b', 'c d']],
    ])
    expect(() => commandsOf("echo 'open\n")).toThrow('not ended')
  })

  it.each([
    'duly task submti a',
    'npx duly task submit a --payloud 1',
    'duly task get',
    'duly migrate now',
    'npm run nothing',
    'node examples/missing.mjs',
    '/usr/bin/node /opt/duly/packages/duly/bin/duly.js server',
    'curl 127.0.0.1:7070/api/v1/taskss',
    'curl -X PUT 127.0.0.1:7070/api/v1/tasks',
    `curl 127.0.0.1:7070/api/v1/tasks -d '{"type":"a"}'`,
    `curl -X POST 127.0.0.1:7070/api/v1/tasks/task-1/cancel -d '{}'`,
  ])('refuse %s', async (line) => {
    const [words = []] = wordsOf(line)
    expect(await faultOf(words)).toEqual(expect.any(String))
  })

  it.each([
    'duly task submit a --payload {} --wait',
    'npx duly serve --port 0',
    '/usr/bin/node /opt/duly/packages/duly/bin/duly.js serve',
    'node --test examples/testing/*.test.mjs',
    'npm start',
    'npm run check -- rules',
    `curl -s '127.0.0.1:7070/api/v1/tasks/task-…?wait_seconds=30'`,
    `curl http://127.0.0.1:7070/api/v1/tasks -d '{"task_type":"a"}'`,
    'ls -l',
  ])('admit %s', async (line) => {
    const [words = []] = wordsOf(line)
    expect(await faultOf(words)).toBeNull()
  })

  it('compare JSON with what was printed', () => {
    const id = 'task-01m8m8g63ye0v964cp0nfyyggj'
    const printed = JSON.stringify({ task_id: id, n: 1, list: [1, 2], file: `/tmp/x/mail/${id}.eml` })
    const shown = (more: object) =>
      JSON.stringify({ task_id: 'task-…', n: 1, list: [1, '…'], file: `…/mail/${id}.eml`, ...more })
    expect(mismatch(shown({}), printed)).toBeNull()
    expect(mismatch(shown({ n: 2 }), printed)).toContain('.n')
    expect(mismatch(shown({ m: 2 }), printed)).toContain('.m')
    expect(mismatch('{"n":1}', printed)).toContain('also has task_id')
    expect(mismatch('{"n":1,"…":0}', printed)).toBeNull()
    expect(mismatch('{}', 'no JSON')).toEqual(expect.any(String))
  })

  it('judge bodies by the contract', () => {
    expect(schemaFault('SubmitTask', '{"task_type":"a"}')).toBeNull()
    expect(schemaFault('SubmitTask', '{"task_type":1}')).toContain('task_type')
    expect(schemaFault('Nothing', '{}')).toContain('no schema')
    expect(requestFault('POST', '/tasks/{id}/cancel')).toBeNull()
    expect(requestFault('GET', '/healthz')).toBeNull()
    expect(requestFault('PUT', '/tasks')).toContain('no route')
  })
})
