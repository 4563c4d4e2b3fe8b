/** Tables of distances between named stops over HTTP, with Fastify. README.md shows the requests and lists the settings. */
import Fastify, { type FastifyReply } from 'fastify'
import { MpmmlError, zeroOf } from 'mpmml'
import { prepareGraph, readGraph } from 'mpmml/graph'

interface TableRequest {
  sources: string[]
  targets: string[]
}

/** Error that is answered with an HTTP status. */
class Refusal extends Error {
  constructor(
    readonly statusCode: number,
    readonly code: string,
    message: string,
  ) {
    super(message)
  }
}

function setting(name: string, usual: number, least = 1): number {
  const text = process.env[name] ?? `${usual}`
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new Error(`${name} must be a whole number from ${least}, but it is '${text}': correct it`)
}

/** HTTP statuses for library errors that a request causes. Other errors are failures of the service. */
const statuses: Record<string, number> = {
  ERR_MPMML_VALUE: 422,
  ERR_MPMML_OVERFLOW: 422,
  ERR_MPMML_CYCLE: 422,
  ERR_MPMML_OUT_OF_MEMORY: 503,
}

async function serve(): Promise<void> {
  const { GRAPH = 'stops.csv', HOST = '127.0.0.1', LOG_LEVEL = 'warn' } = process.env
  const port = setting('PORT', 3000, 0)
  const mostPairs = setting('MAX_PAIRS', 100_000)
  const mostOpen = setting('MAX_OPEN', 64)
  const milliseconds = setting('MAX_MILLISECONDS', 5000)
  const memory = setting('TABLE_BYTES', 2 ** 28, 0)
  const app = Fastify({
    logger: { level: LOG_LEVEL },
    bodyLimit: setting('MAX_BODY_BYTES', 2 ** 20),
    // Requests with slow bodies are rejected after this time.
    requestTimeout: setting('MAX_BODY_MILLISECONDS', 10_000),
    connectionTimeout: 60_000,
  })
  const graph = await prepareGraph(await readGraph(GRAPH, { keys: true }), { memory })
  const none = zeroOf('min-plus', graph.weight instanceof Int32Array ? 'int32' : 'float64')
  const counts = { open: 0, done: 0, refused: 0, abandoned: 0 }
  const open = new Set<AbortController>()

  /** Signal that is aborted when the client leaves, at the time limit, and by a second SIGTERM. */
  function signalFor({ raw }: FastifyReply): AbortSignal {
    const controller = new AbortController()
    const late = new Refusal(503, 'TIME_LIMIT', `the table took longer than ${milliseconds} ms`)
    const timer = setTimeout(() => controller.abort(late), milliseconds)
    open.add(controller)
    const leave = () => {
      clearTimeout(timer)
      open.delete(controller)
      controller.abort(new Refusal(499, 'CLIENT_GONE', 'the client closed the connection'))
    }
    if (raw.destroyed) leave()
    else raw.once('close', leave)
    return controller.signal
  }

  const names = { type: 'array', items: { type: 'string' }, minItems: 1 }
  const body = {
    type: 'object',
    required: ['sources', 'targets'],
    properties: { sources: names, targets: names },
    additionalProperties: false,
  }
  app.post<{ Body: TableRequest }>(
    '/table',
    {
      schema: { body },
      onRequest: async (_, reply) => {
        if (counts.open >= mostOpen) {
          reply.header('retry-after', 1)
          throw new Refusal(503, 'BUSY', `${counts.open} requests are open: try again later`)
        }
        counts.open++
        reply.raw.once('close', () => counts.open--)
      },
    },
    async ({ body: { sources, targets } }, reply) => {
      const pairs = sources.length * targets.length
      if (pairs > mostPairs) {
        throw new Refusal(
          413,
          'TOO_LARGE',
          `the table has ${pairs} pairs, the limit is ${mostPairs}: divide it`,
        )
      }
      const { data } = await graph.table(sources, targets, { signal: signalFor(reply) })
      counts.done++
      const distances = sources.map((_, row) =>
        Array.from(data.subarray(row * targets.length, (row + 1) * targets.length), (value) =>
          value === none ? null : value,
        ),
      )
      return { distances }
    },
  )
  app.get('/health', async () => ({ status: 'ok', stops: graph.nodes, ...counts }))

  app.setErrorHandler((thrown: Error & { code?: string; statusCode?: number }, request, reply) => {
    // The `cause` of an aborted search is the reason of the abort.
    const isAborted = thrown instanceof MpmmlError && thrown.code === 'ERR_MPMML_ABORTED'
    const error = isAborted ? (thrown.cause as Refusal) : thrown
    const status = statuses[error.code ?? ''] ?? error.statusCode ?? 500
    if (status === 499) counts.abandoned++
    else counts.refused++
    if (status === 500) request.log.error(error)
    const message = status === 500 ? 'the service failed' : error.message
    return reply.code(status).send({ code: error.code ?? 'INTERNAL', message })
  })

  let isStopping = false
  app.addHook('onSend', async (_, reply) => {
    // Connections that stay open after the answer would keep the process alive.
    if (isStopping) reply.header('connection', 'close')
  })
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (isStopping) {
        for (const controller of open) controller.abort(new Refusal(503, 'STOPPED', 'the service stops'))
        app.server.closeAllConnections()
        return
      }
      isStopping = true
      console.log(`${name}: finishing ${counts.open} requests`)
      void app.close()
    })
  }
  console.log(`listening on ${await app.listen({ host: HOST, port })}`)
}

serve().catch((error: Error) => {
  console.error(error.message)
  process.exitCode = 1
})
