/** Starts the page, or says why that can't be. */
import('./page.js').catch((error: Error) => {
  const waiting = document.querySelector('#waiting')!
  waiting.className = 'wrong'
  waiting.textContent = `The page can’t start: ${error.message}.`
})
