/**
 * Who leads which timer partition: each has one leader among the scheduler nodes, so that one node sleeps until its next
 * instant and the others don't.
 *
 * Promised: whoever may lead does so after some passes, each partition by one node at a time as far as the epochs can tell,
 * in even shares. A node that dies is replaced within 10 s of its death, one that resigns at the next pass of another. Every
 * change of hands raises the partition's epoch for ever.
 *
 * Not promised: that two nodes never believe to lead the same partition (one that was frozen believes so until it looks at its
 * clock), nor that there is a leader at every moment. So leading is for speed alone: each write of a leader tests its epoch in
 * the statement itself, and what is left undone for 5 s anyone may do.
 */
export interface Leadership {
  /**
   * The partitions that this node leads, with their epochs. Empty as soon as the node's own monotonic clock says that its last
   * renewal was sent a lease ago, whatever the others think.
   */
  led(): ReadonlyMap<number, number>
  /** One pass: says that this node lives, then takes or gives up what an even spread asks for. Rejects when it can't be said. */
  runOnce(): Promise<void>
  /** Gives up everything, at once, and takes nothing more: what a node does last. */
  resign(): Promise<void>
}

/** What a leadership tells its node. */
export interface LeadershipListener {
  /** Partitions that were led by nobody or by another are led by this node now. */
  readonly onGained: (partitions: readonly number[]) => void
  /** Partitions are free for the others, who should pass at once. */
  readonly onFreed: () => void
}
