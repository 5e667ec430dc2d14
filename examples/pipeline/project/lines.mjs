/** The lines of a text, whatever ends them. */
export const lines = (text) => text.split(/\r\n|\n|\r/)
