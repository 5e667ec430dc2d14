import { limits } from '@duly/domain'

/** Deepest nesting of arrays and objects in a body, the body itself included. */
export const MAX_NESTING = limits.jsonMaxDepth

/** What a scan knows of each open container, by its depth from 1; slot 0 stands for the document. */
export class JsonFrames {
  readonly kind = new Uint8Array(MAX_NESTING + 1)
  /** Items or keys before the one that is read. */
  readonly index = new Int32Array(MAX_NESTING + 1)
  readonly keyStart = new Int32Array(MAX_NESTING + 1)
  readonly keyEnd = new Int32Array(MAX_NESTING + 1)
  readonly start = new Int32Array(MAX_NESTING + 1)
}
