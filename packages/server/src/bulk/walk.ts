import { isUuid, type Uuid, walksOf } from '@duly/domain'
import type { BulkOrder, BulkSample, DeadLetterFilters } from '../model.js'
import type { DeadLetterStore } from '../store/dead-letter-store.js'
import type { Candidate, ListStore } from '../store/list-store.js'

/** A task that an operation comes to. */
export interface Found {
  readonly id: Uuid
  readonly workflowId: Uuid | null
  /** How it stands; null: as a dead letter. */
  readonly sample: BulkSample | null
}

/** Some tasks of an operation. */
export interface Stretch {
  readonly found: readonly Found[]
  /** The place behind which the next stretch begins; null: this is the last one. */
  readonly next: string | null
  /** The place right behind one of them, from which a walk that was broken off goes on. */
  readonly behind: (task: Found) => string
}

export interface WalkStores {
  readonly lists: Pick<ListStore, 'candidates'>
  readonly letters: Pick<DeadLetterStore, 'candidates' | 'ofWorkflow'>
}

export interface WalkRequest {
  /** Null: from the beginning. */
  readonly place: string | null
  readonly limit: number
  /** What came at or after this instant is not looked at. */
  readonly cutoff: string
}

/**
 * The tasks of an operation, stretch by stretch: by their ids downwards in each of its walks, so that it comes to each once and never
 * wades through what it has done. A stretch looks at a bounded number of rows; it can be empty and yet not be the last one.
 */
export function stretchOf(stores: WalkStores, order: BulkOrder, request: WalkRequest): Promise<Stretch> {
  return order.source === 'tasks'
    ? taskStretch(stores.lists, order, request)
    : letterStretch(stores.letters, order.filters, request)
}

async function taskStretch(
  lists: WalkStores['lists'],
  { action, filters }: Extract<BulkOrder, { readonly source: 'tasks' }>,
  { place, limit, cutoff }: WalkRequest,
): Promise<Stretch> {
  const walks = walksOf(action, filters.status)
  const { walk, after } = readPlace(place)
  const status = walks[walk] ?? null
  const { items, next } = await lists.candidates({ ...filters, status }, { after, limit, cutoff })
  const goesOn = next === null && walk + 1 < walks.length
  const following = goesOn ? writePlace(walk + 1, null) : null
  return {
    found: changeable(items).map(({ id, workflowId, isSettled: _, ...sample }) => ({
      ...{ id, workflowId, sample: { id, ...sample } },
    })),
    next: next === null ? following : writePlace(walk, next),
    behind: ({ id }) => writePlace(walk, id),
  }
}

async function letterStretch(
  letters: WalkStores['letters'],
  filters: DeadLetterFilters,
  { place, limit, cutoff }: WalkRequest,
): Promise<Stretch> {
  const { items, next } = await letters.candidates(filters, { after: place, limit, cutoff })
  const places = new Map(items.map((item) => [item.id, item.place]))
  return {
    found: items.map(({ id, workflowId }) => ({ id, workflowId, sample: null })),
    next,
    behind: ({ id }) => places.get(id) ?? '',
  }
}

/** An operation, and a dry run of it, come to those alone that it can change. */
const changeable = (found: readonly Candidate[]): readonly Candidate[] => found.filter(({ isSettled }) => !isSettled)

/** All that an operation means of one workflow. */
export async function ofWorkflow(
  { lists, letters }: WalkStores,
  order: BulkOrder,
  { workflow, cutoff, limit }: { readonly workflow: Uuid } & Omit<WalkRequest, 'place'>,
): Promise<readonly Uuid[]> {
  if (order.source === 'dead_letters') return letters.ofWorkflow(order.filters, workflow, cutoff)
  const ids: Uuid[] = []
  for (const status of walksOf(order.action, order.filters.status)) {
    const filters = { ...order.filters, status, workflowId: workflow }
    for (let after: string | null | undefined; after !== null; ) {
      const page = await lists.candidates(filters, { after: after ?? null, limit, cutoff })
      ids.push(...changeable(page.items).map(({ id }) => id))
      after = page.next
    }
  }
  return ids
}

/** `2 01a2…`: in the third walk, below that id; `2 -`: at its beginning. */
const writePlace = (walk: number, after: string | null): string => `${walk} ${after ?? '-'}`

function readPlace(place: string | null): { readonly walk: number; readonly after: string | null } {
  const [walk = '0', after = '-'] = (place ?? '0 -').split(' ')
  return { walk: Number(walk), after: isUuid(after) ? after : null }
}
