import type { AddedReceipt } from '../client/workflow-records.js'
import { DulyApiError } from '../errors.js'

/** A child that is to be added to the workflow: its name there, its body without one, and the trace that it continues. */
export interface Child {
  readonly name: string
  readonly body: string
  readonly traceparent: string | undefined
}

/** Adds tasks, by their texts, all or none; where each stands, by its name. */
export type SendChildren = (
  tasks: readonly string[],
  traceparent: string | undefined,
) => Promise<ReadonlyMap<string, AddedReceipt>>

interface Waiting extends Child {
  readonly taken: (receipt: AddedReceipt) => void
  readonly refused: (error: unknown) => void
}

/** What one call has: so many children, or characters of their bodies. */
const MOST_CHILDREN = 500
const MOST_CHARS = 4 * 2 ** 20

/**
 * Gathers children while a call is under way, and sends them by the next one: a fan of a thousand takes some calls, and one child by itself
 * waits for nobody. A call is all or none, a submission is not: those that the server refuses by their place are taken out, and the others
 * are sent again.
 */
export class ChildBatches {
  readonly #send: SendChildren
  #waiting: Waiting[] = []
  #isSending = false

  constructor(send: SendChildren) {
    this.#send = send
  }

  /** Resolves when the child is durable (I1). */
  add(child: Child): Promise<AddedReceipt> {
    return new Promise((taken, refused) => {
      this.#waiting.push({ ...child, taken, refused })
      if (this.#isSending) return
      this.#isSending = true
      // what the handler submits in the same turn comes along
      setImmediate(() => void this.#sendAll())
    })
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#sendSome(this.#take())
    this.#isSending = false
  }

  /** The first ones that fit into a call: of one trace, and of each name one, for the server takes no name twice. */
  #take(): readonly Waiting[] {
    const [first] = this.#waiting
    const names = new Set<string>()
    let chars = 0
    for (const { name, body, traceparent } of this.#waiting) {
      chars += body.length
      const isMore = names.size === MOST_CHILDREN || (names.size > 0 && chars > MOST_CHARS)
      if (isMore || names.has(name) || traceparent !== first?.traceparent) break
      names.add(name)
    }
    return this.#waiting.splice(0, names.size)
  }

  async #sendSome(children: readonly Waiting[]): Promise<void> {
    try {
      const receipts = await this.#send(children.map(textOf), children[0]?.traceparent)
      for (const { name, taken, refused } of children) {
        const receipt = receipts.get(name)
        if (receipt === undefined) refused(new Error(`the server does not tell of ${JSON.stringify(name)}`))
        else taken(receipt)
      }
    } catch (error) {
      const own = errorsByPlace(error)
      for (const [place, { refused }] of children.entries()) {
        if (own === null) refused(error)
        else if (own.has(place)) refused(own.get(place))
      }
      if (own !== null) this.#waiting.unshift(...children.filter((_, place) => !own.has(place)))
    }
  }
}

function textOf({ name, body }: Waiting): string {
  return `{"task_id":${JSON.stringify(name)},${body.slice(1, -1)},"waits_for_adder":false}`
}

const PLACE = /^tasks\[(\d+)\]\.?/

/** What is wrong with which of the children, each in an error of its own; null: it is not about single ones. */
function errorsByPlace(error: unknown): ReadonlyMap<number, DulyApiError> | null {
  if (!(error instanceof DulyApiError) || error.errors.length === 0) return null
  const fields = new Map<number, { readonly path: string; readonly message: string }[]>()
  for (const { path, message } of error.errors) {
    const place = PLACE.exec(path)
    if (place === null) return null
    const index = Number(place[1])
    fields.set(index, [...(fields.get(index) ?? []), { path: path.slice(place[0].length), message }])
  }
  const { status, code, requestId, retryAfterMs } = error
  return new Map(
    [...fields].map(([index, errors]) => {
      const message = errors.map((field) => `${field.path} ${field.message}`.trim()).join(' · ')
      return [index, new DulyApiError({ message, errors, status, code, requestId, retryAfterMs })]
    }),
  )
}
