import { IdMinter, type Uuid } from '@duly/domain'

/** So far apart that the ids of a batch, each of which adds the words before it, stay below the ids of the next call. */
const stride = 8

/**
 * Mints ids that increase from call to call while time stands still. A task's id decides who is first among those that became
 * ready at the same instant; drawn at random, tasks that a test submits one after the other would run in any order.
 */
export class OrderedIds extends IdMinter {
  /** For a deployment of one partition: its number stands before the counter in an id. */
  constructor(nowMs: () => number) {
    let words = 0
    const count = (bytes: Buffer): void => {
      for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE((words++ * stride) % 2 ** 32, at)
    }
    super({ nowMs, random: count, partitions: 1 })
  }

  /** As a batch of one, so that single ids and batches are in one order. */
  override mint(): Uuid {
    return this.mintMany(0, 1)[0] as Uuid
  }
}
