import { type ChildProcess, spawn } from 'node:child_process'

/** The build: a process runs what users run. */
const SDK = new URL('../../dist/index.js', import.meta.url).href

/** How a worker process ended. */
export interface Ending {
  readonly code: number | null
  readonly output: string
}

/** A process that runs one worker by `run()` until a signal; `body` registers its handlers. */
export class WorkerProcess {
  readonly child: ChildProcess
  readonly ended: Promise<Ending>
  #output = ''

  /** @param grace of its worker */
  constructor(url: string, body: string, grace = '200ms') {
    const program = `
      import { Duly, Worker } from ${JSON.stringify(SDK)}
      const worker = new Worker(new Duly({ url: ${JSON.stringify(url)} }), { slots: 2, grace: ${JSON.stringify(grace)} })
      ${body}
      await worker.run()
      console.log('run returned')`
    this.child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (text) => {
        this.#output += text
      })
    }
    this.ended = new Promise((resolve) => this.child.on('close', (code) => resolve({ code, output: this.#output })))
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name)
  }
}
