import { tagList } from '../tags.js'
import { errorEntries, routeEntries, schemaEntries } from './entries.js'
import { Html, html, prose } from './html.js'
import type { Entry } from './parts.js'

/** What the page is made with; style and script stand in it, so that it is one file that needs no other. */
export interface PageParts {
  readonly version: string
  readonly css: string
  readonly script: string
}

interface Chapter {
  readonly anchor: string
  readonly title: string
  readonly intro: Html
  readonly entries: readonly Entry[]
}

/** The reference of the API for a browser: one page, the same routes and schemas as the OpenAPI document. */
export function renderApiPage({ version, css, script }: PageParts): string {
  const chapters = allChapters()
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Duly HTTP API ${version}</title>
<link rel="icon" href="data:,">
<style>${new Html(css)}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<p class="title"><strong>Duly</strong> HTTP API <span class="version">${version}</span></p>
<search class="controls" hidden>
<label class="hidden" for="query">Search routes, fields and errors</label>
<input id="query" type="search" placeholder="Search ( / )" autocomplete="off" spellcheck="false">
<button id="theme" type="button">Theme: system</button>
</search>
<p id="found" class="hidden" role="status"></p>
</header>
<nav aria-label="Contents"><details open><summary>Contents</summary>${chapters.map(contents)}</details></nav>
<main id="content" tabindex="-1">
<h1>Duly HTTP API</h1>
${intro}
<p id="nothing" hidden>Nothing here has all of these words. <button id="clear" type="button">Show everything</button></p>
${chapters.map(chapter)}
</main>
<script>${new Html(script)}</script>
</body>
</html>
`.text
}

const intro = html`<section class="intro">
<p>JSON in and out, UTF-8, <code>snake_case</code> keys. Instants are RFC 3339 with an offset, answered in UTC; durations are
seconds and may have a fraction. Unknown keys and unknown query parameters are refused, not ignored.</p>
<p>Errors are problem documents (RFC 9457, <code>application/problem+json</code>) with a stable <code>code</code>; all invalid
fields are listed at once. Every answer carries <code>x-request-id</code>, which finds the request in the server's log.</p>
<p>Where a scope is named, a server that asks for keys wants <code>authorization: Bearer …</code> with a key that has it. The
same as a document for programs: <a href="openapi.json">OpenAPI 3.1</a>.</p>
</section>`

function allChapters(): readonly Chapter[] {
  return [
    ...tagList.map(({ name, doc }) => ({
      ...{ anchor: `tag-${name}`, title: titled(name), intro: prose(doc), entries: routeEntries(name) },
    })),
    {
      ...{ anchor: 'schemas', title: 'Schemas', entries: schemaEntries() },
      intro: prose('What bodies and answers are made of.'),
    },
    {
      ...{ anchor: 'errors', title: 'Errors', entries: errorEntries() },
      intro: prose('Every `code` of a problem document.'),
    },
  ]
}

const titled = (name: string): string => `${name.slice(0, 1).toUpperCase()}${name.slice(1).replaceAll('-', ' ')}`

function contents({ anchor, title, entries }: Chapter): Html {
  return html`
<p><a href="#${anchor}">${title}</a></p>
<ul>${entries.map(
    (entry) => html`
<li data-entry="${entry.anchor}"><a href="#${entry.anchor}">${entry.label}</a></li>`,
  )}
</ul>`
}

function chapter({ anchor, title, intro: text, entries }: Chapter): Html {
  return html`
<section class="chapter" aria-labelledby="${anchor}">
<h2 id="${anchor}">${title}</h2>
<p>${text}</p>
${entries.map(
  (entry) => html`
<article data-words="${entry.words.join(' ').toLowerCase()}">
<h3 id="${entry.anchor}">${entry.heading} <a class="anchor" href="#${entry.anchor}" aria-label="Link to ${entry.name}">#</a></h3>
${entry.content}
</article>`,
)}
</section>`
}
