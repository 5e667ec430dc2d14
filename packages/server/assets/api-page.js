// What the page of the API does beyond being read: search, copy, theme. Without it everything is still there.
const byId = (id) => document.getElementById(id)
const say = (text) => {
  byId('found').textContent = text
}

// Search: every word must stand somewhere in an entry. What does not match is hidden, in the page and in the contents.
const query = byId('query')
const articles = [...document.querySelectorAll('article')]
const listed = new Map([...document.querySelectorAll('li[data-entry]')].map((item) => [item.dataset.entry, item]))

function search() {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean)
  let shown = 0
  for (const article of articles) {
    const matches = words.every((word) => article.dataset.words.includes(word))
    article.hidden = !matches
    const item = listed.get(article.querySelector('h3').id)
    if (item) item.hidden = !matches
    if (matches) shown += 1
  }
  for (const chapter of document.querySelectorAll('.chapter')) {
    chapter.hidden = chapter.querySelector('article:not([hidden])') === null
  }
  byId('nothing').hidden = shown > 0
  document.querySelector('.intro').hidden = words.length > 0
  say(words.length === 0 ? '' : `${shown} found`)
}

function showEverything() {
  query.value = ''
  search()
}

query.addEventListener('input', search)
byId('clear').addEventListener('click', () => {
  showEverything()
  query.focus()
})
query.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') showEverything()
  if (event.key !== 'Enter') return
  const first = document.querySelector('article:not([hidden]) .anchor')
  first?.focus()
  first?.closest('article').scrollIntoView()
})
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.target instanceof HTMLInputElement) return
  event.preventDefault()
  query.focus()
})

// A link may lead to what the search hides.
function reveal() {
  const target = byId(decodeURIComponent(location.hash.slice(1)))
  if (!target?.closest('[hidden]')) return
  showEverything()
  target.scrollIntoView()
}
window.addEventListener('hashchange', reveal)

// The calls go to the server that the page came from, and can be copied.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    // Without HTTPS a browser has no clipboard of that kind.
    const area = document.createElement('textarea')
    area.value = text
    document.body.append(area)
    area.select()
    document.execCommand('copy')
    area.remove()
  }
}

for (const call of document.querySelectorAll('pre[data-copy]')) {
  const code = call.querySelector('code')
  if (location.origin.startsWith('http')) {
    code.textContent = code.textContent.replace('http://127.0.0.1:7070', location.origin)
  }
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  button.setAttribute('aria-label', `Copy ${call.dataset.copy}`)
  button.addEventListener('click', async () => {
    await copy(code.textContent)
    button.focus()
    button.textContent = 'Copied'
    say('Copied')
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 2_000)
  })
  call.prepend(button)
}

// Theme: what the system says, unless it was chosen here.
const themes = ['system', 'light', 'dark']
const KEY = 'duly-theme'

function kept() {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null // storage is forbidden
  }
}

function setTheme(theme) {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  byId('theme').textContent = `Theme: ${theme}`
  try {
    localStorage.setItem(KEY, theme)
  } catch {
    // it lasts as long as the page
  }
}

let theme = themes.includes(kept()) ? kept() : 'system'
setTheme(theme)
byId('theme').addEventListener('click', () => {
  theme = themes[(themes.indexOf(theme) + 1) % themes.length]
  setTheme(theme)
})

// A narrow screen starts with its contents closed.
if (matchMedia('(max-width: 50rem)').matches) document.querySelector('nav details').open = false
document.querySelector('.controls').hidden = false
reveal()
