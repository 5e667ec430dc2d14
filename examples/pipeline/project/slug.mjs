/** A text as it stands in an address: lower case, without marks, words joined by hyphens. */
export const slug = (text) =>
  (
    text
      .normalize('NFD')
      .replace(/\p{M}/gu, '')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  ).join('-')
