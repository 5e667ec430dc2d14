const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** East Asian wide and full-width characters (Unicode, UAX 11), and emoji that are shown as pictures. */
const wide =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}])/u
const invisible = /^(?:\p{Mark}|[\u200b-\u200d])+$/u

const widthOf = (grapheme: string): number => (wide.test(grapheme) ? 2 : invisible.test(grapheme) ? 0 : 1)

/** The columns that a text takes on a terminal. */
export function textWidth(text: string): number {
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += widthOf(segment)
  return width
}

/** The beginning of a text that fits into so many columns, with an ellipsis where something was cut off. */
export function fit(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text
  let width = 0
  let kept = ''
  for (const { segment } of graphemes.segment(text)) {
    width += widthOf(segment)
    if (width > columns - 1) break
    kept += segment
  }
  return columns <= 0 ? '' : `${kept}…`
}

/** A text filled up with blanks to so many columns. */
export const padded = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - textWidth(text)))
