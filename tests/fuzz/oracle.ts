import { isUtf8 } from 'node:buffer'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { Answer } from './client.js'
import type { OpenApiDocument, Operation } from './operations.js'

export interface ProblemDocument {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly errors?: readonly { readonly path: string; readonly message: string }[]
}

const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Holds answers to what the document promises of their operation. */
export class Oracle {
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true })
  readonly #validators = new Map<string, ValidateFunction>()

  constructor(document: OpenApiDocument) {
    this.#ajv.addFormat('date-time', { type: 'string', validate: (text: string) => instant.test(text) })
    this.#ajv.addSchema({ ...document, $id: 'api' })
  }

  /** What is wrong with an answer; empty when it keeps every promise. */
  faults(operation: Operation, answer: Answer): string[] {
    const { status, headers, bytes } = answer
    if (status >= 500) return [`${status}: a fault of the server`]
    const documented = operation.responses[status]
    if (documented === undefined) return [`${status} is not documented`]
    const media = String(headers['content-type'] ?? '').split(';', 1)[0] ?? ''
    const content = documented.content?.[media]
    if (documented.content === undefined) return bytes.length === 0 ? [] : [`${status} has a body`]
    if (content === undefined) return [`${status} came as "${media}", not as ${Object.keys(documented.content).join()}`]
    if (headers['x-request-id'] === undefined) return ['lacks x-request-id']
    if (!isUtf8(bytes)) return ['is not UTF-8']
    if (!media.endsWith('json') || content.schema === undefined) return []
    return this.#bodyFaults(operation, status, media, bytes.toString())
  }

  #bodyFaults(operation: Operation, status: number, media: string, text: string): string[] {
    const body: unknown = parsed(text)
    if (body === undefined) return [`${status} is not JSON: ${text.slice(0, 200)}`]
    const validate = this.#validator(operation, status, media)
    if (!validate(body)) return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
    return media === 'application/problem+json' ? problemFaults(operation, status, body as ProblemDocument) : []
  }

  #validator(operation: Operation, status: number, media: string): ValidateFunction {
    const steps = ['paths', operation.path, operation.method.toLowerCase(), 'responses', String(status), 'content']
    const pointer = [...steps, media, 'schema'].map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1'))
    const reference = `api#/${pointer.map(encodeURIComponent).join('/')}`
    const known = this.#validators.get(reference) ?? this.#ajv.compile({ $ref: reference })
    this.#validators.set(reference, known)
    return known
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The description of a problem response begins a paragraph with each of its codes. */
function problemFaults(operation: Operation, status: number, problem: ProblemDocument): string[] {
  const codes = [...(operation.responses[status]?.description ?? '').matchAll(/^`(\w+)`:/gm)].map(([, code]) => code)
  if (problem.status !== status) return [`says ${problem.status} and is ${status}`]
  return codes.includes(problem.code) ? [] : [`${problem.code} is not documented with ${status}, only ${codes.join()}`]
}

export function problemOf(answer: Answer): ProblemDocument {
  return JSON.parse(answer.bytes.toString()) as ProblemDocument
}

/** Paths of all errors that a refusal lists. */
export function errorPathsOf(answer: Answer): string[] {
  return (problemOf(answer).errors ?? []).map(({ path }) => path)
}
