/**
 * A list whose items are updated in place: focus, hover and open menus survive every refresh.
 *
 *   const list = new KeyedList(ul, (worker) => worker.id, () => new WorkerCard());
 *   list.show(workers);          // a view has .element and .update(value)
 */
export class KeyedList {
  #container;
  #keyOf;
  #makeView;
  #views = new Map();

  constructor(container, keyOf, makeView) {
    this.#container = container;
    this.#keyOf = keyOf;
    this.#makeView = makeView;
  }

  /** Adds, updates, orders and removes views so that they show these values. */
  show(values) {
    const views = new Map();
    for (const value of values) {
      const key = this.#keyOf(value);
      const view = this.#views.get(key) ?? this.#makeView(value);
      view.update(value);
      views.set(key, view);
    }
    this.#views = views;
    const wanted = [...views.values()].map((view) => view.element);
    for (const child of [...this.#container.children]) {
      if (!wanted.includes(child)) child.remove();
    }
    wanted.forEach((element, index) => {
      const here = this.#container.children[index];
      if (here !== element) this.#container.insertBefore(element, here ?? null);
    });
  }
}
