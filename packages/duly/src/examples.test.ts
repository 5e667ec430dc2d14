import { readFile, stat } from 'node:fs/promises'
import { runHandler } from '@duly/sdk/testing'
import { describe, expect, it } from 'vitest'

const examples = new URL('../../../examples/', import.meta.url)

it('make-tasks.mjs writes nothing when it is imported, and makes the tasks that are there', async () => {
  const file = new URL('tasks.jsonl', examples)
  const before = await stat(file, { bigint: true })
  const module: { lines(): readonly string[] } = await import(new URL('make-tasks.mjs', examples).href)
  expect(`${module.lines().join('\n')}\n`).toBe(await readFile(file, 'utf8'))
  expect((await stat(file, { bigint: true })).mtimeNs).toBe(before.mtimeNs)
})

describe('run-command.mjs', async () => {
  const { runCommand } = await import(new URL('handlers/run-command.mjs', examples).href)
  const run = (command: string, more = {}) => runHandler('run_command', runCommand, { command, ...more })

  it('tells what the command wrote, on both outputs, and gives it its input', async () => {
    expect((await run('echo out; echo err >&2')).result).toEqual({ output: 'out\nerr\n' })
    expect((await run('tr a-z A-Z', { stdin: 'dear ada\n' })).result).toEqual({ output: 'DEAR ADA\n' })
    expect((await run('true', { stdin: 'x'.repeat(1_000_000) })).result).toEqual({ output: '' })
  })

  it('fails, to be tried again, when the command ends otherwise than with 0', async () => {
    const { outcome } = await run('echo no space; exit 3')
    expect(outcome).toMatchObject({
      kind: 'failed',
      isRetryable: true,
      error: { message: 'ended with 3: no space\n' },
    })
  })

  it('names the signal of one that was killed, with no output to tell', async () => {
    expect((await run('kill -9 $$')).outcome).toMatchObject({ error: { message: 'ended with SIGKILL' } })
  })

  it('ends what the shell started when the time is over, also what does not hear SIGTERM', async () => {
    for (const command of ['sleep 600 & wait', "trap '' TERM; sleep 600 & wait; wait"]) {
      const run = await runHandler('run_command', runCommand, { command }, { timeout: '200ms', abortGrace: '1m' })
      expect(run).toMatchObject({ isStuck: false, outcome: { kind: 'failed', isTimedOut: true } })
    }
  })
})
