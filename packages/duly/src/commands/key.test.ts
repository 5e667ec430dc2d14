import { beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../../server/src/dispatch/testing/http-node.js'
import { cli } from '../testing/captured-cli.js'

let at: readonly string[]
beforeAll(async () => {
  at = ['--database-url', (await openStore()).url]
})

async function create(scopes: string, ...more: string[]): Promise<string> {
  const { out } = await cli(['key', 'create', '--name', scopes, '--scopes', scopes, ...more, '--json', ...at])
  return JSON.parse(out).key_id
}

const revoke = (id: string, isInteractive: boolean, ...more: string[]) =>
  cli(['key', 'revoke', id, ...more, ...at], { isInteractive })

async function liveKeys(): Promise<readonly string[]> {
  const { items } = JSON.parse((await cli(['key', 'list', '--json', ...at])).out)
  const live = items.filter((key: { revoked_at: string | null }) => key.revoked_at === null)
  return live.map((key: { key_id: string }) => key.key_id)
}

describe('duly key revoke', () => {
  it('asks for a yes at a terminal before the last admin key goes, and tells the way back', async () => {
    const first = await create('admin')
    const last = await create('admin')
    const reader = await create('read')
    await create('admin', '--tenant', 'acme')
    expect(await revoke(first, true)).toEqual({ code: 0, out: `${first} revoked\n`, err: '' })
    expect(await revoke(reader, true)).toEqual({ code: 0, out: `${reader} revoked\n`, err: '' })
    const refused = await revoke(last, true)
    expect(refused).toMatchObject({ code: 2, out: '' })
    expect(refused.err).toMatch(/is the last live admin key.*\nAdd --yes .*`duly key create .* --database-url/)
    expect(await liveKeys()).toContain(last)
    const done = await revoke(last, true, '--yes')
    expect(done).toMatchObject({ code: 0, out: `${last} revoked\n` })
    expect(done.err).toMatch(/^That was the last admin key\. .*`duly key create/)
    expect(await liveKeys()).not.toContain(last)
  })

  it('does what a script says, and warns', async () => {
    const only = await create('admin')
    expect(await revoke(only, false)).toMatchObject({ code: 0, err: expect.stringMatching(/the last admin key/) })
    // again: no question, and still the server's word on how things stand
    expect(await revoke(only, true)).toMatchObject({ code: 0, err: expect.stringMatching(/the last admin key/) })
  })

  it('tells a program whether that was the last one, as the API does', async () => {
    const [first, last] = [await create('admin'), await create('admin')]
    const told = async (id: string) => JSON.parse((await revoke(id, false, '--json')).out)
    expect(await told(first)).toEqual({ key_id: first, revoked: true, last_admin: false })
    expect(await told(last)).toEqual({ key_id: last, revoked: true, last_admin: true })
  })
})
