/** Matrix products over HTTP, with Fastify. README.md shows the requests and lists the settings. */
import multipart from '@fastify/multipart'
import Fastify from 'fastify'
import { explainBackend, mpmm } from 'mpmml'
import { formatNpy } from 'mpmml/files'
import { costOf, readProduct, writeRows } from './matrices.mjs'
import { badRequest, Refusal, refusalFor } from './refusals.mjs'
import { readSettings } from './settings.mjs'
import { Turns } from './turns.mjs'
import { Uploads } from './uploads.mjs'

let limits
try {
  limits = readSettings()
} catch (error) {
  console.error(error.message)
  process.exit(1)
}

const turns = new Turns(limits.running)
const uploads = new Uploads(limits.uploading, limits.bodySeconds)
const counts = { open: 0, done: 0, refused: 0, givenUp: 0 }

/** Limit of a form in bytes: two files, the other fields, and the names. */
const formBytes = 2 * limits.fileBytes + 2 ** 16

/** Time in ms to receive the rest of a body that was rejected before its end, so that the answer arrives. */
const LINGER = 2000

const app = Fastify({
  logger: { level: limits.level },
  bodyLimit: limits.jsonBytes,
  // Limit for the whole request in ms. Bodies have a separate limit, which also applies at shutdown.
  requestTimeout: 60_000 + 1000 * limits.bodySeconds,
})
await app.register(multipart, {
  attachFieldsToBody: 'keyValues',
  limits: { fileSize: limits.fileBytes, files: 2, fields: 3 },
})

/** Rejects requests before their bodies are read where possible, because queued bodies occupy memory. */
async function admit(request, reply) {
  requireFewer(counts.open - uploads.count + 1)
  requireSmall(request)
  uploads.begin(request)
  counts.open++
  reply.raw.once('close', () => {
    uploads.end(request)
    counts.open--
    closeIfDone()
  })
}

/** Moves a received body to the running or queued products. */
async function take(request) {
  uploads.end(request)
  requireFewer(counts.open - uploads.count)
}

function requireFewer(count) {
  if (count <= limits.running + limits.waiting) return
  throw new Refusal(503, 'BUSY', `${count - 1} requests are being served already: try again later`)
}

/** Rejects large forms by their length; Fastify checks the length of other bodies. */
function requireSmall({ headers }) {
  const bytes = Number(headers['content-length'] ?? 0)
  if (bytes <= formBytes || !/^multipart\b/i.test(headers['content-type'] ?? '')) return
  throw new Refusal(413, 'TOO_LARGE', `the body has ${bytes} bytes, the limit is ${formBytes}`)
}

/** Returns a signal that is aborted at the time limit, or when the client disconnects. */
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

app.post('/multiply', { onRequest: admit, preHandler: take }, async (request, reply) => {
  const [parameter] = Object.keys(request.query)
  if (parameter !== undefined) throw badRequest('the path has a parameter: options are fields of the body')
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

/**
 * Returns whether the answer is a .npy file. By default forms are answered with files, and JSON with JSON.
 */
function wantsNpy(request) {
  const { accept = '' } = request.headers
  if (accept.includes('application/json')) return false
  return accept.includes('application/octet-stream') || request.isMultipart()
}

app.get('/health', async () => {
  const { running, waiting } = turns
  return { status: 'ok', ...explainBackend(), ...counts, uploading: uploads.count, running, waiting }
})

app.setErrorHandler((error, request, reply) => {
  const { status, code, message } = refusalFor(
    error,
    uploads.has(request) || !request.raw.complete ? 400 : 500,
  )
  if (status === 499 || code === 'TIME_LIMIT') counts.givenUp++
  else counts.refused++
  // Rejected requests aren't logged, because they aren't failures of the service and would fill the log under
  // load.
  if (status === 500) request.log.error(error)
  else request.log.info({ code }, message)
  if (code === 'BUSY') reply.header('retry-after', 1)
  return reply.code(status).send({ code, message })
})

app.addHook('onSend', async (request, reply) => {
  // Connections that stay open after the answer would keep the process alive.
  if (stopping) reply.header('connection', 'close')
  const { socket } = request.raw
  // A client that doesn't read, or continues to send after a rejection, is disconnected.
  const timer = setTimeout(() => socket.destroy(), 1000 * limits.sendSeconds).unref()
  reply.raw.once('close', () => {
    clearTimeout(timer)
    if (!request.raw.complete) setTimeout(() => request.raw.complete || socket.destroy(), LINGER).unref()
  })
})

/** The first signal lets admitted requests finish; the second one aborts them. */
let stopping = false
for (const name of ['SIGTERM', 'SIGINT']) {
  process.on(name, () => {
    if (stopping) process.exit(1)
    stopping = true
    console.log(`${name}: finishing ${counts.open} requests`)
    uploads.hurry()
    app.close()
    closeIfDone()
  })
}

/** Closes other connections, such as incomplete headers, which would keep the process alive. */
function closeIfDone() {
  if (stopping && counts.open === 0) app.server.closeAllConnections()
}

try {
  const url = await app.listen({ host: limits.host, port: limits.port })
  console.log(`listening on ${url}`)
} catch (error) {
  console.error(`can't listen on ${limits.host}, port ${limits.port}: ${error.message}`)
  process.exit(1)
}
