/** A UUID as 36 canonical lower-case characters. Inside the program ids are always this; the wire has `encodeId`. */
export type Uuid = string

const uuidForm = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

/** Whether the text is a UUID as the program writes them. */
export const isUuid = (text: string): text is Uuid => uuidForm.test(text)

/** Code unit of a lower-case hex digit → its value; 255 for anything else. */
const hexValue = new Uint8Array(128).fill(255)
for (let value = 0; value < 16; value++) hexValue[value.toString(16).charCodeAt(0)] = value

const hexPair = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Where the two digits of each of the sixteen bytes stand among the 36 characters. */
const byteAt = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const

/** Reads `digits` (at most 8) hex digits from `at`; NaN if one of them is none. */
export function readHex(text: string, at: number, digits: number): number {
  let value = 0
  for (let index = at; index < at + digits; index++) {
    const digit = hexValue[text.charCodeAt(index)] ?? 255
    if (digit === 255) return Number.NaN
    value = value * 16 + digit
  }
  return value
}

/** The two lower-case hex digits of the lowest byte of an integer. */
function hexOfByte(byte: number): string {
  return hexPair[byte & 255] ?? ''
}

/** Eight lower-case hex digits of a 32-bit word. */
function hexOfWord(word: number): string {
  return hexOfByte(word >>> 24) + hexOfByte(word >>> 16) + hexOfByte(word >>> 8) + hexOfByte(word)
}

/** The text of the UUID with these four 32-bit words, the highest first. */
export function uuidOfWords(a: number, b: number, c: number, d: number): Uuid {
  const second = hexOfWord(b)
  const third = hexOfWord(c)
  return `${hexOfWord(a)}-${second.slice(0, 4)}-${second.slice(4)}-${third.slice(0, 4)}-${third.slice(4)}${hexOfWord(d)}`
}

/**
 * Writes the sixteen bytes of the UUID into `target` at `offset`, as PostgreSQL's binary format has them.
 * @throws RangeError if the text is no canonical UUID
 */
export function uuidToBytes(uuid: Uuid, target: Buffer, offset: number): void {
  checkLength(uuid)
  for (let index = 0; index < 16; index++) {
    const at = byteAt[index] ?? 0
    const high = hexValue[uuid.charCodeAt(at)] ?? 255
    const low = hexValue[uuid.charCodeAt(at + 1)] ?? 255
    if ((high | low) > 15) throw notCanonical(uuid)
    target[offset + index] = (high << 4) | low
  }
}

/** The UUID whose sixteen bytes stand in `source` at `offset`. */
export function uuidFromBytes(source: Buffer, offset: number): Uuid {
  const word = (index: number) => source.readUInt32BE(offset + 4 * index)
  return uuidOfWords(word(0), word(1), word(2), word(3))
}

/** @throws RangeError unless the text has the length of a UUID; cheap, the digits are checked where they are read. */
export function checkLength(uuid: string): void {
  if (uuid.length !== 36) throw notCanonical(uuid)
}

/** The error for a text that should be one of our own UUIDs and is not: a fault of the program, not of a caller. */
export function notCanonical(uuid: string): RangeError {
  return new RangeError(`not a canonical UUID: ${uuid.slice(0, 50)}`)
}
