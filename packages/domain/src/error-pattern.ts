/** A pattern is at most this long: what makes two errors the same stands at their beginning. */
export const errorPatternMaxChars = 300

/** So much of a message is looked at, so that the work is bounded whatever a worker sends. */
const lookedAtChars = 2_000

/**
 * What can differ between two occurrences of one error, and what no longer can. Alternatives are tried in this order at each place;
 * each has bounded look-ahead or eats what it looked at, so that the whole is linear. None of them fits what another one leaves.
 */
const varying = new RegExp(
  [
    // quoted; an apostrophe within a word opens nothing
    /(?<text>"[^"]*"|`[^`]*`|(?<![\w>])'[^']*')/,
    /(?<time>\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?)/,
    // from where its letters begin: the rest of a longer run is none
    /(?<email>(?<![\w.+>-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+)/,
    // 1.5, 10.0.0.1, 1,000
    /(?<number>\d{1,40}(?:[.,]\d{1,40}){0,8}(?![\w-]))/,
    /(?<word>[\w-]+)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
)

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const hex = /^(?:0x[0-9a-f]+|(?=[0-9]*[a-f])[0-9a-f]{8,})$/i
/** From this length on, a part of a word with a digit before a letter is taken for an id (ULIDs, `cus_NffrFeUfNV2Hib`), not for a name. */
const idMinChars = 16

/**
 * What an error message says, without what it says it of: numbers, instants, ids, hexadecimal, quoted texts and e-mail addresses
 * become placeholders, so that occurrences of one error are equal. `Timed out after 30 s for user "ada"` gives
 * `Timed out after <n> s for user <text>`. A pattern is its own pattern. At most 300 UTF-16 units, in time linear in the message,
 * of which the first 2,000 units count.
 */
export function errorPattern(message: string): string {
  const start = wholeChars(message, lookedAtChars).replace(/\s+/g, ' ').trim()
  const pattern = start.replace(varying, (found, ...rest) => placeholder(found, rest.at(-1) as Groups))
  return wholeChars(pattern, errorPatternMaxChars).trimEnd()
}

type Groups = Readonly<Record<'text' | 'time' | 'email' | 'number' | 'word', string | undefined>>

function placeholder(found: string, { text, time, email, number }: Groups): string {
  if (text !== undefined) return '<text>'
  if (time !== undefined) return '<time>'
  if (email !== undefined) return '<email>'
  if (number !== undefined) return '<n>'
  return uuid.test(found) ? '<id>' : found.split('-').map(partPattern).join('-')
}

/** A part of a word between hyphens: `task-01jr…` keeps its prefix. */
function partPattern(part: string): string {
  if (!/\d/.test(part)) return part
  if (hex.test(part)) return '<hex>'
  const isId = part.length >= idMinChars && /\d[a-z]/i.test(part)
  return isId ? '<id>' : part.replace(/\d+/g, '<n>')
}

/** The beginning of a text, not through a surrogate pair. */
function wholeChars(text: string, max: number): string {
  if (text.length <= max) return text
  const last = text.charCodeAt(max - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max)
}
