import { describe, expect, it } from 'vitest'
import { ManualClock, systemClock } from './clock.js'

describe('systemClock', () => {
  it('tells the time and measures it', async () => {
    const [early, now, late] = [Date.now(), systemClock.nowMs(), Date.now()]
    expect([early - 1 <= now, now <= late + 1]).toEqual([true, true])
    const before = systemClock.monotonicMs()
    await systemClock.sleep(20)
    expect(systemClock.monotonicMs() - before).toBeGreaterThan(15)
  })

  it('sleeps longer than a timer can and still hears the signal', async () => {
    const abort = new AbortController()
    const before = systemClock.monotonicMs()
    const long = systemClock.sleep(2 ** 31 + 5_000, abort.signal).then(() => 'woken')
    expect(await Promise.race([long, systemClock.sleep(30).then(() => 'asleep')])).toBe('asleep')
    abort.abort()
    expect(await long).toBe('woken')
    expect(systemClock.monotonicMs() - before).toBeLessThan(2 ** 31)
  })

  it('does not sleep for an aborted signal, nor for no time', async () => {
    await systemClock.sleep(1e9, AbortSignal.abort())
    await systemClock.sleep(0)
    await systemClock.sleep(-5)
  })
})

describe('ManualClock', () => {
  it('moves only when told', async () => {
    const clock = new ManualClock(1_000)
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([1_000, 0])
    await clock.advance(250)
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([1_250, 250])
    await expect(clock.advance(-1)).rejects.toThrow(RangeError)
  })

  it('wakes sleepers in order, each at its own instant, those too that fall asleep on the way', async () => {
    const clock = new ManualClock(0)
    const seen: string[] = []
    const tick = async () => {
      for (let n = 0; n < 3; n++) {
        await clock.sleep(100)
        seen.push(`tick ${clock.nowMs()}`)
      }
    }
    const ticking = tick()
    void clock.sleep(150).then(() => seen.push(`once ${clock.nowMs()}`))
    await clock.advance(99)
    expect(seen).toEqual([])
    await clock.advance(201)
    await ticking
    expect(seen).toEqual(['tick 100', 'once 150', 'tick 200', 'tick 300'])
    expect(clock.sleeping).toBe(0)
  })

  it('wakes a sleeper whose signal aborts', async () => {
    const clock = new ManualClock()
    const abort = new AbortController()
    const sleep = clock.sleep(1e12, abort.signal)
    expect(clock.sleeping).toBe(1)
    abort.abort()
    await sleep
    expect([clock.sleeping, clock.monotonicMs()]).toEqual([0, 0])
    await clock.sleep(5, abort.signal)
  })

  it('lets the wall clock jump without moving the monotonic one', async () => {
    const clock = new ManualClock(1_000_000)
    let isAwake = false
    void clock.sleep(10).then(() => {
      isAwake = true
    })
    clock.jumpWall(-500_000)
    await clock.advance(9)
    expect([clock.nowMs(), clock.monotonicMs(), isAwake]).toEqual([500_009, 9, false])
    await clock.advance(1)
    expect(isAwake).toBe(true)
  })
})
