/**
 * Requests to S3, signed by the package aws4fetch (88 KB), which is loaded when an address is named. This
 * module controls attempts, pauses and aborts. `@aws-sdk/client-s3` has conditional writes, aborts and paging
 * too, but it brings 26 packages of 22 MB, accepts the rows of a block only as a copy in one buffer or as a
 * stream that can't be sent again, and adds checksums that other storages refuse by default. The package
 * s3mini copies the rows as well, doesn't sign their hash, makes one attempt and has no AbortSignal.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import { onAbort, throwIfAborted } from '../abort.js'
import { type S3Settings, s3Settings } from '../environment.js'
import { FileError } from '../errors.js'
import { systemReason } from '../files/files.js'
import { optionalPackages } from '../optional-packages.js'
import { hashOf } from './hash.js'
import { type Address, formatAddress, WORK } from './names.js'

/**
 * Number of attempts of a request. The pauses between them are 0.1 s, 0.2 s, … up to 1.6 s, each with a
 * random factor from 0.5 to 1.5.
 */
const ATTEMPTS = 6
const FIRST_PAUSE_MS = 100

/** Milliseconds after which an idle connection is aborted. */
const SILENCE_MS = 60_000

/** Limit of concurrent requests for lists of keys: copies and removals. */
export const REQUESTS_AT_ONCE = 16

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE'
  readonly address: Address
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** Parts of the body, sent in order. */
  readonly body?: readonly Uint8Array[]
  /** Purpose of the request, for messages. */
  readonly purpose: 'read' | 'written' | 'removed'
  /** Status codes in addition to 200 … 299 that the caller handles. */
  readonly accept?: readonly number[]
}

export interface S3Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

const loadAws = optionalPackages('addresses s3:// need', ['aws4fetch'], () => import('aws4fetch'))

const encoded = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

export const encodeKey = (key: string) => key.split('/').map(encoded).join('/')

function urlOf({ bucket, key }: Address, query: S3Request['query'], { endpoint, region }: S3Settings): URL {
  const path = encodeKey(key)
  const search = Object.entries(query ?? {})
    .map(([name, value]) => `${name}=${encoded(value)}`)
    .join('&')
  const tail = search === '' ? '' : `?${search}`
  if (endpoint) {
    const base = `${endpoint.origin}${endpoint.pathname.replace(/\/+$/, '')}`
    return new URL(`${base}/${bucket}/${path}${tail}`)
  }
  const host = `s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`
  // A wildcard certificate for *.s3… doesn't match bucket names with dots.
  return bucket.includes('.')
    ? new URL(`https://${host}/${bucket}/${path}${tail}`)
    : new URL(`https://${bucket}.${host}/${path}${tail}`)
}

const agents = {
  'http:': new HttpAgent({ keepAlive: true, maxSockets: 64 }),
  'https:': new HttpsAgent({ keepAlive: true, maxSockets: 64 }),
}

/** Signing keys by secret and day, cached because deriving a key takes longer than signing a request. */
const signingKeys = new Map<string, ArrayBuffer>()

/** Sends a request once. */
async function send(
  request: S3Request,
  hash: string,
  settings: S3Settings,
  silenceMs: number,
  signal: AbortSignal | undefined,
): Promise<S3Answer> {
  const { method, address, query, headers, body = [] } = request
  const { AwsV4Signer } = await loadAws()
  const { accessKeyId, secretAccessKey, sessionToken, region } = settings
  const signed = await new AwsV4Signer({
    method,
    url: urlOf(address, query, settings).href,
    headers: { ...headers, 'x-amz-content-sha256': hash },
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    region,
    service: 's3',
    cache: signingKeys,
  }).sign()
  const { url } = signed
  const length = body.reduce((sum, piece) => sum + piece.length, 0)
  return new Promise((resolve, reject) => {
    const isTls = url.protocol === 'https:'
    const sent = (isTls ? httpsRequest : httpRequest)(
      url,
      {
        method,
        agent: agents[url.protocol as keyof typeof agents],
        headers: {
          ...Object.fromEntries(signed.headers),
          ...(method === 'PUT' && { 'content-length': length }),
        },
        timeout: silenceMs,
      },
      (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () => {
          const received = Buffer.concat(chunks)
          const expected = answer.headers['content-length']
          if (method !== 'HEAD' && expected !== undefined && Number(expected) !== received.length) {
            reject(new Error(`the answer has ${received.length} bytes and not ${expected}`))
          } else resolve({ status: answer.statusCode!, headers: answer.headers, body: received })
        })
      },
    )
    sent.on('timeout', () => sent.destroy(new Error(`nothing came for ${silenceMs / 1000} s`)))
    sent.on('error', reject)
    const forget = signal && onAbort(signal, () => sent.destroy(new Error('the request was aborted')))
    sent.on('close', () => forget?.())
    // The signal may have been aborted while the request was signed.
    if (signal?.aborted) sent.destroy(new Error('the request was aborted'))
    for (const piece of body) sent.write(piece)
    sent.end()
  })
}

/** Returns the text of an XML element without child elements. */
export const textOf = (xml: string, name: string) =>
  unescaped(new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? '')

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const unescaped = (text: string) =>
  text.replace(/&(?:#(\d{1,6})|#x([0-9a-f]{1,5})|(\w+));/gi, (whole, decimal, hex, name) =>
    decimal || hex
      ? String.fromCodePoint(decimal ? Number(decimal) : Number.parseInt(hex, 16))
      : (entities[name] ?? whole),
  )

/** Advice for the most frequent errors. */
const advice: Record<string, string> = {
  SignatureDoesNotMatch: 'check AWS_SECRET_ACCESS_KEY',
  InvalidAccessKeyId: 'check AWS_ACCESS_KEY_ID',
  InvalidToken: 'check AWS_SESSION_TOKEN',
  ExpiredToken: 'renew the session, and resume',
  AccessDenied: 'ask for the rights to do this, and resume',
  NoSuchBucket: 'check the name of the bucket, and AWS_ENDPOINT_URL_S3 or AWS_REGION',
  TemporaryRedirect: 'set AWS_REGION to that of the bucket',
  PermanentRedirect: 'set AWS_REGION to that of the bucket',
  AuthorizationHeaderMalformed: 'set AWS_REGION to that of the bucket',
  RequestTimeTooSkewed: "set this machine's clock",
}

const mayPass = ({ status, body }: S3Answer) =>
  status >= 500 || status === 429 || (status === 400 && textOf(body.toString(), 'Code') === 'RequestTimeout')

/** Shorter pauses and timeouts for tests. */
interface Waits {
  readonly silenceMs?: number
  readonly firstPauseMs?: number
}

/**
 * Sends a request, and repeats it after errors of the network or the server.
 *
 * @throws FileError, without any secret; AbortedError.
 */
export async function requestS3(
  request: S3Request,
  signal: AbortSignal | undefined,
  { silenceMs = SILENCE_MS, firstPauseMs = FIRST_PAUSE_MS }: Waits = {},
): Promise<S3Answer> {
  const { address, purpose, accept = [], body = [] } = request
  const what = `${formatAddress(address)} can't be ${purpose}`
  await loadAws()
  const hash = await hashOf(body, signal)
  for (let attempt = 1; ; attempt++) {
    throwIfAborted(signal, WORK)
    const settings = s3Settings()
    let answer: S3Answer | undefined
    let failure: unknown
    try {
      answer = await send(request, hash, settings, silenceMs, signal)
    } catch (error) {
      throwIfAborted(signal, WORK)
      failure = error
    }
    if (answer) {
      const { status } = answer
      // A copy may fail after the status 200 was sent.
      const failsLate =
        status === 200 && request.headers?.['x-amz-copy-source'] && /<Error>/.test(`${answer.body}`)
      if (((status >= 200 && status < 300) || accept.includes(status)) && !failsLate) return answer
      if (!failsLate && !mayPass(answer)) throw refused(what, answer, settings)
    }
    if (attempt === ATTEMPTS) {
      if (answer) throw refused(what, answer, settings)
      throw new FileError(
        `${what}: ${redacted(systemReason(failure), settings)}, ${ATTEMPTS} times: look after the storage, and resume`,
      )
    }
    const ms = firstPauseMs * 2 ** (attempt - 1) * (0.5 + Math.random())
    // An abort ends the pause, and the next attempt throws.
    await pause(ms, undefined, { signal }).catch(() => {})
  }
}

function refused(what: string, { status, body }: S3Answer, settings: S3Settings): FileError {
  const xml = body.toString()
  // Responses to HEAD have no body, so no error code.
  const code = textOf(xml, 'Code') || (status === 403 ? 'AccessDenied' : `status ${status}`)
  const message = textOf(xml, 'Message').replace(/[.\s]+$/, '')
  const todo = advice[code] ?? 'look after the storage, and resume'
  return new FileError(redacted(`${what}: ${code}${message && ` (${message})`}: ${todo}`, settings))
}

/** Removes secrets from a text, because servers may repeat the request. */
function redacted(text: string, { accessKeyId, secretAccessKey, sessionToken }: S3Settings): string {
  let safe = text
  for (const secret of [secretAccessKey, sessionToken, accessKeyId]) {
    if (secret) safe = safe.replaceAll(secret, '…')
  }
  return safe
}
