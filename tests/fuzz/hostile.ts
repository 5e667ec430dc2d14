/** A text that no body may hold, by what is wrong with it. */
export interface Forbidden {
  readonly name: string
  readonly text: string | Buffer
  /** A finding inside well-formed JSON: it is told with the place where it stands. */
  readonly isPlaced: boolean
}

const placed = (name: string, text: string): Forbidden => ({ name, text, isPlaced: true })
const broken = (name: string, text: string | Buffer): Forbidden => ({ name, text, isPlaced: false })
const quoted = (...bytes: number[]): Buffer => Buffer.from([0x22, ...bytes, 0x22])
const nested = (open: string, close: string, levels: number): string => open.repeat(levels) + close.repeat(levels)

/** Characters that no string may hold; texts of handlers are cleaned of them. */
export const forbiddenTexts: readonly Forbidden[] = [
  placed('NUL', '"\\u0000"'),
  placed('NUL between letters', '"a\\u0000b"'),
  placed('a high surrogate', '"\\ud800"'),
  placed('a high surrogate at the end', '"a\\uD83D"'),
  placed('a low surrogate', '"\\udc00"'),
  placed('a pair the wrong way round', '"\\ude00\\ud83d"'),
  placed('two high surrogates', '"\\ud83d\\ud83d"'),
  placed('a pair cut by a letter', '"\\ud83dx\\ude00"'),
]

export const forbiddenValues: readonly Forbidden[] = [
  placed('a number beyond double range', '1e400'),
  placed('a negative one', '-1E+400'),
  placed('400 digits', '9'.repeat(400)),
  placed('a key twice', '{"a":1,"a":2}'),
  placed('a key twice, once escaped', '{"a":1,"\\u0061":2}'),
  placed('__proto__ twice', '{"__proto__":1,"__proto__":2}'),
  placed('an empty key twice', '{"":1,"":2}'),
  placed('a key twice, deep inside', '[[{"x":{"k":1,"k":1}}]]'),
  placed('a key with NUL', '{"\\u0000":1}'),
  placed('a key with half a character', '{"\\udfff":1}'),
  placed('lists in 101 levels', nested('[', ']', 101)),
  placed('objects in 101 levels', nested('{"a":', '}', 101).replace('}', '1}')),
  placed('an open list in 100,000 levels', '['.repeat(100_000)),
  broken('a control character', '"\u0001"'),
  broken('NUL as it is', '"\u0000"'),
  broken('a line end in a string', '"a\nb"'),
  broken('a bad escape', '"\\x41"'),
  broken('a short escape', '"\\u12"'),
  broken('a string that is not closed', '"'),
  broken('a leading zero', '01'),
  broken('a dot without digits', '1.'),
  broken('a number that begins with a dot', '.5'),
  broken('a plus sign', '+1'),
  broken('a lone minus', '-'),
  broken('an exponent without digits', '1e'),
  broken('NaN', 'NaN'),
  broken('Infinity', '-Infinity'),
  broken('undefined', 'undefined'),
  broken('another spelling of true', 'True'),
  broken('single quotes', "'a'"),
  broken('a trailing comma', '[1,]'),
  broken('a key without quotes', '{a:1}'),
  broken('a key without value', '{"a"}'),
  broken('no comma', '[1 2]'),
  broken('a comment', '/**/1'),
  broken('a no-break space', '\u00a01'),
  broken('a vertical tab', '\u000b1'),
  broken('a byte order mark', '\ufeff1'),
  broken('nothing', ''),
  broken('a byte that is no UTF-8', quoted(0xff)),
  broken('an overlong NUL', quoted(0xc0, 0x80)),
  broken('an overlong slash', quoted(0xe0, 0x80, 0xaf)),
  broken('half a character in UTF-8', quoted(0xed, 0xa0, 0x80)),
  broken('a code point beyond the last', quoted(0xf4, 0x90, 0x80, 0x80)),
  broken('a sequence cut short', quoted(0xe2, 0x82)),
  broken('a continuation without a start', quoted(0x80)),
]

const deep = 90
const wide = Array.from({ length: 1_000 }, (_, index) => `"${index}":${index}`).join()

/** JSON that careless programs change, lose or die of. Where any value may stand it is taken, and comes back as it is written. */
export const honest: readonly string[] = [
  '"\\\\u0000"',
  '"C:\\\\u0000dir"',
  '"\\\\\\\\u0000"',
  '"\\u0041\\/\\b\\f\\n\\r\\t\\u007f"',
  '"\\ud83d\\ude00 😀 \u2028 \u2029 \ufeff \ufffd"',
  '"e\u0301 \u202e \u0600"',
  `"<img src=x onerror=alert(1)> ' or 1=1; -- \${jndi:x} %00 {{7*7}}"`,
  '9007199254740993',
  '-9007199254740993',
  '123456789012345678901234567890',
  '0.1234567890123456789012345678901',
  '-0',
  '-0.0',
  '1.0',
  '1e21',
  '1E-400',
  '5e-324',
  '1.7976931348623157e308',
  '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1,"hasOwnProperty":2,"length":3}',
  '{"":1," ":2,"a.b":3,"a":{"b":4},"b":1,"a\\\\u0000":0}',
  '{"z":1,"a":2,"10":3,"9":4}',
  '[ 1 ,\t2 ,\r\n {\n} , [ ] ]',
  nested('[', ']', deep),
  `${'{"a":'.repeat(deep)}1${'}'.repeat(deep)}`,
  `{${wide}}`,
  `"${'x'.repeat(100_000)}"`,
  '""',
  '{}',
  '[]',
  'null',
  'false',
]

/** Whole bodies, none of which is one. */
export const forbiddenBodies: readonly Forbidden[] = [
  broken('nothing', ''),
  broken('white space', ' \t\r\n'),
  broken('a byte order mark', '\ufeff{}'),
  broken('UTF-16', Buffer.from('{}', 'utf16le')),
  broken('UTF-16 with its mark', Buffer.from('\ufeff{}', 'utf16le')),
  broken('bytes', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))),
  broken('zeros', Buffer.alloc(1_000)),
  broken('two documents', '{}{}'),
  broken('an open brace', '{'),
  broken('a million open brackets', '['.repeat(1_000_000)),
  broken('half a million open objects', '{"a":'.repeat(300_000)),
  broken('a megabyte of digits', '1'.repeat(1_000_000)),
  broken('a megabyte of minus signs', '-'.repeat(1_000_000)),
  broken('a long string that is not closed', `"${'\\\\'.repeat(500_000)}`),
  broken('a form', 'task_type=a&slots=1'),
  broken('XML', '<?xml version="1.0"?><a/>'),
]
