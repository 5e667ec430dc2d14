import { inMessage, type Kind, kinds, withinRun } from './error-rules.js'
import { withoutFrames } from './stack-frames.js'

/** A pattern is at most this long: what makes two errors the same stands at their beginning. */
export const errorPatternMaxChars = 300

/** So much of a message, without frames of stack traces, is looked at, so that the work is bounded whatever a worker sends. */
const lookedAtChars = 2_000
/** … and so much with them. */
const readChars = 16_384

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

/** By which rules patterns are made. A change of what a pattern is raises it: letters with patterns by older rules get new ones. */
export const errorRules = 2

/** A cut can leave what is found anew; so often, at most, it is looked for. */
const maxLooks = 8

/**
 * What an error message says, without what it says it of: numbers, decimal and hexadecimal, durations, sizes, instants, ids, tokens,
 * quoted texts, addresses, paths of files and the queries of URLs become placeholders, and frames of stack traces go, so that occurrences
 * of one error are equal. What tells errors apart by number alone stays: HTTP statuses, codes of exits; and what a URL or a route names.
 * `Timed out after 30 s for user "ada"` gives `Timed out after <n> s for user <text>`. A pattern is its own pattern. At most 300 UTF-16
 * units, in time linear in the message.
 */
export function errorPattern(message: string): string {
  const text = withoutFrames(message.slice(0, readChars))
  let pattern = patternOf(wholeChars(text, lookedAtChars).replace(/\s+/g, ' ').trim())
  for (let look = 0; look < maxLooks && pattern.length > errorPatternMaxChars - cutMarginChars; look++) {
    const again = patternOf(pattern)
    if (again === pattern) break
    pattern = again
  }
  return pattern
}

/** Patterns that are no shorter than this may have been cut. */
const cutMarginChars = 60

const patternOf = (text: string): string => cut(normalised(text, inMessage))

/** A code that is cut in two would be another one. */
function cut(pattern: string): string {
  const start = wholeChars(pattern, errorPatternMaxChars)
  return (start.length < pattern.length ? start.replace(/\d+$/, '') : start).trimEnd()
}

type Groups = Readonly<Partial<Record<Kind, string>>>

const normalised = (text: string, rules: RegExp): string =>
  text.replace(rules, (found, ...rest) => {
    const groups = rest.at(-1) as Groups
    const offset = rest.at(-3) as number
    const place = { before: text.slice(Math.max(0, offset - 10), offset), after: text[offset + found.length] ?? '' }
    return placeholder(found, { kind: kinds.find((kind) => groups[kind] !== undefined), place })
  })

/** What stands right before and behind something that was found. */
interface Place {
  readonly before: string
  readonly after: string
}

const placeholders: Readonly<Partial<Record<Kind, string>>> = {
  ...{ text: '<text>', values: '=(<text>)', log: '<time>', time: '<time>', date: '<time>', token: '<token>' },
  ...{ email: '<email>', query: '?<query>', address: '<n>', number: '<n>', duration: '<duration>', size: '<size>' },
}

function placeholder(
  found: string,
  { kind, place }: { readonly kind: Kind | undefined; readonly place: Place },
): string {
  switch (kind) {
    case 'code':
      return found.replace(/^HTTP\/\d(?:\.\d)?/, 'HTTP/<n>')
    case 'url':
      return withoutEnd(found, (url) => urlPattern(url, place))
    case 'arn':
      return found.replace(/^(arn:[^:]*:[^:]*:).*?([.!?]*)$/, (_, name, end) => `${within(name)}<resource>${end}`)
    case 'windows':
      return withoutEnd(found, () => '<path>')
    case 'run':
      return withoutEnd(found, (run) => runPattern(run, place))
    case 'word':
    case undefined:
      return wordPattern(found)
    default:
      return placeholders[kind] ?? found
  }
}

/** The end of a sentence is no part of what stands there. */
function withoutEnd(found: string, pattern: (found: string) => string): string {
  const end = /[.!?,:;]*$/.exec(found)?.index ?? found.length
  return end === 0 ? found : pattern(found.slice(0, end)) + found.slice(end)
}

const within = (text: string): string => normalised(text, withinRun)

const extension = /[^/]\.[a-z][a-z\d]{0,7}(?:\.\d{1,9})?$/i
const isFile = (path: string, { after }: Place): boolean => after !== '<' && extension.test(path)

/** Its host and what its path names stay, unless that is a file. */
function urlPattern(url: string, place: Place): string {
  const [, scheme = '', user = '', host = '', path = '', mark = '', query = ''] =
    /^([^/]*:\/\/)([^/?#]*@)?([^/?#]*)([^?#]*)([?#]?)(.*)$/.exec(url) ?? []
  const file = mark === '' ? isFile(path, place) : extension.test(path)
  const site = `${within(scheme)}${user && '<user>@'}${within(host)}`
  return file ? `${site}/<path>` : `${site}${within(path)}${mark}${query && '<query>'}`
}

const roots =
  'app|bin|boot|data|dev|etc|home|lib|lib64|media|mnt|opt|private|proc|root|run|sbin|srv|sys|tmp|usr|var|workspace|Users|Volumes|Library'
const ofRoot = new RegExp(`^/(?:${roots})/|^~/|^\\.{1,2}/`)
const route = /(?:^|[\s([])(?:GET|PUT|POST|HEAD|PATCH|DELETE|OPTIONS) $/
const mediaType = /^(?:application|audio|font|image|message|model|multipart|text|video)\//

/** A path of a file, base 64, or neither: the route of a request, a fraction, words with a slash between them. */
function runPattern(run: string, place: Place): string {
  if (isBase64(run)) return '<id>'
  const isPath = place.after !== '<' && (ofRoot.test(run) || (isFile(run, place) && run.includes('/')))
  return isPath && !route.test(place.before) && !mediaType.test(run) ? '<path>' : within(run)
}

/** Letters and digits change all the time, otherwise than in names. */
const base64MinChars = 32
const isBase64 = (run: string): boolean =>
  run.length >= base64MinChars &&
  /^[A-Za-z\d+/]+={0,2}$/.test(run) &&
  /\d/.test(run) &&
  (run.match(change)?.length ?? 0) * 3 >= run.length

function wordPattern(word: string): string {
  if (hex.test(word)) return '<n>'
  if (uuid.test(word) || isLongId(word)) return '<id>'
  const parts = word.split('-')
  const ids = podIds(parts)
  const names = ids === 0 ? parts : parts.slice(0, -ids)
  return [...names.map(partPattern), ...Array<string>(ids).fill('<id>')].join('-')
}

/** The letters and digits that Kubernetes makes names of. */
const podHash = /^[bcdfghjklmnpqrstvwxz2456789]{6,10}$/
const podSuffix = /^[bcdfghjklmnpqrstvwxz2456789]{5}$/

/** How many of the last parts of a name are ids that Kubernetes gave: of `web-7d9f8b6c5d-x2x7q` two, of `logs-x2x7q` one. */
function podIds(parts: readonly string[]): number {
  const [name, before = '', last = ''] = [parts[0], parts.at(-2), parts.at(-1)]
  if (parts.length < 2 || name === '' || !podSuffix.test(last)) return 0
  if (parts.length > 2 && podHash.test(before) && /\d/.test(before + last)) return 2
  const isOfJob = parts.length > 2 && /^\d{6,}$/.test(before)
  return isOfJob || (/\d/.test(last) && /[a-z]/.test(last)) ? 1 : 0
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
