import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** What a process of the benchmark can be asked to do: name → what it takes and answers. */
export type Calls = Readonly<Record<string, { readonly takes: unknown; readonly answers: unknown }>>

type Handlers<C extends Calls> = { readonly [K in keyof C]: (input: C[K]['takes']) => Promise<C[K]['answers']> }

interface Request {
  readonly id: number
  readonly name: string
  readonly input: unknown
}
type Reply = { readonly id: number } & ({ readonly answer: unknown } | { readonly error: string })

/** In the child: answers the parent's calls, and ends with it. */
export function serveCalls<C extends Calls>(handlers: Handlers<C>): void {
  process.on('disconnect', () => process.exit(0))
  process.on('message', async ({ id, name, input }: Request) => {
    const reply = await handlers[name as keyof C & string](input as never).then(
      (answer): Reply => ({ id, answer }),
      (error: unknown): Reply => ({
        id,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      }),
    )
    process.send?.(reply)
  })
}

/** In the parent: a process of the benchmark. */
export class Remote<C extends Calls> {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>()
  #last = 0

  private constructor(child: ChildProcess, name: string) {
    this.#child = child
    child.on('message', (reply: Reply) => this.#settle(reply))
    child.on('exit', (code, signal) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`the ${name} ended early (${signal ?? code})`))
      this.#waiting.clear()
    })
  }

  /** @param nodeArguments e.g. `--cpu-prof` */
  static start<C extends Calls>(name: string, nodeArguments: readonly string[] = []): Remote<C> {
    const file = fileURLToPath(new URL(`./${name}.js`, import.meta.url))
    return new Remote<C>(
      fork(file, { execArgv: [...nodeArguments], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
      name,
    )
  }

  get pid(): number {
    const { pid } = this.#child
    if (pid === undefined) throw new Error('the process did not start')
    return pid
  }

  call<K extends keyof C & string>(name: K, input: C[K]['takes']): Promise<C[K]['answers']> {
    this.#last += 1
    const id = this.#last
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: (answer) => resolve(answer as C[K]['answers']), reject })
      this.#child.send({ id, name, input } satisfies Request)
    })
  }

  /** Ends the process in its own way, so that it can write a profile. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.disconnect()
    await gone
  }

  #settle(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id)
    this.#waiting.delete(reply.id)
    if ('error' in reply) waiting?.reject(new Error(reply.error))
    else waiting?.resolve(reply.answer)
  }
}
