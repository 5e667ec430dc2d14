import { DulyError, encodeId, type IdPrefix, type Uuid } from '@duly/domain'

/** A request, as its key is judged. */
export interface KeyedRequest {
  readonly tenant: string
  readonly idempotencyKey: string | null
  /** Of all that was asked for. */
  readonly requestHash: Buffer | null
}

/** An earlier submission that holds a key. */
export interface KeyHolder {
  readonly id: Uuid
  readonly tenant: string
  readonly key: string
  readonly requestHash: Buffer
}

/** Who holds the keys of rows that lost them, by the ids of the rows; null: nobody any more. */
export type Losers = ReadonlyMap<Uuid, KeyHolder | null>

export function losersOf<Row extends { readonly id: Uuid }>(
  lost: readonly Row[],
  requestOf: (row: Row) => KeyedRequest,
  holders: readonly KeyHolder[],
): Losers {
  const byKey = new Map(holders.map((holder) => [nameOf(holder.tenant, holder.key), holder]))
  const holderOf = ({ tenant, idempotencyKey }: KeyedRequest) => byKey.get(nameOf(tenant, idempotencyKey ?? ''))
  return new Map(lost.map((row) => [row.id, holderOf(requestOf(row)) ?? null]))
}

/** No other tenant and key come to the same text. */
const nameOf = (tenant: string, key: string): string => `${tenant.length} ${tenant} ${key}`

export const isSameRequest = (request: KeyedRequest, holder: KeyHolder): boolean =>
  request.requestHash?.equals(holder.requestHash) ?? false

/** What a request that lost its key is told: what the holder made, if it was the same request. */
export function answerLoser<Told extends object>(
  request: KeyedRequest,
  holder: KeyHolder | null,
  { kind, told }: { readonly kind: IdPrefix; readonly told: Told | undefined },
): (Told & { readonly replayed: true }) | DulyError {
  if (holder && !isSameRequest(request, holder)) return conflict(kind, holder)
  return holder && told ? { ...told, replayed: true } : keyVanished()
}

function conflict(kind: IdPrefix, { id }: KeyHolder): DulyError {
  const detail = `The idempotency key was used for a different request, which made ${encodeId(kind, id)}.`
  return new DulyError('idempotency_conflict', detail)
}

/** The key's holder went between two statements (its retention ended, or its transaction failed): the repeat will succeed. */
export function keyVanished(): DulyError {
  const detail = 'The submission met another one with its key that did not last; try again.'
  return new DulyError('store_unavailable', detail, { retryAfterSeconds: 1 })
}
