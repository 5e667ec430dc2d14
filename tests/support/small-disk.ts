import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cleanUpLater } from './clean-up.js'

/** A disk of a few megabytes, to be filled to the last byte and freed again. */
export interface SmallDisk {
  readonly folder: string
  /** Takes all space that is left. */
  fill(): void
  /** Gives it back. */
  free(): void
}

/** Mounts one in memory; answers why not where that is not allowed. Gone when the test file is done. */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk | string> {
  const folder = await mkdtemp(join(tmpdir(), 'duly-small-disk-'))
  await chmod(folder, 0o755)
  cleanUpLater(() => rm(folder, { recursive: true, force: true }))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0755`, 'tmpfs', folder], { stdio: 'pipe' })
  } catch (error) {
    return `no small disk can be mounted here: ${error instanceof Error ? error.message.trim() : String(error)}`
  }
  cleanUpLater(() => execFileSync('umount', ['--lazy', folder]))
  const ballast = join(folder, 'ballast')
  return { folder, fill: () => fill(ballast), free: () => rmSync(ballast, { force: true }) }
}

function fill(path: string): void {
  for (let size = 1 << 20; size >= 1 << 12; size >>= 1) {
    for (;;) {
      try {
        writeFileSync(path, Buffer.alloc(size), { flag: 'a' })
      } catch {
        break
      }
    }
  }
}
