/** Progress bar on stderr with an estimate of the remaining time, if stderr is a terminal. */
import { SingleBar } from 'cli-progress'
import { withStatus } from './output.js'

export interface Progress {
  /** Shows the current step, and the completed amount of the total. */
  show(what: string, done: number): void
  /** Removes the bar. */
  end(): void
}

const none: Progress = { show() {}, end() {} }

/** @param total - amount of work, in any unit that is roughly proportional to time. */
export function startProgress(total: number): Progress {
  if (!process.stderr.isTTY || total <= 0) return none
  const bar = new SingleBar({
    stream: process.stderr,
    format: '{bar} {percentage} %, {eta_formatted} left: {what}',
    barsize: 24,
    // The estimate follows the pace of the last hundred steps; before the first step no estimate is shown.
    etaBuffer: 100,
    formatTime: (seconds) => (Number.isFinite(Number(seconds)) ? timeText(Number(seconds)) : '?'),
    barCompleteChar: '█',
    barIncompleteChar: '░',
    clearOnComplete: true,
    hideCursor: true,
    // The command line handles signals (run.ts).
    gracefulExit: false,
  })
  bar.start(total, 0, { what: '' })
  return {
    show: (what, done) => bar.update(Math.min(done, total), { what }),
    end: () => bar.stop(),
  }
}

/**
 * Shows a progress line while `work` runs, with the completed fraction as soon as it reports one, if stderr
 * is a terminal.
 */
export async function withProgress<T>(
  status: string,
  work: (onProgress: (progress: { done: number }) => void) => Promise<T>,
): Promise<T> {
  if (!process.stderr.isTTY) return work(() => {})
  let bar: Progress | undefined
  try {
    return await withStatus(status, () =>
      work(({ done }) => {
        bar ??= startProgress(1)
        bar.show(status, done)
      }),
    )
  } finally {
    bar?.end()
  }
}

/** Returns a duration as text, such as "12 s" or "3 min 20 s". */
function timeText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`
}
