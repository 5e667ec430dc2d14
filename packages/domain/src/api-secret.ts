/** What every secret begins with, so that people and scanners of repositories know one when they see it. */
const secretPrefix = 'duly_'

/** Random bytes of a secret: nobody finds one by trying. */
export const secretBytes = 32

/** Lower-case base 32 without i, l, o, u: a secret survives being read out. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** The 256 bits take 51 characters and one bit of a 52nd. */
const secretForm = /^duly_[0-9a-hjkmnp-tv-z]{51}[01]$/

/**
 * The secret of an API key, from as many random bytes as {@link secretBytes}.
 * @throws RangeError if there are fewer or more
 */
export function encodeSecret(random: Uint8Array): string {
  if (random.length !== secretBytes) throw new RangeError(`a secret has ${secretBytes} bytes, not ${random.length}`)
  let text = secretPrefix
  let bits = 0
  let count = 0
  for (const byte of random) {
    bits = (bits << 8) | byte
    count += 8
    for (; count >= 5; count -= 5) text += alphabet.charAt((bits >>> (count - 5)) & 31)
    bits &= 31
  }
  return text + alphabet.charAt(bits & 1)
}

/** Whether a text has the form of a secret; what has not need not be looked up. */
export function isSecret(text: string): boolean {
  return secretForm.test(text)
}
