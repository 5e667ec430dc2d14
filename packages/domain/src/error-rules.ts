const hexGroup = '[0-9a-fA-F]{1,4}'
const hexGroups = `(?:${hexGroup}(?::${hexGroup}){0,6})?`
const ofCode = '(?:[ _-]?[Cc]ode)'
const day = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}'
const month = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}'
const clock = '\\d\\d:\\d\\d(?::\\d\\d)?'
const amount = '\\d{1,20}(?:\\.\\d{1,20})?'
const span = `(?:\\d{1,4}d|${amount}(?:ns|us|µs|μs|ms|secs?|s|mins?|m|hrs?|h))`
/** What ends a path, a URL or the name of a resource. */
const closing = '\\s"\'`<>“”‘’«»|,;()\\[\\]{}'
/** Of a run of what paths and base 64 are made of; its borders are what can be in none of them. */
const inRun = `[^${closing}/:?*#&=\\\\]`

/** Where paths, URLs and other runs begin and end, looked for in whole messages. */
const whole = [
  // quoted; an apostrophe within a word opens nothing
  /(?<text>"[^"]*"|`[^`]*`|(?<![\w>])'[^']*'|“[^”]*”|‘[^’]*’|«[^»]*»)/.source,
  // the values of a key as PostgreSQL tells them: Key (name)=(ada)
  /(?<values>(?<=\))=\([^)]{0,400}\))/.source,
  // 30/Nov/2026:21:26:01 +0000
  `(?<log>(?<![\\w/-])\\d{1,2}/${month}/\\d{4}:${clock}(?: [+-]\\d{4})?(?![\\w-]))`,
  `(?<url>(?<![\\w+.>-])[A-Za-z][A-Za-z0-9+.-]{1,15}://(?:[^${closing}/?#\\\\@]{0,200}@)?${inRun}*(?::\\d{1,5})?(?:/(?:${inRun}|/)*)?(?:[?#][^${closing}\\\\]*)?)`,
  `(?<arn>(?<![\\w>-])arn:aws[\\w-]*:[\\w-]+:[^${closing}]+)`,
]

/** Of Windows, whose names can have blanks as long as a backslash follows; and what has a slash or a plus sign within. */
const runs = [
  `(?<windows>(?<!${inRun}|[\\\\/>])(?:[A-Za-z]:\\\\|[A-Z]:/|\\\\\\\\(?=[\\w.$-]+\\\\))(?:[^${closing}:?*\\\\]*(?: [^${closing}:?*\\\\]+){0,3}\\\\)*[^${closing}:?*]*)`,
  `(?<run>(?<!${inRun}|[/>])(?!(?<=:)//)(?:(?!\\+)${inRun})*[/+](?:${inRun}|/)*={0,2})`,
]

const instant = `(?<time>\\d{4}[-/]\\d\\d[-/]\\d\\d(?:[T ]\\d\\d:\\d\\d(?::\\d\\d(?:[.,]\\d{1,9})?)?(?:Z|[+-]\\d\\d:?\\d\\d)?)?)`

/** The parts of a JWT: the first begins as `{"` does in base 64. */
const token = /(?<token>(?<![\w>-])eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*){0,3})/.source

/** From where its letters begin: the rest of a longer run is none. */
const address = /(?<email>(?<![\w.+>-])[\w.+-]{1,64}(?:@|%40)[\w-]+(?:\.[\w-]+)+)/.source

/** What an HTTP status or the code of an exit says is no detail; with the word that says so. */
const code = `(?<code>(?<![\\w-])(?:(?:[Ss]tatus${ofCode}?|[Rr]esponse${ofCode}?|HTTP(?:/(?:\\d(?:\\.\\d)?|<n>))?)[ :=]{1,2}[1-5]\\d\\d|(?:[Ee]xit(?:ed)?(?: with)?(?:${ofCode}| status)|errno|signal)[ :=]{1,2}\\d{1,3})(?![\\w-]|[.,]\\d))`

const details = [
  // Mon, 30 Nov 2026 21:26:01 GMT; Mon Nov 30 2026 21:26:01 GMT+0000; Nov 30 21:26:01; 30 Nov 2026
  `(?<date>(?<![\\w-])(?:${day},? (?:\\d{1,2} ${month}|${month} \\d{1,2})(?:,? \\d{4})?(?: ${clock})?(?: GMT(?:[+-]\\d{4})?)?|${month} \\d{1,2}(?:, \\d{4}(?: ${clock})?| ${clock})|\\d{1,2} ${month} \\d{4}(?: ${clock})?)(?![\\w-]))`,
  // of a path
  /(?<query>\?[\w.~%[\]-]{1,64}=[^\s"'`<>()]*)/.source,
  // IPv6, with the IPv4 part and the zone that it may have; MAC and other bytes with colons
  `(?<address>(?<![\\w:.])(?:(?:[0-9a-fA-F]{2}:){5,63}[0-9a-fA-F]{2}|(?:${hexGroup}:){7}${hexGroup}|(?=[a-fA-F:]*\\d)${hexGroups}::${hexGroups}(?:(?:\\.\\d{1,3}){3})?)(?:%\\w{1,16})?(?![\\w:]))`,
  // 30s, 1.5ms, 1d2h3m, 1h 5m, PT1M30S; a number of so many days is a hash
  `(?<duration>(?<![\\w.-])(?:${span}(?: ?${span}){0,7}|P(?:\\d{1,9}D)?T(?:${amount}[HMS]){1,3})(?![\\w-]))`,
  // 512KB, 10.5 MiB, 1,024 bytes
  `(?<size>(?<![\\w.-])\\d{1,20}(?:[.,]\\d{1,20}){0,4}(?: ?(?:[kKMGTPE]i?[Bb]|[Bb]ytes)|[kKMGTPE]i|B)(?![\\w-]))`,
  // -3, 1.5, 10.0.0.1, 1,000, 1.5e-7; of 10.5x the letters are left, 10e6a7 may be a hash
  /(?<number>(?:(?<![\w<>.-])[+-])?\d{1,40}(?:(?:[.,]\d{1,40}){1,8}(?:[eE][+-]?\d{1,3})?(?=[a-zA-Z]{0,3}(?![\w-]))|(?:[eE][+-]?\d{1,3})?(?![\w-])))/
    .source,
  /(?<word>[\w-]+)/.source,
]

/**
 * What can differ between two occurrences of one error. Alternatives are tried in this order at each place; each has bounded look-ahead
 * or eats what it looked at, so that the whole is linear. None of them fits what another one leaves.
 */
export const inMessage = new RegExp(
  [...whole, token, `${instant}(?!/)`, address, code, ...runs, ...details].join('|'),
  'g',
)

/** The same within a run that is neither a path nor base 64, or a part of a URL. */
export const withinRun = new RegExp([token, instant, address, code, ...details].join('|'), 'g')

/** What is found, as the groups of both expressions name it. */
export const kinds = [
  'text',
  'values',
  'log',
  'url',
  'token',
  'arn',
  'time',
  'email',
  'windows',
  'run',
  'date',
  'query',
  'code',
  'address',
  'duration',
  'size',
  'number',
  'word',
] as const
export type Kind = (typeof kinds)[number]
