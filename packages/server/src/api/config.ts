import { limits } from '@duly/domain'
import type { LingerLimits } from './linger.js'

const MiB = 1_048_576

/** What an operator can set of the HTTP server. Every part has a default. */
export interface ApiConfig {
  /** Largest payload and result in bytes of UTF-8: 1 MiB, settable to 16 MiB. */
  readonly payloadMaxBytes?: number
  readonly resultMaxBytes?: number
  /** Open connections; further ones are refused at once. */
  readonly maxConnections?: number
  /** Time in which the headers must have come: 10 s. Together with the next one it ends slow clients. */
  readonly headersTimeoutMs?: number
  /** Time in which the whole request must have come: 30 s. An answer may take longer: long polls are held up to 60 s. */
  readonly requestTimeoutMs?: number
  /** How often connections are looked at for the two limits above. */
  readonly connectionsCheckMs?: number
  /** What is still read and thrown away of a client that goes on sending after its last answer: 5 s, and as much as the largest body. */
  readonly linger?: LingerLimits
  /** Logs that are followed as streams at a time: 1,000. */
  readonly maxStreams?: number
  /** How often a stream says something, if only an empty line: 10 s. */
  readonly streamHeartbeatMs?: number
  readonly version?: string
  /** False: a node without the role `api`, which answers probes and scrapers alone. */
  readonly servesCalls?: boolean
}

export interface ResolvedApiConfig extends Required<ApiConfig> {
  readonly singleBodyMaxBytes: number
  readonly batchBodyMaxBytes: number
}

/** Fills in the defaults. A raised payload limit raises the limit of single bodies with it. */
export function resolveApiConfig(config: ApiConfig): ResolvedApiConfig {
  const payloadMaxBytes = Math.min(config.payloadMaxBytes ?? limits.payloadMaxBytes, limits.settablePayloadMaxBytes)
  return Object.freeze({
    payloadMaxBytes,
    resultMaxBytes: Math.min(config.resultMaxBytes ?? limits.resultMaxBytes, limits.settablePayloadMaxBytes),
    maxConnections: config.maxConnections ?? 20_000,
    headersTimeoutMs: config.headersTimeoutMs ?? 10_000,
    requestTimeoutMs: config.requestTimeoutMs ?? 30_000,
    connectionsCheckMs: config.connectionsCheckMs ?? 2_000,
    linger: config.linger ?? { ms: 5_000, bytes: limits.batchBodyMaxBytes },
    maxStreams: config.maxStreams ?? 1_000,
    streamHeartbeatMs: config.streamHeartbeatMs ?? 10_000,
    version: config.version ?? '0.1.0',
    servesCalls: config.servesCalls ?? true,
    singleBodyMaxBytes: Math.max(limits.singleBodyMaxBytes, payloadMaxBytes + MiB),
    batchBodyMaxBytes: limits.batchBodyMaxBytes,
  })
}
