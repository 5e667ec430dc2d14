/** Largest checkpoint, bytes of JSON. */
const MAX_CHECKPOINT_BYTES = 262_144

/**
 * A checkpoint as it travels.
 *
 * @throws RangeError when it is larger than 256 KiB; TypeError when it is no JSON value
 */
export function checkpointText(value: unknown): string {
  const json = JSON.stringify(value) ?? 'null'
  if (Buffer.byteLength(json) <= MAX_CHECKPOINT_BYTES) return json
  throw new RangeError(`the checkpoint is larger than ${MAX_CHECKPOINT_BYTES} bytes`)
}
