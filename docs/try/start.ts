/** Starts the page, or shows the reason why it can't start. */
import('./page.js').catch((error: Error) => {
  const waiting = document.querySelector('#waiting')!
  waiting.className = 'wrong'
  waiting.textContent = `The page can’t start: ${error.message}.`
})
