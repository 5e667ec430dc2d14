import fc from 'fast-check'

/** JSON with other white space and other escapes than JSON.stringify writes. */
export const spelled = fc
  .tuple(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(undefined, 1, '\t', '  \r'))
  .map(([value, indent]) => JSON.stringify(value, null, indent as string))
