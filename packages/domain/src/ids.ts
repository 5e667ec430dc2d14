import { DulyError } from './errors.js'
import { checkLength, notCanonical, readHex, type Uuid, uuidOfWords } from './uuid.js'

/** The kinds of things that have an id on the wire, by the prefix that tells them apart. */
export const idPrefixes = ['task', 'cron', 'wf', 'worker', 'key', 'bulk'] as const
/** The prefix of an id on the wire. */
export type IdPrefix = (typeof idPrefixes)[number]

/** Crockford's base 32: no i, l, o, u. Its characters sort as their values do, so that ids sort by creation. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
/** 26 characters of 5 bits hold 130 bits; the first character carries only the top 3 bits of 128. */
const encodedLength = 26

/** Ten bits → two characters: thirteen look-ups an id. */
const charPair = Array.from({ length: 1_024 }, (_, bits) => alphabet.charAt(bits >>> 5) + alphabet.charAt(bits & 31))
const charValue = new Uint8Array(128).fill(255)
for (let value = 0; value < 32; value++) charValue[alphabet.charCodeAt(value)] = value

/**
 * The id as the wire has it: prefix, hyphen, 26 lower-case characters of Crockford base 32.
 * @throws RangeError if `uuid` is no canonical UUID
 */
export function encodeId(prefix: IdPrefix, uuid: Uuid): string {
  checkLength(uuid)
  const a = readHex(uuid, 0, 8)
  const b = readHex(uuid, 9, 4) * 0x1_0000 + readHex(uuid, 14, 4)
  const c = readHex(uuid, 19, 4) * 0x1_0000 + readHex(uuid, 24, 4)
  const d = readHex(uuid, 28, 8)
  if (Number.isNaN(a + b + c + d)) throw notCanonical(uuid)
  const head = pair(a >>> 24) + pair(a >>> 14) + pair(a >>> 4) + pair((a << 6) | (b >>> 26))
  const middle = pair(b >>> 16) + pair(b >>> 6) + pair((b << 4) | (c >>> 28)) + pair(c >>> 18) + pair(c >>> 8)
  const tail = pair((c << 2) | (d >>> 30)) + pair(d >>> 20) + pair(d >>> 10) + pair(d)
  return `${prefix}-${head}${middle}${tail}`
}

function pair(bits: number): string {
  return charPair[bits & 1_023] ?? ''
}

/**
 * Reads an id of the wire. Only the form that `encodeId` writes is taken, so that one thing has one name.
 * @throws DulyError `invalid_id`, saying what is wrong with it
 */
export function decodeId(prefix: IdPrefix, text: string): Uuid {
  const start = prefix.length + 1
  if (!text.startsWith(`${prefix}-`)) throw wrongPrefix(prefix, text)
  if (text.length !== start + encodedLength) {
    throw invalid(prefix, text, `it has ${text.length - start} characters after "${prefix}-" in place of 26`)
  }
  for (let index = start; index < text.length; index++) {
    if ((charValue[text.charCodeAt(index)] ?? 255) === 255) throw badCharacter(prefix, text, index)
  }
  if (read(text, start, 1) > 7) throw invalid(prefix, text, 'it is larger than 128 bits')
  return uuidOfWords(...wordsOf(text, start))
}

/** The four 32-bit words, highest first, from runs of at most 30 bits. */
function wordsOf(text: string, start: number): [number, number, number, number] {
  const top = read(text, start, 1)
  const r1 = read(text, start + 1, 5)
  const r2 = read(text, start + 6, 5)
  const r3 = read(text, start + 11, 5)
  const r4 = read(text, start + 16, 5)
  const r5 = read(text, start + 21, 5)
  return [(top << 29) | (r1 << 4) | (r2 >>> 21), (r2 << 11) | (r3 >>> 14), (r3 << 18) | (r4 >>> 7), (r4 << 25) | r5]
}

function read(text: string, at: number, count: number): number {
  let value = 0
  for (let index = at; index < at + count; index++) value = (value << 5) | (charValue[text.charCodeAt(index)] ?? 0)
  return value
}

function wrongPrefix(prefix: IdPrefix, text: string): DulyError {
  const other = idPrefixes.find((known) => text.startsWith(`${known}-`))
  return invalid(prefix, text, other === undefined ? `it does not begin with "${prefix}-"` : `it is a ${other} id`)
}

function badCharacter(prefix: IdPrefix, text: string, index: number): DulyError {
  const character = String.fromCodePoint(text.codePointAt(index) ?? 0)
  const hint = /[A-Z]/.test(character) ? '; ids are lower-case' : ''
  return invalid(prefix, text, `${JSON.stringify(character)} is not a character of an id${hint}`)
}

function invalid(prefix: IdPrefix, text: string, why: string): DulyError {
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text
  return new DulyError('invalid_id', `${JSON.stringify(shown)} is not a ${prefix} id: ${why}`)
}

/** The partition that stands in the id: the 12 bits of a UUIDv7's `rand_a`. */
export function partitionOf(uuid: Uuid): number {
  return readHex(uuid, 15, 3)
}

/** The instant at which the id was minted, in ms since 1970, by the store's clock. */
export function timestampMsOf(uuid: Uuid): number {
  return readHex(uuid, 0, 8) * 0x1_0000 + readHex(uuid, 9, 4)
}

/** The UTC day of the id, as `YYYY-MM-DD`: the one of its partition in `tasks` and `outcomes`. */
export function dayOf(uuid: Uuid): string {
  return new Date(timestampMsOf(uuid)).toISOString().slice(0, 10)
}

/** The largest timestamp of a UUIDv7: 48 bits. */
export const maxTimestampMs = 2 ** 48 - 1

/**
 * The smallest UUID with this timestamp: everything after it is zero, version bits too. So it bounds a day's partition: every id minted
 * before the instant is below it, every other one above.
 */
export function firstUuidAt(ms: number): Uuid {
  if (!Number.isInteger(ms) || ms < 0 || ms > maxTimestampMs) throw new RangeError(`timestamp out of range: ${ms}`)
  return uuidOfWords(Math.floor(ms / 0x1_0000), (ms % 0x1_0000) * 0x1_0000, 0, 0)
}

/**
 * The partition of everything with this key: stable for ever, since uniqueness of keys is local to a partition. FNV-1a (Fowler, Noll, Vo)
 * over the UTF-16 code units of both texts, the first one's length ahead so that ("a", "b:c") and ("a:b", "c") differ, then the final mix of
 * MurmurHash3 (Appleby), without which the low bits spread badly.
 */
export function partitionOfKey(tenant: string, key: string, partitions: number): number {
  let hash = fnvUnit(0x811c_9dc5, tenant.length)
  for (let index = 0; index < tenant.length; index++) hash = fnvUnit(hash, tenant.charCodeAt(index))
  for (let index = 0; index < key.length; index++) hash = fnvUnit(hash, key.charCodeAt(index))
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % partitions
}

function fnvUnit(hash: number, unit: number): number {
  const low = Math.imul(hash ^ (unit & 255), 0x0100_0193)
  return Math.imul(low ^ ((unit >>> 8) & 255), 0x0100_0193)
}
