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
