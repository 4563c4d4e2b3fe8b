/** A page in headless Chromium, if it is installed, controlled through its debugging pipe, without any package. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome']

// A library that is preloaded for Node.js, such as a sanitizer, makes a browser hang.
const env = { ...process.env, LD_PRELOAD: '' }

/** Name of the browser; undefined if none is installed. */
export const chromium = names.find(
  (name) => spawnSync(name, ['--version'], { stdio: 'ignore', env }).status === 0,
)

/** Reason why pages can't be opened; undefined if they can. */
export const withoutChromium = chromium === undefined ? 'there is no Chromium' : undefined

export interface Page {
  /** Opens a page at a width, in a colour scheme, and waits until it is loaded. */
  open(url: string, width: number, scheme: 'light' | 'dark'): Promise<void>
  /** Presses a key, such as "a", "Tab" or "Enter". */
  press(key: string): Promise<void>
  /** Value of an expression in the page, awaited if it is a promise. */
  evaluate<T>(expression: string): Promise<T>
  /** Requests, errors and warnings since the page was opened. */
  requests: string[]
  problems: string[]
  close(): Promise<void>
}

interface Message {
  id?: number
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown>
  error?: { message: string }
}

/** @param gpu - flags about the GPU; the default disables the GPU. */
export async function startBrowser(gpu: readonly string[] = ['--disable-gpu']): Promise<Page> {
  const profile = mkdtempSync(join(tmpdir(), 'mpmml-chromium-'))
  const child = spawn(
    chromium!,
    [
      '--headless=new',
      '--no-sandbox',
      ...gpu,
      '--disable-dev-shm-usage',
      `--user-data-dir=${profile}`,
      '--remote-debugging-pipe',
    ],
    // Libraries that are preloaded for the addon (npm run sanitize) must not be preloaded for a browser.
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], env },
  )
  const input = child.stdio[3] as Writable
  const waiting = new Map<number, (message: Message) => void>()
  const requests: string[] = []
  const problems: string[] = []
  let loaded = () => {}
  const handle = (message: Message) => {
    if (message.id !== undefined) waiting.get(message.id)?.(message)
    const params = message.params as {
      request?: { url: string }
      entry?: { text: string }
      exceptionDetails?: object
    }
    if (message.method === 'Page.loadEventFired') loaded()
    if (message.method === 'Network.requestWillBeSent') requests.push(params.request!.url)
    if (message.method === 'Log.entryAdded') problems.push(params.entry!.text)
    if (message.method === 'Runtime.exceptionThrown') problems.push(JSON.stringify(params.exceptionDetails))
    if (message.method === 'Runtime.consoleAPICalled') problems.push(JSON.stringify(message.params))
  }
  let rest = ''
  ;(child.stdio[4] as Readable).setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\0')
    rest = parts.pop()!
    for (const part of parts) handle(JSON.parse(part))
  })
  let last = 0
  let session: string | undefined
  const send = (method: string, params: object = {}) =>
    new Promise<Record<string, unknown>>((resolve, reject) => {
      const id = ++last
      waiting.set(id, ({ result, error }) =>
        error ? reject(new Error(`${method}: ${error.message}`)) : resolve(result!),
      )
      input.write(`${JSON.stringify({ id, method, params, sessionId: session })}\0`)
    })
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' })
  session = (await send('Target.attachToTarget', { targetId, flatten: true })).sessionId as string
  for (const domain of ['Page', 'Network', 'Log', 'Runtime']) await send(`${domain}.enable`)
  await send('Emulation.setFocusEmulationEnabled', { enabled: true })
  return {
    requests,
    problems,
    async open(url, width, scheme) {
      requests.length = 0
      problems.length = 0
      await send('Emulation.setEmulatedMedia', {
        features: [{ name: 'prefers-color-scheme', value: scheme }],
      })
      await send('Emulation.setDeviceMetricsOverride', {
        width,
        height: 800,
        deviceScaleFactor: 1,
        mobile: false,
      })
      const done = new Promise<void>((resolve) => {
        loaded = resolve
      })
      await send('Page.navigate', { url })
      await done
    },
    async press(key) {
      const text = key === 'Enter' ? '\r' : key.length === 1 ? key : undefined
      const windowsVirtualKeyCode = { Tab: 9, Enter: 13 }[key] ?? key.toUpperCase().charCodeAt(0)
      await send('Page.bringToFront')
      const pressed = { key, code: key, windowsVirtualKeyCode }
      const down = text === undefined ? { type: 'rawKeyDown' } : { type: 'keyDown', text }
      await send('Input.dispatchKeyEvent', { ...pressed, ...down })
      await send('Input.dispatchKeyEvent', { ...pressed, type: 'keyUp' })
    },
    async evaluate<T>(expression: string): Promise<T> {
      const { result, exceptionDetails } = await send('Runtime.evaluate', {
        expression,
        returnByValue: true,
        awaitPromise: true,
      })
      if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails))
      return (result as { value: T }).value
    },
    async close() {
      const closed = new Promise((resolve) => child.once('close', resolve))
      await send('Browser.close').catch(() => child.kill())
      await closed
      rmSync(profile, { recursive: true, force: true })
    },
  }
}
