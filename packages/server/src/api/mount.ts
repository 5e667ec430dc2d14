import type { Readable } from 'node:stream'
import { type ApiRoute, apiRoutes, type OperationId } from '@duly/contract'
import { type Caller, DulyError, decodeId, type FieldError, type IdPrefix, idPrefixes, type Uuid } from '@duly/domain'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { callerOf } from './caller.js'
import type { ApiContext } from './context.js'
import type { CaptureRule, Captures } from './json-captures.js'
import { planScan, type ScanPlan } from './json-scan.js'
import { accessTo } from './plugins/access.js'
import { invalid } from './problem.js'
import { type QueryReader, queryReader } from './query.js'
import { type BodyReading, type ReadBody, readBody, readLargeBody } from './read-body.js'
import { STRETCH_CHARS } from './stretch.js'
import type { RuleError } from './submission-rules.js'
import { compileValidator, type Validator } from './validate.js'

type Routes = typeof apiRoutes
type Of<Id extends OperationId, Key extends string> = Routes[Id] extends {
  readonly [key in Key]: infer S extends TSchema
}
  ? Static<S>
  : undefined

/** A request that passed everything: schema, rules and text. */
export interface Input<Id extends OperationId> {
  readonly body: Of<Id, 'body'>
  readonly query: Of<Id, 'query'>
  /** The id in the path, decoded; the empty text for routes without one. */
  readonly id: Uuid
  /** What else the path names, as the contract describes it. */
  readonly params: Of<Id, 'params'>
  /** The body as the client wrote it, and the parts of it that were kept as text. */
  readonly text: string
  readonly captures: Captures
  /** Who calls, allowed to use this route. */
  readonly caller: Caller
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** What a route answers: its status, JSON as text or in UTF-8, and headers beyond the usual ones. */
export interface Answer {
  readonly status: number
  readonly json?: string | Buffer
  /** In place of JSON: what is written as its client takes it. */
  readonly stream?: { readonly type: string; readonly body: Readable }
  readonly headers?: Readonly<Record<string, string>>
}

export interface MountOptions {
  /** Values kept as the client's text. */
  readonly captures?: readonly CaptureRule[]
  /** Paths whose texts are cleaned later, so that the scanner lets NUL and lone surrogates pass. */
  readonly lenient?: RegExp
  /** Rules beside the schema; they run even if the schema found something, so that all errors come at once. */
  readonly rules?: (body: ReadBody, request: FastifyRequest) => readonly RuleError[]
}

const NO_CAPTURES = planScan()

/** Registers a route of the contract: reads and checks the request in one place, calls the handler, writes its answer. */
export function mount<Id extends OperationId>(
  app: FastifyInstance,
  context: ApiContext,
  operation: Id,
  options: MountOptions & { readonly handle: (input: Input<Id>) => Promise<Answer> },
): void {
  const route: ApiRoute = apiRoutes[operation]
  const reader = new RequestReader(route, options)
  app.route({
    method: route.method,
    config: accessTo(route),
    url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    bodyLimit: route.bodyLimit === 'batch' ? context.config.batchBodyMaxBytes : context.config.singleBodyMaxBytes,
    handler: async (request, reply) => {
      const large = reader.readLarge(request)
      const parts = reader.read(request, large === null ? null : await large)
      const answer = await options.handle({ ...parts, caller: callerOf(request), request, reply } as Input<Id>)
      return send(reply, answer)
    },
  })
}

function send(reply: FastifyReply, answer: Answer): FastifyReply {
  reply.code(answer.status)
  if (answer.headers) reply.headers(answer.headers)
  if (answer.stream) return reply.header('content-type', answer.stream.type).send(answer.stream.body)
  if (answer.json === undefined) return reply.send()
  return reply.header('content-type', 'application/json; charset=utf-8').send(answer.json)
}

/** The kind of thing that a parameter of the path names by its id (`worker_id`: a worker); other texts the contract's schema judges. */
function prefixOf(parameter: string): IdPrefix | undefined {
  if (parameter === 'workflow_id') return 'wf'
  return idPrefixes.find((known) => parameter === `${known}_id`)
}

/** Reads requests of one route. Everything that is wrong is gathered before anything is thrown. */
class RequestReader {
  readonly #options: MountOptions
  readonly #plan: ScanPlan
  readonly #checkBody: Validator | null
  readonly #readQuery: QueryReader
  readonly #param: { readonly name: string; readonly prefix: IdPrefix } | null
  readonly #checkParams: Validator | null

  constructor(route: ApiRoute, options: MountOptions) {
    this.#options = options
    this.#plan = options.captures ? planScan(options.captures, options.lenient ?? null) : NO_CAPTURES
    this.#checkBody = route.body ? compileValidator(route.body) : null
    this.#readQuery = queryReader(route.query)
    const name = /\{(\w+)\}/.exec(route.path)?.[1]
    const prefix = name === undefined ? undefined : prefixOf(name)
    this.#param = name === undefined || prefix === undefined ? null : { name, prefix }
    this.#checkParams = this.#param === null && route.params ? compileValidator(route.params) : null
  }

  /** The reading of a body that others must not wait for; null: it is none. */
  readLarge(request: FastifyRequest): Promise<BodyReading> | null {
    const bytes = bytesOf(request)
    return this.#checkBody === null || bytes.length <= STRETCH_CHARS ? null : readLargeBody(bytes, this.#plan)
  }

  read(request: FastifyRequest, large: BodyReading | null) {
    const errors: RuleError[] = []
    const id = this.#readId(request, errors)
    const params = request.params
    if (this.#checkParams) add(errors, this.#checkParams(params))
    const query = this.#readQuery(request.query as Record<string, unknown>, errors)
    const body = this.#readBody(request, large, errors)
    if (errors.length > 0) throw this.#refusal(errors)
    return { id, params, query, body: body?.value, text: body?.text ?? '', captures: body?.captures }
  }

  #readId(request: FastifyRequest, errors: RuleError[]): Uuid {
    if (this.#param === null) return ''
    const { name, prefix } = this.#param
    const text = (request.params as Record<string, string>)[name] ?? ''
    try {
      return decodeId(prefix, text)
    } catch (error) {
      if (!(error instanceof DulyError)) throw error
      errors.push({ path: name, message: error.message, code: 'invalid_id' })
      return ''
    }
  }

  #readBody(request: FastifyRequest, large: BodyReading | null, errors: RuleError[]): ReadBody | null {
    const bytes = bytesOf(request)
    if (this.#checkBody === null) {
      if (bytes.length > 0 && bytes.toString('latin1', 0, 64).trim() !== '{}') errors.push(unwanted)
      return null
    }
    const reading = large ?? readBody(bytes, this.#plan)
    if (!reading.ok) {
      add(errors, reading.errors)
      return null
    }
    const { body } = reading
    add(errors, body.errors)
    add(errors, this.#checkBody(body.value, body.skeletonChars))
    if (this.#options.rules) add(errors, this.#options.rules(body, request))
    return body
  }

  /** The code that all errors share; a mixture is `invalid_request`, which says the least. */
  #refusal(errors: readonly RuleError[]): DulyError {
    const codes = new Set(errors.map((error) => error.code ?? 'invalid_request'))
    const [only] = codes
    const code = codes.size === 1 && only !== undefined ? only : 'invalid_request'
    const listed: readonly FieldError[] = errors.map(({ path, message }) => ({ path, message }))
    return invalid(code, listed)
  }
}

const bytesOf = ({ body }: FastifyRequest): Buffer => (Buffer.isBuffer(body) ? body : NO_BYTES)
const NO_BYTES = Buffer.alloc(0)

/** Not `push(...more)`: there may be more errors than a call takes arguments. */
function add(errors: RuleError[], more: readonly RuleError[]): void {
  for (const error of more) errors.push(error)
}

const unwanted: RuleError = { path: '', message: 'must be left out: this call takes none' }
