// npm start [-- options of `duly dev`]: from a fresh checkout to a running Duly.
import process from 'node:process'
import { bootstrap, main } from './bootstrap.mjs'

const parent = process.ppid

await main(import.meta.url, async () => {
  await bootstrap()
  // Ended while it was built, npm left us alone. From here on `duly dev` looks after that.
  if (process.env.npm_command !== undefined && process.ppid !== parent) return
  // This process goes on as `duly dev` itself: no second one that would have to pass signals on and the exit code back.
  process.argv.splice(2, 0, 'dev')
  await import('../packages/duly/bin/duly.js')
})
