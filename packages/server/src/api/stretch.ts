/**
 * Characters of JSON that are read or hashed in one stretch before others get their turn: 10 to 20 ms. A whole batch of objects
 * with random keys takes a second and more.
 */
export const STRETCH_CHARS = 262_144
