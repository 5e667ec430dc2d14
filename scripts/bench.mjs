// npm run bench [-- options]; `npm run bench -- --help` lists them.
import process from 'node:process'
import { bootstrap, build, main, root } from './bootstrap.mjs'
import { commit, machine } from './machine.mjs'

await main(import.meta.url, async () => {
  await bootstrap({ quiet: true })
  build(['-b', 'bench'], { quiet: true })
  /** @type {{ bench(args: readonly string[], place: object): Promise<void> }} */
  const { bench } = await import(`${root}bench/dist/main.js`)
  await bench(process.argv.slice(2), { commit: commit(), machine: machine() })
})
