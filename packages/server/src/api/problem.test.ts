import { describe, expect, it } from 'vitest'
import { planScan } from './json-scan.js'
import { invalid } from './problem.js'
import { readBody } from './read-body.js'

/** The detail that a body gets for what its text hides or lacks. */
function detailOf(text: string | Buffer): string {
  const reading = readBody(Buffer.from(text), planScan())
  return invalid('invalid_json', reading.ok ? reading.body.errors : reading.errors).message
}

describe('the detail of a refusal', () => {
  it.each([
    ['', 'The body is empty'],
    [' ', 'The body is empty (at character 1)'],
    ['{"a":1', 'a must be followed by "," or "}" (at character 6)'],
    ['{"a":1}}', 'The body has more text after its end (at character 7)'],
    ['{"payload":{"a":1,"a":2}}', 'payload.a is a duplicate key (at character 18)'],
    ['{"payload":[1e400]}', 'payload[0] is a number beyond double range (at character 12)'],
    ['{"payload":"\\u0000"}', 'payload holds the character U+0000, which is not allowed (at character 12)'],
    ['{"payload":"\\ud800"}', 'payload holds a lone surrogate, half of a character (at character 12)'],
    ['{"payload":"\\x"}', 'payload has a bad escape (at character 12)'],
    ['{"payload":nope}', 'payload has an unexpected character (at character 11)'],
    ['{payload:1}', 'The body lacks a key in double quotes (at character 1)'],
    ['{"payload" 1}', 'payload lacks ":" after the key (at character 11)'],
  ])('of %j is a sentence', (text, detail) => {
    expect(detailOf(text)).toBe(detail)
  })

  it('names bytes that are no text, and counts what else is wrong', () => {
    expect(detailOf(Buffer.from([0x22, 0xff, 0x22]))).toBe('The body is not valid UTF-8')
    const errors = [
      { path: 'task_type', message: 'is required' },
      { path: 'tags', message: 'must be a list' },
    ]
    expect(invalid('invalid_request', errors).message).toBe('task_type is required; 2 errors in all')
  })
})
