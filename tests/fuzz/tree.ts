import type { Schema } from './operations.js'

/** A body before it is written: every key and scalar is a text of its own, so that it can be replaced by one that is no JSON. */
export type Node = ObjectNode | ListNode | Leaf

export interface ObjectNode {
  readonly kind: 'object'
  readonly schema: Schema
  readonly members: Member[]
}

export interface Member {
  /** With its quotes. */
  key: string
  value: Node
}

export interface ListNode {
  readonly kind: 'list'
  readonly schema: Schema
  readonly items: Node[]
}

/** A scalar, or a value whose inside the schema does not describe. */
export interface Leaf {
  readonly kind: 'leaf'
  readonly schema: Schema
  readonly text: string | Buffer
}

export const leaf = (text: string | Buffer, schema: Schema = {}): Leaf => ({ kind: 'leaf', schema, text })

/** One place in a body, and how to put something else there. */
export interface Place {
  /** As the server writes it: `reports[0].error.message`. */
  readonly path: string
  readonly node: Node
  put(node: Node): void
}

/** Every place below `root`, itself included; `replace` takes a new root. */
export function placesOf(root: Node, replace: (node: Node) => void, path = ''): Place[] {
  const here: Place = { path, node: root, put: replace }
  if (root.kind === 'leaf') return [here]
  if (root.kind === 'list') {
    const below = root.items.flatMap((item, index) =>
      placesOf(item, (node) => root.items.splice(index, 1, node), `${path}[${index}]`),
    )
    return [here, ...below]
  }
  const below = root.members.flatMap((member) => {
    const put = (node: Node): void => {
      member.value = node
    }
    return placesOf(member.value, put, pathOf(path, keyOf(member)))
  })
  return [here, ...below]
}

export const keyOf = (member: Member): string => JSON.parse(member.key) as string

/** A key behind a path: with a dot if it is a plain word, else in brackets as JSON. */
export function pathOf(path: string, key: string): string {
  if (!/^[A-Za-z_$][\w$-]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`
  return path === '' ? key : `${path}.${key}`
}

export function memberOf(node: Node, key: string): Node | undefined {
  return node.kind === 'object' ? node.members.find((member) => keyOf(member) === key)?.value : undefined
}

/** The bytes of the body. */
export function write(node: Node): Buffer {
  const pieces: Buffer[] = []
  append(node, (text) => pieces.push(typeof text === 'string' ? Buffer.from(text) : text))
  return Buffer.concat(pieces)
}

function append(node: Node, put: (text: string | Buffer) => void): void {
  if (node.kind === 'leaf') {
    put(node.text)
    return
  }
  put(node.kind === 'list' ? '[' : '{')
  const parts = node.kind === 'list' ? node.items.map((value) => ({ key: '', value })) : node.members
  parts.forEach(({ key, value }, index) => {
    if (index > 0) put(',')
    if (key !== '') put(`${key}:`)
    append(value, put)
  })
  put(node.kind === 'list' ? ']' : '}')
}
