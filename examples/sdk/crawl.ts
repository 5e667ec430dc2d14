import { Duly, defineTask, type, Worker } from '@duly/sdk'

/** The pages of a site, and where each of them leads to. */
const links: Readonly<Record<string, readonly string[]>> = {
  '/': ['/guide', '/news'],
  '/guide': ['/guide/start', '/'],
  '/news': ['/guide/start'],
  '/guide/start': [],
}

const crawl = defineTask('crawl', {
  payload: type<{ path: string }>(),
  result: type<{ pages: number }>(),
  queue: 'crawl',
})
const measure = defineTask('measure', { payload: type<{ path: string }>(), result: type<number>(), queue: 'crawl' })
const report = defineTask('report', { payload: type<null>(), queue: 'crawl', dependencies: { crawl } })

export const duly = new Duly()
export const worker = new Worker(duly, { slots: 10 })

worker.handle(crawl, async ({ path }, { submit }) => {
  const pages = reachable(path)
  // tasks of the same workflow, which start at once; the next attempt finds them, and their results, again
  const sizes = await Promise.all(pages.map((page) => submit(measure, { path: page })))
  const results = await Promise.all(sizes.map((size) => size.result()))
  return { pages: results.length }
})
worker.handle(measure, async ({ path }) => path.length)
worker.handle(report, async (_, { dependencies }) => `${(await dependencies.result('crawl')).pages} pages`)

await worker.start()

export async function crawlSite(): Promise<unknown> {
  const workflow = duly.workflow('site')
  const crawled = workflow.task('crawl', crawl, { path: '/' })
  const told = workflow.task('report', report, null, { after: [crawled] })
  const handle = await workflow.submit()
  return handle.node(told).result()
}

function reachable(path: string): readonly string[] {
  const seen = new Set([path])
  for (const page of seen) for (const next of links[page] ?? []) seen.add(next)
  return [...seen]
}
