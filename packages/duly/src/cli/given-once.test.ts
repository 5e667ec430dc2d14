import { describe, expect, it } from 'vitest'
import { buildProgram } from '../program.js'
import { leaves, pathOf } from '../reference.js'
import { cli } from '../testing/captured-cli.js'
import { processTerminal } from './terminal.js'

/** Every flag with one value, of every command. */
const single = leaves(buildProgram({ terminal: processTerminal(), setExit: () => {} })).flatMap((command) =>
  command.options
    .filter(({ required, variadic }) => required && !variadic)
    .map(({ long }) => ({ words: pathOf(command).split(' ').slice(1), flag: long ?? '' })),
)

/** So that no value is refused before the second one comes. */
const VALUES = { '--scopes': 'read', '--state': 'live', '--by': 'queue', '--overlap': 'skip', '--misfire': 'skip' }

describe('a flag with one value', () => {
  it.each(single.map(({ words, flag }) => [words.join(' '), flag]))('of %s: %s is taken once', async (words, flag) => {
    const value = Object.hasOwn(VALUES, flag) ? VALUES[flag as keyof typeof VALUES] : '5'
    const { code, out, err } = await cli([...words.split(' '), flag, value, `${flag}=${value}`])
    expect({ code, out, err }).toEqual({ code: 2, out: '', err: `duly: ${flag} is given more than once: give one\n` })
  })

  it('is refused with its opposite', async () => {
    const { code, err } = await cli(['dev', '--worker', 'a.mjs', '--no-worker'])
    expect({ code, err }).toEqual({ code: 2, err: 'duly: --worker and --no-worker are given together: give one\n' })
  })

  it('is no list and no switch: those may be repeated', async () => {
    const at = ['--url', 'http://127.0.0.1:1', '--json', '--json']
    const { err } = await cli(['task', 'submit', 'x', '--tags', 'a', '--tags', 'b', ...at], { env: {} })
    expect(err).not.toMatch(/give one/)
  })
})
