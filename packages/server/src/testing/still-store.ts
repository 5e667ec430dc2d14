import { cleanUpLater } from '../../../../tests/support/clean-up.js'
import { createDatabase } from '../../../../tests/support/database.js'
import { StoreTime } from '../kit/store-time.js'
import { openTestNode, type TestNode, type TestNodeOptions } from './test-node.js'

/**
 * A database for the calling test file whose time stands still, and a node on it: for what is judged by seconds, which a machine
 * that is short of time may take for any two statements. Gone when the file is done.
 */
export async function openStillStore(
  options: TestNodeOptions = {},
): Promise<{ readonly url: string; readonly node: TestNode; readonly time: StoreTime }> {
  const { url, drop } = await createDatabase()
  const time = await StoreTime.install(url, { at: new Date() })
  const node = await openTestNode(url, options)
  cleanUpLater(async () => {
    await Promise.all([node.close(), time.close()])
    await drop()
  })
  return { url, node, time }
}
