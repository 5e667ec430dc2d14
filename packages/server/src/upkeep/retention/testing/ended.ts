import type { Uuid } from '@duly/domain'
import { say, startLife, type words } from '../../../testing/lives.js'
import type { newTask, TestNode } from '../../../testing/test-node.js'

/** Makes tasks that ended at their first attempt as their worker said; answers their ids. */
export const endedIn =
  (node: () => TestNode) =>
  async (said: (typeof words)[keyof typeof words], over: Parameters<typeof newTask>[0] = {}): Promise<Uuid> => {
    const life = await startLife(node(), { maxRetries: 0, ...over })
    await say(node(), life, said)
    return life.id
  }
