/** The words of a text, in their order. */
export const words = (text) => text.match(/[\p{L}\p{N}]+/gu) ?? []
