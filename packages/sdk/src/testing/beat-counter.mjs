// A peer in a thread of its own: counts heartbeats while the main thread is blocked.
import { createServer } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

const beats = new Int32Array(workerData.beats)
const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    Atomics.add(beats, 0, 1)
    response.setHeader('content-type', 'application/json')
    setTimeout(() => response.end('{"cancel":[],"lost":[],"drain":false}'), 50)
  })
})
server.listen(0, '127.0.0.1', () => parentPort?.postMessage(server.address()))
