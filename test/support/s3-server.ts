/** A small S3 server in the process of the test: objects in memory, checked signatures, simulated failures. */
import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const credentials = { id: 'AKTESTS3', secret: 'a/secret+of=tests', token: 'session.token' }

/** Number of keys per page of a list; it is small, so that lists have several pages. */
const KEYS_PER_PAGE = 7

interface Stored {
  readonly bytes: Buffer
  readonly etag: string
  readonly modified: Date
}

export interface Seen {
  readonly method: string
  readonly key: string
  readonly isCopy: boolean
  readonly isList: boolean
  /** Resolves when the request was answered, or its connection has ended. */
  readonly ended: Promise<unknown>
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')

class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message)
  }
}

const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (c) => `&${{ '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }[c]};`)

export class S3Server {
  readonly buckets = new Map<string, Map<string, Stored>>([['bucket', new Map()]])
  readonly seen: Seen[] = []
  /**
   * Simulated failure: a status; 'reset' ends the connection; 'late' ends it after the request was executed;
   * 'never' sends no response.
   */
  fails: (seen: Seen) => number | 'reset' | 'late' | 'never' | undefined = () => undefined
  /** Whether the server answers with whole objects to requests for a range. */
  ignoresRange = false
  /** Called before a request is answered. */
  before: (seen: Seen) => void | Promise<void> = () => {}
  /** Simulates endless lists: the same objects repeatedly, or none. */
  endless: 'objects' | 'none' | undefined
  /** Whether lists have an object. */
  lists: (key: string) => boolean = () => true
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response))
  }

  static async start(): Promise<S3Server> {
    const server = new S3Server()
    server.#server.listen(0, '127.0.0.1')
    await once(server.#server, 'listening')
    return server
  }

  async end(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get environment(): Record<string, string> {
    return {
      AWS_ENDPOINT_URL_S3: this.url,
      AWS_ACCESS_KEY_ID: credentials.id,
      AWS_SECRET_ACCESS_KEY: credentials.secret,
      AWS_SESSION_TOKEN: credentials.token,
      AWS_REGION: 'eu-test-1',
    }
  }

  get objects(): Map<string, Stored> {
    return this.buckets.get('bucket')!
  }

  put(key: string, bytes: Uint8Array): void {
    const etag = `"${createHash('md5').update(bytes).digest('hex')}"`
    this.objects.set(key, { bytes: Buffer.from(bytes), etag, modified: new Date() })
  }

  /** The keys that begin with a prefix. */
  keys(prefix = ''): string[] {
    return [...this.objects.keys()].filter((key) => key.startsWith(prefix)).sort()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    try {
      for await (const part of request) parts.push(part as Buffer)
    } catch {
      return
    }
    const body = Buffer.concat(parts)
    const [path = '', search = ''] = request.url!.split('?')
    const [, bucket = '', ...rest] = path.split('/').map(decodeURIComponent)
    const query = new URLSearchParams(search)
    const seen: Seen = {
      method: request.method!,
      key: rest.join('/'),
      isCopy: request.headers['x-amz-copy-source'] !== undefined,
      isList: query.has('list-type'),
      ended: once(response, 'close'),
    }
    this.seen.push(seen)
    await this.before(seen)
    const failure = this.fails(seen)
    if (failure === 'reset') return void request.socket.destroy()
    if (failure === 'never') return
    try {
      if (typeof failure === 'number')
        throw new Refusal(failure, 'SlowDown', 'Please reduce your request rate.')
      this.#check(request, path, search, body)
      const objects = this.buckets.get(bucket)
      if (!objects) throw new Refusal(404, 'NoSuchBucket', 'The specified bucket does not exist')
      if (seen.isList) this.#list(objects, query, response)
      else this.#object(objects, seen, request, body, response, failure === 'late')
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      // S3 reports more fields than error messages should repeat.
      const xml = `<?xml version="1.0"?><Error><Code>${error.code}</Code><Message>${error.message}</Message><AWSAccessKeyId>${credentials.id}</AWSAccessKeyId></Error>`
      response.writeHead(error.status, { 'content-length': xml.length })
      response.end(request.method === 'HEAD' ? undefined : xml)
    }
  }

  #check({ method, headers }: IncomingMessage, path: string, search: string, body: Buffer): void {
    const [, id, day, region, names, signature] =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d+)\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)$/.exec(
        headers.authorization ?? '',
      ) ?? []
    if (id === undefined) throw new Refusal(403, 'AccessDenied', 'Access Denied.')
    if (id !== credentials.id) {
      throw new Refusal(403, 'InvalidAccessKeyId', `The key ${id} does not exist in our records.`)
    }
    if (headers['x-amz-security-token'] !== credentials.token) {
      throw new Refusal(400, 'InvalidToken', 'The provided token is malformed.')
    }
    const hash = headers['x-amz-content-sha256'] as string
    const signed = names!.split(';')
    for (const needed of ['host', 'x-amz-date', 'x-amz-content-sha256']) {
      if (!signed.includes(needed)) throw new Refusal(403, 'AccessDenied', `${needed} is not signed`)
    }
    const canonical = [
      method,
      path,
      search.split('&').sort().join('&'),
      ...signed.map((name) => `${name}:${String(headers[name]).trim()}`),
      '',
      names,
      hash,
    ].join('\n')
    const scope = `${day}/${region}/s3/aws4_request`
    const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n')
    const key = hmac(hmac(hmac(hmac(`AWS4${credentials.secret}`, day!), region!), 's3'), 'aws4_request')
    if (hmac(key, text).toString('hex') !== signature) {
      throw new Refusal(403, 'SignatureDoesNotMatch', 'The request signature we calculated does not match.')
    }
    if (sha256(body) !== hash) throw new Refusal(400, 'XAmzContentSHA256Mismatch', 'The hash does not match.')
  }

  #list(objects: Map<string, Stored>, query: URLSearchParams, response: ServerResponse): void {
    const prefix = query.get('prefix') ?? ''
    if (this.endless) {
      const key = this.endless === 'objects' ? `<Contents><Key>${escaped(prefix)}</Key></Contents>` : ''
      response.end(
        `<ListBucketResult><IsTruncated>true</IsTruncated>${key}<NextContinuationToken>${this.seen.length}</NextContinuationToken></ListBucketResult>`,
      )
      return
    }
    const after = query.get('continuation-token') ?? ''
    const keys = [...objects.keys()]
      .filter((key) => key.startsWith(prefix) && key > after && this.lists(key))
      .sort()
    const page = keys.slice(0, Math.min(KEYS_PER_PAGE, Number(query.get('max-keys') ?? 1000)))
    const entries = page.map((key) => {
      const { bytes, etag, modified } = objects.get(key)!
      return `<Contents><Key>${escaped(key)}</Key><LastModified>${modified.toISOString()}</LastModified><ETag>${escaped(etag)}</ETag><Size>${bytes.length}</Size></Contents>`
    })
    const isTruncated = page.length < keys.length
    const next = isTruncated ? `<NextContinuationToken>${escaped(page.at(-1)!)}</NextContinuationToken>` : ''
    response.end(
      `<?xml version="1.0"?><ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${entries.join('')}${next}</ListBucketResult>`,
    )
  }

  #object(
    objects: Map<string, Stored>,
    { method, key, isCopy }: Seen,
    { headers, socket }: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
    isLost: boolean,
  ): void {
    const there = objects.get(key)
    if (method === 'DELETE') {
      objects.delete(key)
      response.writeHead(204)
      return void response.end()
    }
    if (method === 'PUT') {
      if (there && headers['if-none-match'] === '*')
        throw new Refusal(412, 'PreconditionFailed', 'It exists.')
      let bytes = body
      if (isCopy) {
        const [, , ...from] = decodeURIComponent(headers['x-amz-copy-source'] as string).split('/')
        const source = objects.get(from.join('/'))
        if (!source) throw new Refusal(404, 'NoSuchKey', 'The specified key does not exist.')
        bytes = source.bytes
      }
      this.put(key, bytes)
      if (isLost) return void socket.destroy()
      response.setHeader('etag', objects.get(key)!.etag)
      return void response.end(isCopy ? '<CopyObjectResult></CopyObjectResult>' : '')
    }
    if (!there) throw new Refusal(404, 'NoSuchKey', 'The specified key does not exist.')
    const { bytes, etag, modified } = there
    if (headers['if-match'] !== undefined && headers['if-match'] !== etag) {
      throw new Refusal(412, 'PreconditionFailed', 'It has changed.')
    }
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec((!this.ignoresRange && headers.range) || '') ?? []
    if (from !== undefined && Number(from) >= bytes.length)
      throw new Refusal(416, 'InvalidRange', 'It is shorter.')
    const part = from === undefined ? bytes : bytes.subarray(Number(from), Number(to) + 1)
    response.writeHead(from === undefined ? 200 : 206, {
      etag,
      'last-modified': modified.toUTCString(),
      'content-length': part.length,
    })
    response.end(method === 'HEAD' ? undefined : part)
  }
}
