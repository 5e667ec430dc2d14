import { type Block, placeOf } from './blocks.js'
import { faultOf } from './check-words.js'
import { mismatch } from './json-shape.js'
import { Job, type Playground } from './playground.js'
import { commandsOf, type ShellCommand, wordsOf } from './shell.js'

/** Goes on until it is told to stop: started, and left running while the page is read. */
const LASTING = /^(?:duly|node \S*duly\.js) (?:serve\b|worker (?!(?:list|get|drain)\b))/
/** What such a command says once it works. */
const WORKS = /ready at|works for/
/** What the playground is. */
const PLAYGROUND = /^(?:npm start|duly dev)\b/
/** Shows how it goes for as long as its tasks take; the page is read on meanwhile. */
const PATIENT = / --progress\b/
const SET_UP = /^npm (?:ci|run|test|install)\b/
const LASTING_LIMIT_MS = 120_000

/** Reads a page as a person would who tries everything on it, from top to bottom. */
export class PageRun {
  readonly #playground: Playground
  readonly #jobs: Job[] = []
  readonly #later: Promise<void>[] = []
  /** The id or the secret that was last printed, by its prefix: `task-…` on the page stands for it. */
  readonly #ids = new Map<string, string>()
  readonly #env: Record<string, string>
  #printed = ''
  readonly faults: string[] = []

  constructor(playground: Playground) {
    this.#playground = playground
    this.#env = { ...playground.env }
  }

  async block(block: Block): Promise<void> {
    if (block.note !== null) return // judged by samples.test.ts
    if (block.language === 'sh') await this.#shell(block)
    if (block.language === 'http') await this.#http(block)
    if (block.language === 'json') {
      const fault = mismatch(block.text, this.#printed)
      if (fault !== null) this.#fault(block, `is not what the command above it printed: ${fault}\n${this.#printed}`)
    }
  }

  /** Waits for what takes long, and stops what was left running. */
  async end(): Promise<void> {
    for (const each of await Promise.allSettled(this.#later.splice(0))) {
      if (each.status === 'rejected') this.faults.push(String(each.reason))
    }
    for (const job of this.#jobs.splice(0).reverse()) {
      const code = await job.stop()
      if (code !== 0) this.faults.push(`\`${job.command}\` ended with ${code} when it was stopped:\n${job.output}`)
    }
  }

  async #shell(block: Block): Promise<void> {
    for (const command of commandsOf(block.text)) {
      const place = { page: block.page, line: block.line + command.line }
      try {
        await this.#command(command)
      } catch (error) {
        this.#fault(place, error instanceof Error ? error.message : String(error))
      }
    }
  }

  async #command({ text, comment }: ShellCommand): Promise<void> {
    if (text.startsWith('export ')) return this.#export(text)
    const line = await this.#withIds(this.#playground.fitted(text))
    if (PLAYGROUND.test(line) || SET_UP.test(line)) return this.#parse(text)
    const isLasting = LASTING.test(line)
    const job = new Job(isLasting ? `exec ${line}` : line, this.#env)
    if (isLasting) {
      this.#jobs.push(job)
      await job.printed(WORKS, LASTING_LIMIT_MS)
      return
    }
    const wanted = Number(/exit code (\d+)/.exec(comment)?.[1] ?? 0)
    if (PATIENT.test(line)) this.#later.push(this.#result(job, wanted))
    else await this.#result(job, wanted)
  }

  async #result(job: Job, wanted: number): Promise<void> {
    const { code, out, err } = await job.result()
    if (!PATIENT.test(job.command)) this.#remember(out)
    if (code !== wanted) throw new Error(`\`${job.command}\` ended with ${code}:\n${out}${err}`)
    if (/^curl\b/.test(job.command) && /"code":"\w+"/.test(out) && /"status":\d/.test(out)) {
      throw new Error(`\`${job.command}\` was answered with a problem:\n${out}`)
    }
  }

  /** As the shell does it: later commands of the page have the variables. What names the server stays. */
  async #export(text: string): Promise<void> {
    const names = [...text.matchAll(/\b([A-Z_]+)=/g)].map(([, name = '']) => name)
    const line = await this.#withIds(this.#playground.fitted(text))
    const values = names.map((name) => `; printf '%s\\n' "$${name}"`).join('')
    const { code, out, err } = await new Job(`${line}${values}`, this.#env).result()
    if (code !== 0) throw new Error(`\`${text}\` ended with ${code}: ${err}`)
    for (const [index, name] of names.entries()) {
      if (!(name in this.#playground.env)) this.#env[name] = out.split('\n')[index] ?? ''
    }
  }

  async #parse(text: string): Promise<void> {
    for (const words of wordsOf(text)) {
      const fault = await faultOf(words)
      if (fault !== null) throw new Error(fault)
    }
  }

  async #http(block: Block): Promise<void> {
    const [head = '', body = ''] = block.text.trimEnd().split('\n\n', 2)
    const [request = '', ...headerLines] = (await this.#withIds(head)).split('\n')
    const [method = '', path = ''] = request.split(' ')
    const headers = headerLines.map((line): [string, string] => {
      const at = line.indexOf(':')
      return [line.slice(0, at), line.slice(at + 1).trim()]
    })
    const answer = await fetch(`${this.#playground.url}${path}`, { method, headers, ...(body === '' ? {} : { body }) })
    const text = await answer.text()
    this.#remember(text)
    if (!answer.ok) this.#fault(block, `${request} was answered ${answer.status}: ${text}`)
  }

  #remember(out: string): void {
    this.#printed = out
    for (const [id, prefix = ''] of out.matchAll(/\b([a-z]+-)[0-9a-hjkmnp-tv-z]{26}\b/g)) this.#ids.set(prefix, id)
    for (const [secret] of out.matchAll(/\bduly_[A-Za-z0-9]{20,}\b/g)) this.#ids.set('duly_', secret)
  }

  /** A task that can be cancelled or retried is made for the command that does it; others get the last one. */
  async #withIds(line: string): Promise<string> {
    if (!/\b[a-z]+[-_]…/.test(line)) return line
    const { url } = this.#playground
    if (line.includes('task-…') && /\bcancel\b/.test(line)) return line.replaceAll('task-…', await waitingTask(url))
    if (line.includes('task-…') && /\bretry\b/.test(line)) return line.replaceAll('task-…', await cancelledTask(url))
    return line.replaceAll(/\b([a-z]+[-_])…/g, (placeholder, prefix: string) => this.#ids.get(prefix) ?? placeholder)
  }

  #fault(place: Pick<Block, 'page' | 'line'>, what: string): void {
    this.faults.push(`${placeOf(place)} ${what}`)
  }
}

async function waitingTask(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/v1/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ task_type: 'send_email', payload: { to: 'a@example.com' }, delay_seconds: 3_600 }),
  })
  const { task_id: id } = (await answer.json()) as { readonly task_id: string }
  return id
}

async function cancelledTask(url: string): Promise<string> {
  const id = await waitingTask(url)
  await fetch(`${url}/api/v1/tasks/${id}/cancel`, { method: 'POST' })
  return id
}
