/** Files that are dropped anywhere on the page go to one place, which shows that it takes them. */

/** @param {HTMLElement} place has the class "over" meanwhile @param {(files: File[]) => void} take */
export function takeDrops(place, take) {
  for (const type of ["dragover", "drop"]) {
    document.addEventListener(type, (event) => event.preventDefault()); // a file beside the place is not opened instead
  }
  document.addEventListener("dragenter", () => place.classList.add("over"));
  document.addEventListener("dragleave", (event) => event.relatedTarget || place.classList.remove("over"));
  document.addEventListener("drop", ({ dataTransfer }) => {
    place.classList.remove("over");
    if (dataTransfer.files.length > 0) take([...dataTransfer.files]);
  });
}
