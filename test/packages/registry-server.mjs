// Thread of registry.mjs: a package registry in memory, which package managers publish to and install from. It posts its URL.
import { createServer } from 'node:http'
import { parentPort } from 'node:worker_threads'

/** Documents by package name, with all versions, and tarballs by path. */
const documents = new Map()
const tarballs = new Map()

/** Stores the body of `npm publish`: a document with one version, and its tarball in base64. */
function publish({ _attachments, ...document }) {
  const { name, versions } = document
  documents.set(name, { ...document, versions: { ...documents.get(name)?.versions, ...versions } })
  for (const [file, { data }] of Object.entries(_attachments))
    tarballs.set(`/${name}/-/${file}`, Buffer.from(data, 'base64'))
}

const server = createServer(async (request, response) => {
  const path = decodeURIComponent(request.url)
  if (request.method === 'PUT') {
    publish(JSON.parse(Buffer.concat(await request.toArray()).toString()))
    response.writeHead(201).end('{}')
  } else if (tarballs.has(path)) {
    response.end(tarballs.get(path))
  } else if (documents.has(path.slice(1))) {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(documents.get(path.slice(1))))
  } else {
    response.writeHead(404).end('{}')
  }
})
server.listen(0, '127.0.0.1', () => parentPort.postMessage(`http://127.0.0.1:${server.address().port}`))
