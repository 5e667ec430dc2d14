import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HeldLeases, type Lease } from './held-leases.js'

const lease = (n: number, over: Partial<Lease> = {}): Lease => ({
  id: `task ${n}`,
  attempt: 1,
  token: BigInt(n),
  ...over,
})

const holding = (...numbers: number[]): HeldLeases => {
  const leases = new HeldLeases()
  for (const n of numbers) leases.add(lease(n))
  return leases
}

describe('a report', () => {
  it('frees the slot when it comes in, for good when it is accepted', () => {
    const leases = holding(1, 2)
    leases.report(lease(1))
    expect(leases.tokens()).toEqual([2n])
    leases.settle(1n, true)
    expect(leases.tokens()).toEqual([2n])
  })

  it('that is not accepted takes the slot again', () => {
    const leases = holding(1)
    leases.report(lease(1))
    leases.settle(1n, false)
    expect(leases.size).toBe(1)
  })

  it.each([
    ['another task', { id: 'task 9' }],
    ['another attempt', { attempt: 2 }],
    ['another token', { token: 9n }],
  ])('that names %s frees nothing', (_, over) => {
    const leases = holding(1)
    leases.report(lease(1, over))
    expect(leases.size).toBe(1)
  })

  it('that is under way is not undone by an older word of the store, nor by the same grant given again', () => {
    const leases = holding(1)
    leases.report(lease(1))
    leases.replace([lease(1)], [])
    leases.add(lease(1))
    expect(leases.size).toBe(0)
  })
})

describe('the word of the store', () => {
  it('ends what it does not name, of what was believed when it was asked for; what came since stays', () => {
    const leases = holding(1, 2)
    const before = leases.tokens()
    leases.add(lease(3))
    leases.replace([lease(2), lease(4)], before)
    expect(leases.tokens().sort()).toEqual([2n, 3n, 4n])
  })
})

describe('what ended by another hand', () => {
  it('takes no slot', () => {
    const leases = holding(1, 2)
    leases.end(1n)
    leases.end(9n)
    expect(leases.tokens()).toEqual([2n])
  })
})

describe('beside a store', () => {
  const step = fc.record({
    kind: fc.constantFrom('grant', 'report', 'lie', 'land', 'refuse', 'take back', 'ask', 'hear'),
    pick: fc.nat(),
  })

  it('it never believes less than the store holds and no report under way speaks of', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const leases = new HeldLeases()
        const store = new Map<bigint, Lease>()
        const reporting: bigint[] = []
        let asked: { before: readonly bigint[]; word: readonly Lease[] } | null = null
        let next = 1
        for (const { kind, pick } of steps) {
          const held = [...store.values()].filter(({ token }) => !reporting.includes(token))
          const one = held[pick % Math.max(1, held.length)]
          if (kind === 'grant') {
            const granted = lease(next++)
            store.set(granted.token, granted)
            leases.add(granted)
          } else if (kind === 'report' && one) {
            leases.report(one)
            reporting.push(one.token)
          } else if (kind === 'lie' && one) leases.report({ ...one, attempt: one.attempt + 1 })
          else if (kind === 'take back' && one) {
            store.delete(one.token)
            leases.end(one.token)
          } else if (kind === 'ask') asked = { before: leases.tokens(), word: [...store.values()] }
          else if (kind === 'hear' && asked) {
            leases.replace(asked.word, asked.before)
            asked = null
          } else if (kind === 'land' || kind === 'refuse') {
            const token = reporting.shift()
            if (token === undefined) continue
            if (kind === 'land') store.delete(token)
            leases.settle(token, kind === 'land')
          }
          const open = [...store.keys()].filter((token) => !reporting.includes(token))
          expect(leases.countOf(open)).toBe(open.length)
        }
      }),
    )
  })
})
