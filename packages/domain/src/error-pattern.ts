import { withoutFrames } from './stack-frames.js'

/** A pattern is at most this long: what makes two errors the same stands at their beginning. */
export const errorPatternMaxChars = 300

/** So much of a message, without frames of stack traces, is looked at, so that the work is bounded whatever a worker sends. */
const lookedAtChars = 2_000
/** … and so much with them. */
const readChars = 16_384

const hexGroup = '[0-9a-fA-F]{1,4}'
const hexGroups = `(?:${hexGroup}(?::${hexGroup}){0,6})?`
const ofCode = '(?:[ _-]?[Cc]ode)'
const day = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}'
const month = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}'

/**
 * What can differ between two occurrences of one error, and what no longer can. Alternatives are tried in this order at each place;
 * each has bounded look-ahead or eats what it looked at, so that the whole is linear. None of them fits what another one leaves.
 */
const varying = new RegExp(
  [
    // quoted; an apostrophe within a word opens nothing
    /(?<text>"[^"]*"|`[^`]*`|(?<![\w>])'[^']*'|“[^”]*”|‘[^’]*’|«[^»]*»)/.source,
    /(?<time>\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?)/.source,
    // Mon, 30 Nov 2026 21:26:01 GMT; Mon Nov 30 2026 21:26:01 GMT+0000
    `(?<date>(?<![\\w-])${day},? (?:\\d{1,2} ${month}|${month} \\d{1,2})(?:,? \\d{4})?(?: \\d\\d:\\d\\d(?::\\d\\d)?)?(?: GMT(?:[+-]\\d{4})?)?(?![\\w-]))`,
    // from where its letters begin: the rest of a longer run is none
    /(?<email>(?<![\w.+>-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+)/.source,
    // of a URL
    /(?<query>\?[\w.~%[\]-]{1,64}=[^\s"'`<>()]*)/.source,
    // what an HTTP status or the code of an exit says is no detail; with the word that says so
    `(?<code>(?<![\\w-])(?:(?:[Ss]tatus${ofCode}?|[Rr]esponse${ofCode}?|HTTP(?:/(?:\\d(?:\\.\\d)?|<n>))?)[ :=]{1,2}[1-5]\\d\\d|(?:[Ee]xit(?:ed)?(?: with)?(?:${ofCode}| status)|errno|signal)[ :=]{1,2}\\d{1,3})(?![\\w-]|[.,]\\d))`,
    // IPv6, MAC
    `(?<address>(?<![\\w:.])(?:(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}|(?:${hexGroup}:){7}${hexGroup}|(?=[a-fA-F:]*\\d)${hexGroups}::${hexGroups})(?![\\w:]))`,
    // 30s, 1.5ms, 1d2h3m; a number of so many days is a hash
    /(?<duration>(?<![\w.-])(?:\d{1,4}d|\d{1,20}(?:\.\d{1,20})?(?:ns|us|µs|μs|ms|secs?|s|mins?|m|hrs?|h)){1,8}(?![\w-]))/
      .source,
    // -3, 1.5, 10.0.0.1, 1,000, 1.5e-7; of 10.5MiB the letters are left, 10e6a7 may be a hash
    /(?<number>(?:(?<![\w<>.-])[+-])?\d{1,40}(?:(?:[.,]\d{1,40}){1,8}(?:[eE][+-]?\d{1,3})?(?=[a-zA-Z]{0,3}(?![\w-]))|(?:[eE][+-]?\d{1,3})?(?![\w-])))/
      .source,
    /(?<word>[\w-]+)/.source,
  ].join('|'),
  'g',
)

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
/** 0x7ffe; a git hash from 6 digits on, if it has both kinds of them. */
const hex = /^(?:0x[0-9a-f]+|(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{6,})$/i
/** Digits here and there: `k3j9x2`, `wycb5vqu3`; not `utf8mb4`. */
const scrambled = /^(?=.{6})(?:[a-z]*\d+[a-z]+\d+[a-z]|\d+[a-z]+\d)[a-z\d]*$|^(?=.{8})[a-z]+\d+[a-z]+\d+$/i
/** As long as 128 bits in base 64, with a digit, and so many changes between capitals, small letters and digits. */
const longIdMinChars = 20
const longIdChanges = 6
const change = /[a-z](?=[A-Z\d])|[A-Z](?=[a-z\d])|\d(?=[A-Za-z])/g
/** From this length on, a part of a word with a digit before a letter is taken for an id (ULIDs, `cus_NffrFeUfNV2Hib`), not for a name. */
const idMinChars = 16

/**
 * What an error message says, without what it says it of: numbers, decimal and hexadecimal, durations, instants, ids, quoted texts,
 * addresses and the queries of URLs become placeholders, and frames of stack traces go, so that occurrences of one error are equal. What
 * tells errors apart by number alone stays: HTTP statuses, codes of exits. `Timed out after 30 s for user "ada"` gives
 * `Timed out after <n> s for user <text>`. A pattern is its own pattern. At most 300 UTF-16 units, in time linear in the message.
 */
export function errorPattern(message: string): string {
  const text = withoutFrames(message.slice(0, readChars))
  const start = wholeChars(text, lookedAtChars).replace(/\s+/g, ' ').trim()
  return cut(start.replace(varying, (found, ...rest) => placeholder(found, rest.at(-1) as Groups)))
}

/** A code that is cut in two would be another one. */
function cut(pattern: string): string {
  const start = wholeChars(pattern, errorPatternMaxChars)
  return (start.length < pattern.length ? start.replace(/\d+$/, '') : start).trimEnd()
}

const kinds = ['text', 'time', 'date', 'email', 'query', 'code', 'address', 'duration', 'number', 'word'] as const
type Groups = Readonly<Record<(typeof kinds)[number], string | undefined>>

function placeholder(found: string, groups: Groups): string {
  switch (kinds.find((kind) => groups[kind] !== undefined)) {
    case 'text':
      return '<text>'
    case 'time':
    case 'date':
      return '<time>'
    case 'email':
      return '<email>'
    case 'query':
      return '?<query>'
    case 'code':
      return found.replace(/^HTTP\/\d(?:\.\d)?/, 'HTTP/<n>')
    case 'duration':
      return '<duration>'
    case 'address':
    case 'number':
      return '<n>'
    default:
      return uuid.test(found) || isLongId(found) ? '<id>' : found.split('-').map(partPattern).join('-')
  }
}

/** Base 64 has hyphens and underscores of its own. */
const isLongId = (word: string): boolean =>
  word.length >= longIdMinChars &&
  /\d/.test(word) &&
  /[A-Z]/.test(word) &&
  (word.match(change)?.length ?? 0) >= longIdChanges

/** A part of a word between hyphens: `task-01jr…` keeps its prefix. */
function partPattern(part: string): string {
  if (!/\d/.test(part)) return part
  const pieces = part.split('_')
  const isId = part.length >= idMinChars && /\d[a-z]/i.test(part) && !pieces.some((piece) => hex.test(piece))
  return isId ? '<id>' : pieces.map(piecePattern).join('_')
}

function piecePattern(piece: string): string {
  if (hex.test(piece)) return '<n>'
  return scrambled.test(piece) ? '<id>' : piece.replace(/\d+/g, '<n>')
}

/** The beginning of a text, not through a surrogate pair. */
function wholeChars(text: string, max: number): string {
  if (text.length <= max) return text
  const last = text.charCodeAt(max - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max)
}
