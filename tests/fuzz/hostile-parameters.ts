import { type Call, draw, requestOf, validCalls } from './calls.js'
import type { Request } from './client.js'
import { type Operation, type Parameter, typesOf } from './operations.js'
import { pathOf } from './tree.js'
import type { World } from './world.js'

export interface ParameterCase {
  readonly operation: Operation
  readonly request: Request
  /** The parameter that the refusal must name; null: any documented answer will do. */
  readonly named: string | null
}

/** Percent-encoded already: bytes that are no UTF-8, overlong ones, characters that break out of careless code, long ones. */
const hostileTexts = [
  ...['%00', 'a%00b', '%ff', '%c0%80', '%ed%a0%80', '%f4%90%80%80', '%e2%82', '%ef%bb%bf', '%F0%9F%98%80', '%E2%80%AE'],
  ...[
    '..',
    '%2e%2e',
    '%2F',
    'a%2Fb',
    '%5C',
    "'",
    '%22',
    '%25',
    '%2525',
    '*',
    '%3Cscript%3E',
    '%0D%0ASet-Cookie:a',
    ';',
    '$1',
  ],
  ...['__proto__', 'constructor', 'null', 'undefined', 'NaN', 'true', '-1', '1e400', '0x10', '9007199254740993', '-0'],
  ...['%20', '%09', '+', 'a'.repeat(250), 'a'.repeat(2_000), `${'%F0%9F%98%80'.repeat(80)}`, `%5B${'%5B'.repeat(100)}`],
]

const strangers = [
  'no_such_parameter',
  '__proto__',
  'constructor',
  'toString',
  '%00',
  '',
  'wait_seconds%5B%5D',
  '%F0%9F%98%80',
]
const numbers = [
  '1e400',
  '-0',
  '+1',
  '0x1',
  '1e1',
  'NaN',
  'Infinity',
  '%201',
  '1_000',
  '',
  '1,5',
  '%D9%A1',
  '9'.repeat(400),
]
const headers = [
  '\x80\xff',
  'a\tb',
  ' ',
  '',
  'a'.repeat(257),
  'é',
  'a,b',
  '"a"',
  '__proto__',
  '\\u0000',
  "'; drop table tasks",
]

export function hostileParameters(world: World, operation: Operation): ParameterCase[] {
  const [call] = draw(validCalls(world, operation), 1, `parameters of ${operation.id}`)
  if (call === undefined) return []
  return [
    ...operation.parameters.flatMap((parameter) => casesOf(world, call, parameter)),
    ...(/^\/api\//.test(operation.path) ? strangers.map((name) => strangerCase(world, call, name)) : []),
  ]
}

function casesOf(world: World, call: Call, parameter: Parameter): ParameterCase[] {
  const { operation } = call
  const { name, in: place, schema } = parameter
  const without = requestOf(world, { ...call, values: new Map([...call.values].filter(([one]) => one !== parameter)) })
  if (place === 'header') {
    return headers.map((value) => ({
      operation,
      request: { ...without, headers: { ...without.headers, [name]: value } },
      named: null,
    }))
  }
  if (place === 'path') {
    return hostileTexts.map((text) => ({ operation, request: inPath(world, call, parameter, text), named: null }))
  }
  const isNumber = typesOf(schema).some((type) => type === 'number' || type === 'integer')
  const bad = isNumber ? numbers : []
  return [
    ...hostileTexts.map((text) => ({ operation, request: withQuery(without, `${name}=${text}`), named: null })),
    ...bad.map((text) => ({ operation, request: withQuery(without, `${name}=${text}`), named: name })),
    { operation, request: withQuery(without, `${name}=1&${name}=2`), named: name },
  ]
}

function inPath(world: World, call: Call, parameter: Parameter, text: string): Request {
  const marker = 'hostile-parameter'
  const values = new Map(call.values).set(parameter, marker)
  const request = requestOf(world, { ...call, values, exact: parameter })
  return { ...request, path: request.path.replace(marker, () => text) }
}

/** A parameter that the operation does not have: dropped in silence it would give a wrong answer that looks right. */
function strangerCase(world: World, call: Call, name: string): ParameterCase {
  const request = withQuery(requestOf(world, call), `${name}=1`)
  return { operation: call.operation, request, named: name === '' ? null : pathOf('', decodeURIComponent(name)) }
}

function withQuery(request: Request, text: string): Request {
  return { ...request, path: `${request.path}${request.path.includes('?') ? '&' : '?'}${text}` }
}
