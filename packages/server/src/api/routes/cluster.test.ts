import { Cluster } from '@duly/contract'
import { beforeAll, describe, expect, it } from 'vitest'
import { cleanUpLater } from '../../../../../tests/support/clean-up.js'
import { type HttpNode, openStore, startHttpNode, until } from '../../dispatch/testing/http-node.js'
import { compileValidator } from '../validate.js'

interface Body {
  readonly nodes: readonly {
    readonly number: number
    readonly alive: boolean
    readonly partitions_led: number
    readonly time_zone_data: string | null
  }[]
  readonly partitions: readonly { readonly leader: number | null; readonly epoch: number }[]
  readonly partition_count: number
  readonly adapters: Record<string, { readonly healthy: boolean; readonly version?: string }>
}

describe('GET /cluster', () => {
  let url: string
  let one: HttpNode
  beforeAll(async () => {
    url = (await openStore()).url
    one = await startHttpNode(url)
  })
  const read = async (): Promise<Body> => (await one.api.call<Body>('GET', '/cluster')).body
  const led = async (): Promise<number[]> => (await read()).nodes.map((node) => node.partitions_led)

  it('tells nodes, leaders and health, as the contract says', async () => {
    await until('all to be led', async () => (await led())[0] === 64)
    await until('its time zone data', async () => (await read()).nodes[0]?.time_zone_data !== null)
    const body = await read()
    expect(compileValidator(Cluster)(body)).toEqual([])
    expect(body).toMatchObject({
      partition_count: 64,
      nodes: [{ number: 0, alive: true, roles: ['api', 'scheduler'], time_zone_data: process.versions.tz }],
    })
    expect(new Set(body.partitions.map(({ leader }) => leader))).toEqual(new Set([0]))
    expect(Object.values(body.adapters).map(({ healthy }) => healthy)).toEqual([true, true, true])
    expect(body.adapters.store?.version).toMatch(/^\d+/)
    const metrics = await (await fetch(`${one.url}/metrics`)).text()
    expect(metrics).toMatch(/\nduly_partitions_led 64\n/)
  })

  it('shows how partitions spread as nodes come and go; a node without the role of a scheduler leads none', async () => {
    const two = await startHttpNode(url)
    const three = await startHttpNode(url, { roles: 'api' })
    cleanUpLater(() => three.stop())
    await until('an even spread', async () => (await led()).join() === '32,32,0')
    await two.stop()
    await until('all led by the first', async () => (await led()).join() === '64,0')
    expect((await read()).partitions.every(({ epoch }) => epoch > 0)).toBe(true)
  })
})
