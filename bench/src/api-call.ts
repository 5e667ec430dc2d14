/**
 * Posts JSON and reads the answer's.
 *
 * @param body an object, or a text that is JSON already
 * @throws Error with the answer's text if it is no success
 */
export async function postJson<T>(url: string, body: object | string): Promise<T> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, {
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`)
  return JSON.parse(text) as T
}
