/** The start of a worker whose queue doesn't answer. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { startWorker } from '../../lib/queue.js'
import { coded } from '../support/coded.js'

it('rejects with AbortedError if the signal is aborted while the queue does not answer', async () => {
  const sockets: Socket[] = []
  const server = createServer((socket) => sockets.push(socket.on('error', () => {})))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const controller = new AbortController()
  const started = startWorker({
    queue: `redis://127.0.0.1:${port}`,
    roots: ['.'],
    backend: 'cpu',
    signal: controller.signal,
  })
  try {
    await once(server, 'connection')
    controller.abort()
    await expect(started).rejects.toEqual(coded('ABORTED'))
  } finally {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
})
