/**
 * Resolves when the page as it is now has been painted: what is not seen at once can be made then. In a tab that nobody
 * looks at, that is when somebody does.
 */
export function painted() {
  const nextFrame = () => new Promise(requestAnimationFrame);
  return nextFrame().then(nextFrame); // the first comes before the paint
}
