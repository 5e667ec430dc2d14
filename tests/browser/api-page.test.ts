import { components, routeList } from '@duly/contract'
import { errorCodes } from '@duly/domain'
import axe, { type AxeResults } from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { PATIENCE_MS, startBrowser } from '../support/browser.js'
import { createDatabase } from '../support/database.js'
import { startServer } from '../support/processes.js'

const PHONE = { viewport: { width: 375, height: 667 }, hasTouch: true }
const ENTRIES = routeList.length + Object.keys(components).length + errorCodes.length

/** Found in a few entries of each kind: axe takes seconds for the whole page. */
const FEW = 'session'

let browser: Browser
let url = ''
beforeAll(async () => {
  const server = createDatabase().then(({ url: databaseUrl }) => startServer({ databaseUrl }))
  browser = await startBrowser()
  url = (await server).url
})

/** What no visitor may see: errors of scripts and policies, and requests to anywhere. */
const complaints: string[] = []
const requested: string[] = []
afterEach(() => {
  const found = { complaints: complaints.splice(0), requested: [...new Set(requested.splice(0))] }
  expect(found).toEqual({ complaints: [], requested: found.requested.length === 0 ? [] : [`${url}/docs`] })
})

async function open(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options)
  await context.addInitScript({ content: axe.source })
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('request', (request) => {
    if (!request.url().startsWith('data:')) requested.push(request.url().split('#')[0] ?? '')
  })
  await page.goto(`${url}/docs`)
  return page
}

/** What the page comes to show: the browser does what it is told a little later. */
const shown = <T>(read: () => Promise<T> | T) => expect.poll(read, { timeout: PATIENCE_MS })
const visible = (page: Page): Promise<number> => page.locator('article:visible').count()
const search = (page: Page) => page.getByRole('searchbox')

/** What axe finds against WCAG 2.2 AA, with the places where. */
async function violations(page: Page): Promise<unknown> {
  const tags = JSON.stringify(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'])
  const found = await page.evaluate<AxeResults>(`axe.run({ runOnly: { type: 'tag', values: ${tags} } })`)
  expect(found.passes.map(({ id }) => id)).toContain('color-contrast')
  return found.violations.map(({ id, nodes }) => ({ id, nodes: nodes.slice(0, 3).map(({ html }) => html) }))
}

describe('the page of the API on a desk', () => {
  let page: Page
  beforeAll(async () => {
    page = await open({ colorScheme: 'light', permissions: ['clipboard-read', 'clipboard-write'] })
  })

  it('shows every route, schema and error, also without its script', async () => {
    await shown(() => visible(page)).toBe(ENTRIES)
    const bare = await open({ javaScriptEnabled: false })
    await shown(() => visible(bare)).toBe(ENTRIES)
    await shown(() => search(bare).isVisible()).toBe(false)
  })

  it('finds by every word: paths, fields, codes', async () => {
    await page.keyboard.press('/')
    await page.keyboard.type('post /tasks/{TASK_ID}/CANCEL')
    await shown(() => page.locator('article:visible h3').allTextContents()).toEqual([
      expect.stringContaining('/tasks/{task_id}/cancel'),
    ])
    await shown(() => page.locator('li[data-entry]:visible').count()).toBe(1)
    await shown(() => page.getByRole('status').textContent()).toBe('1 found')
    await search(page).fill('idempotency_conflict')
    await shown(() => page.locator('#error-idempotency_conflict').isVisible()).toBe(true)
    await page.keyboard.press('Escape')
    await shown(() => visible(page)).toBe(ENTRIES)
  })

  it('says that nothing was found, and leads back', async () => {
    await search(page).fill('nothing-of-that-name')
    await shown(() => visible(page)).toBe(0)
    await page.getByRole('button', { name: 'Show everything' }).click()
    await shown(() => visible(page)).toBe(ENTRIES)
  })

  it('shows what a link leads to, though a search hid it', async () => {
    await search(page).fill('cancelTask')
    await page.getByRole('main').getByRole('link', { name: 'CancelledTask' }).first().click()
    await page.locator('#schema-CancelledTask').waitFor({ state: 'visible' })
    await shown(() => visible(page)).toBe(ENTRIES)
  })

  it('gives calls to this server to the clipboard', async () => {
    const button = page.getByRole('button', { name: 'Copy the call of POST /api/v1/tasks', exact: true })
    // says so for two seconds only: what it says is kept
    await button.evaluate((element: { textContent: string }) => {
      const said: string[] = []
      Object.assign(globalThis, { said })
      const observer = Reflect.construct(Reflect.get(globalThis, 'MutationObserver'), [
        () => said.push(element.textContent),
      ]) as { observe(target: unknown, options: object): void }
      observer.observe(element, { childList: true })
    })
    await button.click()
    await page.getByRole('status').getByText('Copied').waitFor({ state: 'attached' })
    const copied = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(copied).toMatch(new RegExp(`^curl ${url}/api/v1/tasks `))
    await shown(() => page.evaluate<string[]>('said')).toContain('Copied')
  })

  it('can be used by keyboard alone', async () => {
    await page.goto(`${url}/docs`)
    const focused = () => page.evaluate<string>('document.activeElement?.id')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await shown(focused).toBe('content')
    await page.keyboard.press('/')
    await shown(focused).toBe('query')
    await page.keyboard.type('listQueues')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Enter')
    await shown(() => new URL(page.url()).hash).toBe('#listQueues')
    await page.keyboard.press('/')
    await page.keyboard.press('Escape')
  })

  it('meets WCAG 2.2 AA in both themes, and keeps the one that was chosen', async () => {
    const paper = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    const light = await paper()
    await search(page).fill(FEW)
    await shown(() => page.locator('article:visible .method, article:visible .status').count()).toBeGreaterThan(5)
    expect(await violations(page)).toEqual([])
    const button = page.getByRole('button', { name: 'Theme' })
    for (const theme of ['light', 'dark']) {
      await button.click()
      await shown(() => button.textContent()).toBe(`Theme: ${theme}`)
    }
    const dark = await paper()
    expect(dark).not.toBe(light)
    await page.reload()
    await shown(paper).toBe(dark)
    await search(page).fill(FEW)
    expect(await violations(page)).toEqual([])
    await button.click()
    await shown(paper).toBe(light)
  })
})

describe('the page of the API on a phone', () => {
  it('fits it, and meets WCAG 2.2 AA', async () => {
    const page = await open(PHONE)
    const overflow = () => page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth')
    await shown(overflow).toBe(0)
    const entry = page.locator('li[data-entry]').first()
    await shown(() => entry.isVisible()).toBe(false)
    await page.getByText('Contents', { exact: true }).tap()
    await shown(() => entry.isVisible()).toBe(true)
    await page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
    await shown(overflow).toBe(0)
    await search(page).fill(FEW)
    expect(await violations(page)).toEqual([])
    await search(page).fill('')
    await entry.getByRole('link').tap()
    await shown(() => new URL(page.url()).hash).toBe('#submitTask')
  })
})
