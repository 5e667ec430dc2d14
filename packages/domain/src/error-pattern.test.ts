import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { errorPattern, errorPatternMaxChars } from './error-pattern.js'

describe('the pattern of an error', () => {
  it.each([
    ['Timed out after 30 s', 'Timed out after <n> s'],
    ['took 1.5 s of 1,000.25', 'took <n> s of <n>'],
    ['connect ECONNREFUSED 10.0.0.12:5432', 'connect ECONNREFUSED <n>:<n>'],
    ['user 01a22499-f800-7000-8000-00000000000a is gone', 'user <id> is gone'],
    ['task-01m8m8g63ye0v964cp0nfyyggj was lost', 'task-<id> was lost'],
    ['no such customer: cus_NffrFeUfNV2Hib', 'no such customer: <id>'],
    ['at 0x7ffee3b0 and deadbeef01', 'at <n> and <n>'],
    ['commit 3f2a9c4d', 'commit <n>'],
    ['duplicate key "orders_pkey" of `orders`', 'duplicate key <text> of <text>'],
    ["can't find 'Ada Lovelace' in user's list", "can't find <text> in user's list"],
    ['mail to ada.lovelace+x@mail.example.com bounced', 'mail to <email> bounced'],
    ['GET /users/42/orders/1a2b3c4d5e6f failed', 'GET /users/<n>/orders/<n> failed'],
    ['not before 2026-04-04T09:00:00.123Z', 'not before <time>'],
    ['line one\n\n\t line two ', 'line one line two'],
    ['utf8 by HTTP2 in worker-process-2', 'utf<n> by HTTP<n> in worker-process-<n>'],
    [
      'deadline of 1m30.5s, 40ms late, at -3.5e-7 of 10.5MiB',
      'deadline of <duration>, <duration> late, at <n> of <size>',
    ],
    ['GET /search?q=ada&page=2 gave nothing', 'GET /search?<query> gave nothing'],
    ['peer [2001:db8::ff00:42:8329]:443 (aa:bb:cc:dd:ee:ff)', 'peer [<n>]:<n> (<n>)'],
    ['expired at Mon, 30 Nov 2026 21:26:01 GMT', 'expired at <time>'],
    ['Mon Nov 30 2026 21:26:01 GMT+0000 is too late', '<time> is too late'],
    ['no “Ada”, ‘Grace’ or «Edsger»', 'no <text>, <text> or <text>'],
    ['/tmp/build_8f3a2c/out-k3j9x2.log in utf8mb4', '<path> in utf<n>mb<n>'],
    ['status code 503 from HTTP/1.1 404', 'status code 503 from HTTP/<n> 404'],
    ['block 4821936e of 77123a, token XA3-9fKq2mZ8vLp0Qr_tUw', 'block <n> of <n>, token <id>'],
    ['PostgreSQL-15-primary-node-3 in step2b of wycb5vqu3', 'PostgreSQL-<n>-primary-node-<n> in step<n>b of <id>'],
    ['exited with code 137.', 'exited with code 137.'],
    ['promo code 137, status 12', 'promo code <n>, status <n>'],
    ['Cannot read properties of undefined', 'Cannot read properties of undefined'],
    ['{"code":503,"id":"a"}', '{<text>:<n>,<text>:<text>}'],
    ['', ''],
    ['  \n ', ''],
  ])('of %j is %j', (message, pattern) => {
    expect(errorPattern(message)).toBe(pattern)
  })

  /** Each row: messages of one fault; no two rows are one. */
  const faults = [
    ['Request failed with status code 404', 'Request failed with status code 404'],
    ['Request failed with status code 503', 'Request failed with status code 503'],
    ['order 3f2a9c4 is gone', 'order 1234567 is gone', 'order 00000001 is gone', 'order 9a8b7c6d5e is gone'],
    ['user a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 is gone', 'user 01a22499-f800-7000-8000-00000000000a is gone'],
    ['took 1.5s', 'took 20s', 'took 1m3s', 'took 150ms'],
    ['took 1.5 s', 'took 20 s', 'took 0 s'],
    ['balance -5 is too low', 'balance 17.20 is too low'],
    ['GET https://x.example/users/7/orders/a1b2c3 failed', 'GET https://x.example/users/812/orders/9f8e7d6c failed'],
    ['GET https://x.example/users/7/carts/a1b2c3 failed', 'GET https://x.example/users/9/carts/0f1e2d failed'],
    ['ENOENT: no such file, open /tmp/up-8f3a2c1/7.png', 'ENOENT: no such file, open /tmp/up-0a1b2c3/19.png'],
    [
      'EACCES: permission denied, open /tmp/up-8f3a2c1/7.png',
      'EACCES: permission denied, open /tmp/up-9c9c9c9c/19.png',
    ],
    ['mail to ada@example.com bounced', 'mail to grace.hopper+navy@mail.example.org bounced'],
    ['connect ECONNREFUSED 10.0.0.12:5432', 'connect ECONNREFUSED 192.168.1.1:5433'],
    ['connect ETIMEDOUT 10.0.0.12:5432', 'connect ETIMEDOUT 192.168.1.1:5433'],
    ['no route to fe80::1ff:fe23:4567:890a', 'no route to 2001:db8::1'],
  ].map((messages) => messages.map(errorPattern))

  it.each(faults)('is one for one fault, %j', (...patterns) => {
    expect(new Set(patterns).size).toBe(1)
  })

  it('keeps different faults apart', () => {
    expect(new Set(faults.flat()).size).toBe(faults.length)
  })

  it.each([
    ['JavaScript', 'TypeError: x is no function\n    at run (/app/a.js:10:5)\n    at async /app/b.js:3:7'],
    ['JavaScript from elsewhere', 'TypeError: x is no function\n    at main (file:///srv/c.js:99:1)'],
    [
      'Python',
      'Traceback (most recent call last):\n  File "/app/a.py", line 10, in run\n    go()\n\nTypeError: x is no function',
    ],
    ['Java', 'TypeError: x is no function\r\n\tat com.example.A.run(A.java:10)\r\n\t... 12 more'],
    ['.NET', 'TypeError: x is no function\n   at A.Run() in /src/A.cs:line 10'],
    ['Go', 'TypeError: x is no function\n\ngoroutine 17 [running]:\nmain.main()\n\t/src/main.go:8 +0x1d'],
    ['Ruby', "TypeError: x is no function\n\tfrom /app/a.rb:10:in `run'"],
    ['PHP', 'TypeError: x is no function\n#0 /app/a.php(10): run()\n#1 {main}'],
    ['Rust', 'TypeError: x is no function\nstack backtrace:\n   0: std::panicking::begin\n             at lib.rs:3'],
  ])('has no frames of %s', (_, message) => {
    expect(errorPattern(message)).toBe('TypeError: x is no function')
  })

  it('of a text of frames alone is of these, and a line that begins with "at" is no frame', () => {
    expect(errorPattern('    at run (/app/a.js:10:5)\n    at b')).toBe('at b')
    expect(errorPattern('    at run (/app/a.js:10:5)\n    at b (c)')).toBe('at run (<path>:<n>:<n>) at b (c)')
    expect(errorPattern('Give\n  at least one')).toBe('Give at least one')
    expect(errorPattern('Caused\nCaused by: B')).toBe('Caused Caused by: B')
  })

  it('is the same for any two ids, numbers and names', () => {
    const parts = fc.record({
      id: fc.uuid(),
      count: fc.nat(),
      name: fc.stringMatching(/^[^"\s]{0,40}$/),
      at: fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') }),
    })
    const say = ({ id, count, name, at }: { id: string; count: number; name: string; at: Date }) =>
      `order ${id} of "${name}" failed ${count} times since ${at.toISOString()}`
    fc.assert(
      fc.property(parts, (one) => {
        expect(errorPattern(say(one))).toBe('order <id> of <text> failed <n> times since <time>')
      }),
    )
  })

  /** Pieces that meet the borders of the rules. */
  const pieces = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom(...'"\'`<>@.-_+:,/ \n', '1', '12', 'a', 'e', 'x', '0x', 'n', '\ud83d\ude00', '\ud83d'),
    },
    fc.constantFrom(
      'status code ',
      'HTTP/1.1 ',
      'HTTP',
      'exit code ',
      '404',
      '503.',
      '?a=',
      '::',
      '\n    at x (',
      '\n#1 x',
      '\nTraceback (most recent call last):\n',
    ),
    fc.constantFrom(
      'http://a.b/',
      's3://',
      'C:\\',
      '\\\\srv\\',
      '/var/',
      './',
      'x.csv',
      '.log.1',
      '+',
      '==',
      'eyJhbGciOiJI.eyJz',
    ),
    fc.constantFrom(
      'arn:aws:s3:',
      ')=(',
      '-x2x7q',
      '-7d9f8b6c5d',
      '512KB',
      'PT1M',
      '30/Nov/2026:10:00:00',
      '%40b.co',
      '$',
      '=',
      '#',
    ),
    fc.constantFrom(
      '<path>',
      '<size>',
      '<token>',
      '<resource>',
      'GET ',
      'application/',
      'Nov 30, 2026',
      '{',
      '|',
      ';',
      '?',
    ),
    fc.constantFrom('<duration>', '5ms', '1.5', 'Mon, 30 Nov 2026', '“', '”', '\\\\', '«'),
    fc.constantFrom('<n>', '<text>', '<id>', 'a@b.co', '2026-04-04', 'T09:00', 'Z', 'deadbeef', '1e5', 'é', '\u00a0'),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.uuid(),
    fc.stringMatching(/^[a-z]{60,70}$/),
  )
  const hostile = fc.array(pieces, { maxLength: 120 }).map((found) => found.join(''))

  const codes = /(?<=(?:status code|HTTP|HTTP\/<n>|exit code)[ :=]{1,2})\d{1,3}/g

  it('is its own pattern, bounded, and without a digit but in codes', () => {
    fc.assert(
      fc.property(hostile, (message) => {
        const pattern = errorPattern(message)
        expect(errorPattern(pattern)).toBe(pattern)
        expect(pattern.length).toBeLessThanOrEqual(errorPatternMaxChars)
        expect(pattern.replace(codes, '')).not.toMatch(/\d/)
      }),
      { numRuns: 5_000 },
    )
  })

  it('cuts no character in two', () => {
    for (const length of [299, 300, 301, 1_999, 2_000]) {
      expect(errorPattern(`${'a'.repeat(length - 1)}😀😀`)).toMatch(/^a+(😀)*$/u)
    }
  })

  it.each([
    ['quotes', '"\'`'],
    ['quotes and backslashes', '"\\\\'],
    ['addresses', 'a1:b2:'],
    ['addresses in halves', '1::a:g '],
    ['durations', '1h2m3'],
    ['queries', '?a='],
    ['statuses', 'status code '],
    ['dates', 'Mon, 30 Nov '],
    ['frames', '\n at a'],
    ['tracebacks', '\nTraceback (most recent call last):\n a'],
    ['scrambled ids', 'a1b2'],
    ['apostrophes that open', " 'a"],
    ['numbers with a letter behind', '1.1.1.1.1.1.1.1.1.1.1.1.x'],
    ['locals without a host', 'a.b+c-'],
    ['hosts without a dot', 'a@b'],
    ['hosts of hyphens', 'a@--'],
    ['digits', '1'],
    ['hexadecimal with a g', 'deadbeef1g'],
    ['URLs', 'ab://'],
    ['ends of URLs', 'ab://a,.,.'],
    ['slashes', 'a/'],
    ['slashes and extensions', 'a/x.csv.'],
    ['plus signs', 'a+'],
    ['paths of Windows', 'C:\\a b '],
    ['shares of Windows', '\\\\a\\'],
    ['backslashes', '\\'],
    ['tokens', 'eyJhbGciOiJI'],
    ['tokens without an end', 'eyJhbGciOiJI.'],
    ['names of resources', 'arn:aws:a:'],
    ['values of keys', ')=('],
    ['pods', '-x2x7q'],
    ['sizes', '1,2'],
    ['durations of ISO 8601', 'PT1'],
    ['dots', '.'],
    ['ends of sentences', 'a:,.'],
    ['white space', ' \n\t'],
    ['letters', 'a'],
  ])('costs no more for hostile %s than their length', (_, piece) => {
    // steps of the machine can't be counted from here: a rule that tries all ways to divide a text never ends, and fails by time-out
    const text = piece.repeat(Math.ceil(8_192 / piece.length))
    for (let n = 0; n < 100; n++) errorPattern(text)
  })

  it('looks at no more than the first 2,000 units', () => {
    const start = 'a b '.repeat(500)
    fc.assert(
      fc.property(hostile, (rest) => {
        expect(errorPattern(start + rest)).toBe(errorPattern(start))
      }),
    )
  })
})
