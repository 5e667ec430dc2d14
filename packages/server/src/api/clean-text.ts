/**
 * Makes a text of a worker storable: NUL and halves of surrogate pairs become U+FFFD. An honest text, also one that
 * spells `\u0000` with a backslash, is not touched.
 */
export function cleanText(text: string): string {
  const withoutNul = text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
  return withoutNul.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd')
}

/** Cuts a clean text to at most `max` UTF-16 units, never through a surrogate pair. */
export function cutChars(text: string, max: number): string {
  if (text.length <= max) return text
  const last = text.charCodeAt(max - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max)
}

/** Cuts a clean text to at most `max` bytes of UTF-8, never through a character. */
export function cutBytes(text: string, max: number): string {
  if (text.length * 3 <= max || Buffer.byteLength(text) <= max) return text
  const bytes = Buffer.from(text.slice(0, max))
  let end = max
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
