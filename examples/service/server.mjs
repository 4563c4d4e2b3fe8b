/** Matrix products over HTTP, with Fastify. README.md shows the requests and lists the settings. */
import multipart from '@fastify/multipart'
import Fastify from 'fastify'
import { explainBackend, formatNpy, mpmm } from 'mpmml'
import { costOf, readProduct, writeRows } from './matrices.mjs'
import { Refusal, refusalFor } from './refusals.mjs'
import { Turns } from './turns.mjs'

const setting = (name, otherwise) => Number(process.env[name] ?? otherwise)

const limits = {
  /** Of a .npy file. */
  fileBytes: setting('MAX_FILE_BYTES', 64 * 2 ** 20),
  /** Of a JSON body, and the elements of a product in JSON: reading and writing JSON blocks the event loop. */
  jsonBytes: setting('MAX_JSON_BYTES', 4 * 2 ** 20),
  jsonElements: setting('MAX_JSON_ELEMENTS', 2 ** 20),
  /** Of the product. */
  elements: setting('MAX_ELEMENTS', 2 ** 24),
  /** batch · M · N · K, which is what a product costs. */
  steps: setting('MAX_STEPS', 2 ** 36),
  /** Products that run at once, and requests that wait for their turn. */
  running: setting('MAX_RUNNING', 2),
  waiting: setting('MAX_WAITING', 16),
  /** From the end of the body to the answer. */
  seconds: setting('MAX_SECONDS', 30),
}

const turns = new Turns(limits.running)
const counts = { open: 0, done: 0, refused: 0, givenUp: 0 }

const app = Fastify({
  logger: { level: process.env.LOG_LEVEL ?? 'warn' },
  bodyLimit: limits.jsonBytes,
  requestTimeout: 60_000,
})
await app.register(multipart, {
  attachFieldsToBody: 'keyValues',
  limits: { fileSize: limits.fileBytes, files: 2, fields: 3 },
})

/** Requests are counted, and refused, before their bodies are read: what waits holds memory too. */
async function admit(_request, reply) {
  if (counts.open >= limits.running + limits.waiting) {
    throw new Refusal(503, 'BUSY', `${counts.open} requests are being served already: try again later`)
  }
  counts.open++
  reply.raw.once('close', () => counts.open--)
}

/** A signal that is aborted at the time limit, or when the client has gone. */
function signalFor({ raw: response }) {
  const controller = new AbortController()
  const timer = setTimeout(() => {
    controller.abort(new Refusal(503, 'TIME_LIMIT', `the product took longer than ${limits.seconds} s`))
  }, 1000 * limits.seconds)
  const leave = () => {
    clearTimeout(timer)
    controller.abort(new Refusal(499, 'CLIENT_GONE', 'the client has closed the connection'))
  }
  if (response.destroyed) leave()
  else response.once('close', leave)
  return controller.signal
}

function requireAffordable({ steps, elements }, asNpy) {
  const most = asNpy ? limits.elements : Math.min(limits.elements, limits.jsonElements)
  if (elements > most) {
    const advice = asNpy ? '' : '; ask for a .npy file with "Accept: application/octet-stream"'
    throw new Refusal(413, 'TOO_LARGE', `the product has ${elements} elements, the limit is ${most}${advice}`)
  }
  if (steps > limits.steps) {
    throw new Refusal(413, 'TOO_LARGE', `the product takes ${steps} steps, the limit is ${limits.steps}`)
  }
}

app.post('/multiply', { onRequest: admit }, async (request, reply) => {
  const asNpy = wantsNpy(request)
  const { a, b, options } = readProduct(request.body ?? {})
  requireAffordable(costOf(a, b), asNpy)
  const signal = signalFor(reply)
  const { c, backend, variant, timing } = await turns.run(() => mpmm(a, b, { ...options, signal }), signal)
  counts.done++
  reply.header('server-timing', `kernel;dur=${timing.kernelMs}, product;dur=${timing.totalMs}`)
  if (asNpy) return reply.type('application/octet-stream').send(formatNpy(c))
  return { c: writeRows(c, options.semiring), backend, variant, timing }
})

/** Forms are answered with a file and JSON with JSON, unless the request says otherwise. */
function wantsNpy(request) {
  const { accept = '' } = request.headers
  if (accept.includes('application/json')) return false
  return accept.includes('application/octet-stream') || request.isMultipart()
}

app.get('/health', async () => {
  const { running, waiting } = turns
  return { status: 'ok', ...explainBackend(), ...counts, running, waiting }
})

app.setErrorHandler((error, request, reply) => {
  const { status, code, message } = refusalFor(error)
  if (status === 499 || code === 'TIME_LIMIT') counts.givenUp++
  else counts.refused++
  if (status >= 500) request.log.error(error)
  if (code === 'BUSY') reply.header('retry-after', 1)
  return reply.code(status).send({ code, message })
})

/** The first signal lets the requests that were admitted finish; the second one gives them up. */
let stopping = false
for (const name of ['SIGTERM', 'SIGINT']) {
  process.on(name, () => {
    if (stopping) process.exit(1)
    stopping = true
    console.log(`${name}: finishing ${counts.open} requests`)
    app.close()
  })
}
app.addHook('onSend', async (_request, reply) => {
  // Otherwise the connection stays open after its answer, and keeps the process alive.
  if (stopping) reply.header('connection', 'close')
})

const url = await app.listen({ host: process.env.HOST ?? '127.0.0.1', port: setting('PORT', 3000) })
console.log(`listening on ${url}`)
