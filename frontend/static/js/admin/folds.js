/**
 * What is folded on this page stays so, and what was opened stays open.
 */
import { local } from "../shared/page/storage.js";

const KEY = "voxfleet.admin.open";

/** @param {Iterable<HTMLDetailsElement>} folds with data-fold, their names */
export function rememberFolds(folds) {
  const open = new Set((local.getItem(KEY) ?? "").split(","));
  for (const fold of folds) {
    fold.open = open.has(fold.dataset.fold);
    fold.addEventListener("toggle", () => {
      if (fold.open) open.add(fold.dataset.fold);
      else open.delete(fold.dataset.fold);
      local.setItem(KEY, [...open].join());
    });
  }
}
