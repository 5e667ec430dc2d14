import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { cleanUpLater } from './clean-up.js'
import { startHttpProxy } from './http-proxy.js'

test('answers pass unchanged, but for those that are cut after the server did its work', async () => {
  const seen: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    seen.push(`${request.method} ${request.url} ${body}`)
    response.writeHead(201, { 'x-kept': 'yes' }).end(JSON.stringify({ echo: body }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUpLater(() => server.close())
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  const proxy = await startHttpProxy(() => url)

  const answer = await fetch(`${proxy.url}/a?b=c`, { method: 'POST', body: 'hello' })
  expect(answer.status).toBe(201)
  expect(answer.headers.get('x-kept')).toBe('yes')
  expect(await answer.json()).toEqual({ echo: 'hello' })

  proxy.cutWhen(({ path, body }) => path === '/cut' && body.includes('hello'))
  await expect(fetch(`${proxy.url}/cut`, { method: 'POST', body: 'hello' })).rejects.toThrow()
  expect(seen).toEqual(['POST /a?b=c hello', 'POST /cut hello'])
  expect(proxy.cuts).toHaveLength(1)
  expect((await fetch(`${proxy.url}/other`)).status).toBe(201)
})
