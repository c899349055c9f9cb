/**
 * A dialog that is there as long as it is open.
 *
 * @param {HTMLDialogElement} sheet its form has method "dialog"
 * @returns {Promise<string>} the value of the button that closed it; "" for Esc
 */
export function shown(sheet) {
  document.body.append(sheet);
  sheet.showModal();
  return new Promise((resolve) => {
    sheet.addEventListener("close", () => {
      sheet.remove();
      resolve(sheet.returnValue);
    });
  });
}

/** A double click that closes a dialog is over with it: its second click is not for what lay below. */
export function coverSecondClicks() {
  let sheet = null;
  const heed = (event) => {
    if (event.detail < 2) sheet = event.target.closest("dialog");
    else if (sheet && !sheet.open) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  };
  window.addEventListener("click", heed, { capture: true });
}
