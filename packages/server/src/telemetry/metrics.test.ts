import { describe, expect, it } from 'vitest'
import { LabelBound, maxLabelValues } from './label-bound.js'
import { metricTable } from './metric-table.js'
import { createMetrics } from './metrics.js'

const linesOf = async (metrics: { render(): Promise<string> }) => (await metrics.render()).split('\n')

describe('metrics', () => {
  it('count what they are told', async () => {
    const metrics = createMetrics({ process: false })
    metrics.taskSubmitted('send', 'acme')
    metrics.taskStarted({ taskType: 'send', submitToStartMs: 4, dueToStartMs: null })
    metrics.taskFinished({ taskType: 'send', status: 'SUCCEEDED', executionMs: 120 })
    metrics.taskRetried('send')
    metrics.taskTimedOut('send')
    metrics.leasesLost(3)
    metrics.commit(40, 2)
    metrics.claim(7, 1.5)
    const lines = await linesOf(metrics)
    for (const line of [
      'duly_tasks_submitted_total{task_type="send",tenant="acme"} 1',
      'duly_tasks_started_total{task_type="send"} 1',
      'duly_submit_to_start_seconds_sum{task_type="send"} 0.004',
      'duly_tasks_finished_total{task_type="send",outcome="succeeded"} 1',
      'duly_execution_seconds_sum{task_type="send"} 0.12',
      'duly_task_retries_total{task_type="send"} 1',
      'duly_task_timeouts_total{task_type="send"} 1',
      'duly_leases_lost_total 3',
      'duly_commit_batch_tasks_sum 40',
      'duly_commit_seconds_sum 0.002',
      'duly_claim_batch_tasks_bucket{le="10"} 1',
      'duly_claim_seconds_sum 0.0015',
    ]) {
      expect(lines).toContain(line)
    }
    expect(lines.some((line) => line.startsWith('duly_due_to_start_seconds_count'))).toBe(false)
  })

  it('ask for depths, dead letters and slots at each scrape, and forget queues that are gone', async () => {
    const metrics = createMetrics({ process: false })
    let queues = ['a', 'b']
    metrics.ask({
      queues: async () =>
        queues.map((queue) => ({ queue, depthByPriority: { high: 1, medium: 2, low: 0 }, oldestAgeMs: 1_500 })),
      slots: async () => ({ busy: 3, total: 10 }),
      letters: async () => new Map([['a', 7]]),
    })
    const lines = await linesOf(metrics)
    expect(lines).toContain('duly_queue_depth{queue="b",priority="medium"} 2')
    expect(lines).toContain('duly_queue_oldest_seconds{queue="a"} 1.5')
    expect(lines).toContain('duly_worker_slots_busy 3')
    expect(lines).toContain('duly_dead_letters{queue="a"} 7')
    queues = ['a']
    expect((await linesOf(metrics)).some((line) => line.includes('queue="b"'))).toBe(false)
  })

  it('say of each gauge, which every node reads from the same store, how to take it over the nodes', () => {
    const { duly_partitions_led: own, ...shared } = metricTable
    expect(own.help).toContain('over the nodes they add up')
    const gauges = Object.values(shared).filter(({ kind }) => kind === 'gauge')
    expect(gauges).toHaveLength(8)
    for (const { help } of gauges) expect(help).toContain('take the max over the nodes')
  })

  it('still answer when a source fails', async () => {
    const metrics = createMetrics({ process: false })
    const fail = () => Promise.reject(new Error('no store'))
    metrics.ask({ queues: fail, slots: fail, letters: fail, workflows: fail })
    expect(await metrics.render()).toContain('# TYPE duly_queue_depth gauge')
  })

  it('keep their labels bounded: the rest is `other`, queues summed up', async () => {
    const metrics = createMetrics({ process: false })
    for (let tenant = 0; tenant < 1_000; tenant++) metrics.taskSubmitted('send', `tenant-${tenant}`)
    metrics.ask({
      queues: async () =>
        Array.from({ length: 300 }, (_, n) => ({
          queue: `q${n}`,
          depthByPriority: { high: 1, medium: 0, low: 0 },
          oldestAgeMs: n,
        })),
    })
    const lines = await linesOf(metrics)
    expect(lines.filter((line) => line.startsWith('duly_tasks_submitted_total{'))).toHaveLength(maxLabelValues + 1)
    expect(lines).toContain(`duly_tasks_submitted_total{task_type="send",tenant="other"} ${1_000 - maxLabelValues}`)
    expect(lines).toContain(`duly_queue_depth{queue="other",priority="high"} ${300 - maxLabelValues}`)
    expect(lines).toContain('duly_queue_oldest_seconds{queue="other"} 0.299')
  })

  it('are told apart between two nodes of one process', async () => {
    const [one, two] = [createMetrics(), createMetrics()]
    one.leasesLost(1)
    expect(await linesOf(two)).toContain('duly_leases_lost_total 0')
    expect(await one.render()).toContain('process_resident_memory_bytes')
  })

  it('are all named and explained', () => {
    for (const [name, entry] of Object.entries(metricTable)) {
      expect(name).toMatch(/^duly_[a-z_]+$/)
      expect(entry.help).toMatch(/\.$/)
      if (entry.kind === 'counter') expect(name).toMatch(/_total$/)
    }
  })
})

it('a bound keeps the values it knows', () => {
  const bound = new LabelBound(2)
  expect(['a', 'b', 'c', 'a', 'b'].map((value) => bound.of(value))).toEqual(['a', 'b', 'other', 'a', 'b'])
})
