import type { AgentOptions } from 'node:https'
import type { Duration } from '../duration.js'
import { toMs } from '../duration.js'
import { checkOptions, namesOf } from '../known-options.js'

export interface DulyOptions {
  /**
   * Base address of the server, or of several nodes of one deployment (a list, or a text with commas): one of them is used
   * until it fails, then the next. `DULY_URL` or `http://127.0.0.1:7070` unless given.
   */
  readonly url?: string | readonly string[]
  /** `DULY_API_KEY` unless given. */
  readonly apiKey?: string
  /** Most connections for requests; further requests queue. 128 unless given. Waits have as many of their own. */
  readonly maxSockets?: number
  /** Longest silence of the server on a request, waits apart; 30 s unless given. */
  readonly timeout?: Duration
  /** Tries after the first one, of requests that are safe to repeat; 8 unless given. */
  readonly retries?: number
  /** Certificates and the like, for `https:` addresses. */
  readonly tls?: AgentOptions
}

export interface ResolvedOptions {
  readonly urls: readonly string[]
  /** All of them, for messages. */
  readonly url: string
  readonly apiKey: string | undefined
  readonly maxSockets: number
  readonly timeoutMs: number
  readonly retries: number
  readonly tls: AgentOptions | undefined
}

const optionNames = {
  names: namesOf<DulyOptions>({ url: true, apiKey: true, maxSockets: true, timeout: true, retries: true, tls: true }),
  elsewhere: { urls: 'url', base_url: 'url', timeout_ms: 'timeout' },
}

/** @throws RangeError naming every option that is wrong; TypeError for one that is unknown */
export function resolveOptions(options: DulyOptions): ResolvedOptions {
  checkOptions('Duly', options, optionNames)
  const urls = addressesOf(options.url ?? (process.env.DULY_URL || 'http://127.0.0.1:7070'))
  const { maxSockets = 128, retries = 8 } = options
  const wrong: string[] = []
  if (urls.length === 0) wrong.push('url: no address')
  wrong.push(...urls.flatMap((url) => problemOf(url) ?? []).map((problem) => `url: ${problem}`))
  if (!Number.isInteger(maxSockets) || maxSockets < 1) wrong.push('maxSockets: not a positive integer')
  if (!Number.isInteger(retries) || retries < 0) wrong.push('retries: not a whole number from 0')
  if (wrong.length > 0) throw new RangeError(wrong.join('; '))
  const apiKey = options.apiKey ?? process.env.DULY_API_KEY
  return Object.freeze({
    urls,
    url: urls.join(', '),
    apiKey: apiKey === '' ? undefined : apiKey,
    maxSockets,
    timeoutMs: toMs(options.timeout ?? 30_000),
    retries,
    tls: options.tls,
  })
}

function addressesOf(given: string | readonly string[]): readonly string[] {
  if (typeof given !== 'string') return [...given]
  return given.split(',').map((part) => part.trim())
}

const FORM = '(write it as http://host:7070)'

/** What of an address no request would use, or use wrongly; undefined when it is right. A password is not repeated. */
function problemOf(text: string): string | undefined {
  if (text === '') return `an address is empty ${FORM}`
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return `not an http address: ${text} ${FORM}`
  const { username, password, search, hash, pathname, port } = new URL(text)
  if (username !== '' || password !== '')
    return 'an address with a user or a password: the API key is given apart from it'
  if (search !== '' || hash !== '') return `an address with more than a path: ${text} ${FORM}`
  if (/\/api\/v1\/*$/.test(pathname)) return `${text}: leave out /api/v1 ${FORM}`
  return port === '0' ? `no server listens at port 0: ${text} ${FORM}` : undefined
}
