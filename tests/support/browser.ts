import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { cleanUpLater } from './clean-up.js'

/** As Debian, other distributions and Google call it. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

/** A machine that is short of time takes its time to start one, and to show a page. */
export const PATIENCE_MS = 120_000

/** Starts the Chromium of this machine, without a window; it ends with the test file. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = find()
  if (executablePath === undefined) {
    throw new Error('This test needs Chromium: `npm test` installs it as root on Debian; else install it yourself.')
  }
  const browser = await chromium.launch({ executablePath, args: ['--disable-gpu'], timeout: PATIENCE_MS })
  cleanUpLater(() => browser.close())
  return browser
}

function find(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((file) => {
    try {
      accessSync(file, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
