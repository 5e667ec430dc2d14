import { afterEach } from 'vitest'
import { cleanUpLater } from '../support/clean-up.js'
import { FaultyNode } from './faulty-node.js'

/** The node that all tests of the calling file share: without faults when a test begins, closed when the file is done. */
export async function openSharedNode(): Promise<FaultyNode> {
  const node = await FaultyNode.open()
  cleanUpLater(() => node.close())
  afterEach(() => {
    node.faults = () => null
  })
  return node
}
