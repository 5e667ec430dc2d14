import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type ApiRoute, apiBase, components, routeList } from '@duly/contract'
import * as server from '@duly/server'
import { type Command, CommanderError } from 'commander'
import { buildProgram } from '../../packages/duly/src/program.js'
import { compileValidator } from '../../packages/server/src/api/validate.js'
import { readJson, root } from '../repo/files.js'

/** What is left out in prose: `duly task get …`. */
const ELLIPSIS = '…'

/** What is wrong with a command line, judged without running it; null: nothing. */
export async function faultOf(words: readonly string[]): Promise<string | null> {
  const [path = '', ...args] = words
  const program = basename(path)
  if (program === 'npx') return args[0] === 'duly' ? dulyFault(args.slice(1)) : `npx ${args[0]} is not ours`
  if (program === 'duly') return dulyFault(args)
  if (program === 'duly.js') return dulyFault(args)
  if (program === 'node') return nodeFault(args)
  if (program === 'npm') return npmFault(args)
  if (program === 'curl') return curlFault(args)
  return null
}

/** `isWhole`: arguments and options that must be there are. */
export async function dulyFault(args: readonly string[], { isWhole = true } = {}): Promise<string | null> {
  const silent = {
    out() {},
    err() {},
    isInteractive: false,
    width: 80,
    hasColours: false,
    height: null,
    isPlain: false,
    env: {},
    readStdin: async () => '',
    isTaken: async () => true,
  }
  const program = buildProgram({ terminal: silent, setExit() {} }, server)
  withoutActions(program)
  try {
    await program.parseAsync([...args], { from: 'user' })
    return null
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return null
    const isPart = /^commander\.(help|missingArgument|missingMandatoryOptionValue|optionMissingArgument)$/.test(
      error.code,
    )
    return isPart && !isWhole ? null : `duly ${args.join(' ')}: ${error.message}`
  }
}

function withoutActions(command: Command): void {
  if (command.commands.length === 0 || command.registeredArguments.length > 0) command.action(() => {})
  for (const child of command.commands) withoutActions(child)
}

function nodeFault(args: readonly string[]): Promise<string | null> | string | null {
  const file = args.find((word) => !word.startsWith('-')) ?? ''
  if (file.endsWith('/duly.js')) return dulyFault(args.slice(args.indexOf(file) + 1))
  if (/[*?]/.test(file))
    return existsSync(join(root, dirname(file))) ? null : `there is no ${dirname(file)} in the checkout`
  return existsSync(join(root, file)) ? null : `there is no ${file} in the checkout`
}

function npmFault([name = '', ...rest]: readonly string[]): string | null {
  const { scripts } = readJson<{ scripts: Record<string, string> }>('package.json')
  const script = name === 'run' ? (rest[0] ?? '') : ['start', 'test'].includes(name) ? name : undefined
  return script === undefined || script in scripts ? null : `package.json has no script ${script}`
}

const routes: readonly ApiRoute[] = routeList

/** The address must be a route of the API, and a body must fit it. */
function curlFault(args: readonly string[]): string | null {
  const address = args.find((word) => /:\d+\/|^https?:/.test(word)) ?? ''
  const [path = ''] = address.replace(/^(?:https?:\/\/)?[^/]+/, '').split('?')
  const body = argumentOf(args, ['-d', '--data', '--json'])
  const method = argumentOf(args, ['-X', '--request']) ?? (body === undefined ? 'GET' : 'POST')
  const route = routes.find((each) => each.method === method && patternOf(each.path).test(path))
  if (route === undefined) return `${method} ${path} is no route of the API`
  return body === undefined || body.includes(ELLIPSIS) ? null : bodyFault(route, body)
}

const patternOf = (path: string): RegExp => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)

function argumentOf(args: readonly string[], names: readonly string[]): string | undefined {
  const at = args.findIndex((word) => names.includes(word))
  return at < 0 ? undefined : args[at + 1]
}

function bodyFault(route: ApiRoute, body: string): string | null {
  if (route.body === undefined) return `${route.method} ${route.path} takes no body`
  const errors = compileValidator(route.body)(JSON.parse(body))
  return errors.length === 0 ? null : JSON.stringify(errors)
}

/** What is wrong with JSON that is said to be of a schema of the contract. */
export function schemaFault(name: string, text: string): string | null {
  const schema = components[name]
  if (schema === undefined) return `the contract has no schema ${name}`
  const errors = compileValidator(schema)(JSON.parse(text))
  return errors.length === 0 ? null : JSON.stringify(errors)
}

/** A request line in a sentence, such as `POST /tasks/{id}/cancel`: its base may be left out. */
export function requestFault(method: string, path: string): string | null {
  const full = routes.some((each) => each.path === path) || path.startsWith(apiBase) ? path : `${apiBase}${path}`
  const isKnown = routes.some((each) => each.method === method && patternOf(each.path).test(full))
  return isKnown ? null : `${method} ${path} is no route of the API`
}
