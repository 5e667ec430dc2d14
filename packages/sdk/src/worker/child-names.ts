import { createHash } from 'node:crypto'

/** Names in a workflow take so many characters … */
const NAME_CHARS = 128
/** … of which these are for the digits that tell children apart: `-` and 48 bits, `-` and a number up to 10,000. */
const TAIL_CHARS = 13 + 6
const TYPE_CHARS = 60

/**
 * Names for the children of one attempt: by the submitting task, their type and what is asked for, so that a later attempt which asks for the
 * same, in whatever order, comes to the same names, and one that asks for something else never to that of another child. Of several that
 * ask for the very same, the second has a 2 behind its name, and so on.
 */
export class ChildNames {
  readonly #node: string
  readonly #given = new Map<string, { next: number; readonly free: number[] }>()

  /** @param node the name of the submitting task in the workflow */
  constructor(node: string) {
    this.#node = node
  }

  /** @param body the child as it travels, without a name */
  take(type: string, body: string): ChildName {
    const base = this.#baseOf(type, body)
    const given = this.#given.get(base) ?? { next: 1, free: [] }
    this.#given.set(base, given)
    const number = given.free.pop() ?? given.next++
    return { text: number === 1 ? base : `${base}-${number}`, giveBack: () => void given.free.push(number) }
  }

  #baseOf(type: string, body: string): string {
    const digits = createHash('sha256').update(`${this.#node}\n${body}`).digest('hex').slice(0, 12)
    const shortType = type.slice(0, TYPE_CHARS)
    const node = this.#node.slice(0, NAME_CHARS - TAIL_CHARS - 1 - shortType.length)
    return `${node}/${shortType}-${digits}`
  }
}

/** A name, until it is given back: the child that was to have it is not there. */
export interface ChildName {
  readonly text: string
  giveBack(): void
}
