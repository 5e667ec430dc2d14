// The graph of the pipeline: 30 tasks.
import { steps } from './steps.mjs'

const modules = ['words', 'lines', 'slug', 'wrap', 'table', 'count']

/**
 * Puts the workflow together.
 *
 * @param {import('@duly/sdk').Duly} duly
 * @param {{ readonly folder: string, readonly source: string }} options the folder of this run, and where its sources come from
 */
export function pipeline(duly, { folder, source }) {
  const build = duly.workflow('build-tinytext')
  const checkout = build.task('checkout', steps.checkout, { folder, source })
  const perModule = modules.map((module) => {
    const after = [checkout]
    const lint = build.task(`lint-${module}`, steps.lint, { folder, module }, { after })
    const compile = build.task(`compile-${module}`, steps.compile, { folder, module }, { after: [lint] })
    const test = build.task(`test-${module}`, steps.test, { folder, module }, { after: [lint] })
    return { compile, test }
  })
  const compiled = perModule.map(({ compile }) => compile)
  const tested = perModule.map(({ test }) => test)
  const bundle = build.task('bundle', steps.bundle, { folder }, { after: compiled })
  const integrate = build.task('integrate', steps.integrate, { folder }, { after: [bundle] })
  const document = build.task('document', steps.document, { folder }, { after: [checkout] })
  const measure = build.task('measure', steps.measure, {}, { after: [bundle] })
  const audit = build.task('audit', steps.audit, { folder }, { after: [checkout] })
  const ready = [integrate, measure, audit, ...tested]
  const archive = build.task('archive', steps.archive, { folder }, { after: [bundle, ...ready] })
  const checksum = build.task('checksum', steps.checksum, { folder }, { after: [archive] })
  const announce = build.task('announce', steps.announce, { folder }, { after: [checksum, document] })
  const preview = build.task('preview', steps.preview, { folder }, { after: [bundle, document] })
  const cleanUp = build.task('clean-up', steps.cleanUp, { folder }, { after: [preview], triggerRule: 'one_failed' })
  const last = [checksum, announce, preview, cleanUp]
  build.task('report', steps.report, { folder }, { after: last, triggerRule: 'all_done' })
  return build
}
