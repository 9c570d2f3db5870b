// Asking again and again, only while the view is shown and the page is seen.

/** A set of things that end with a view. */
export class Life {
  #ends = [];
  #controller = new AbortController();

  get signal() {
    return this.#controller.signal;
  }

  get over() {
    return this.signal.aborted;
  }

  onEnd(action) {
    this.#ends.push(action);
  }

  end() {
    this.#controller.abort();
    for (const action of this.#ends) action();
  }

  /** Listen until the view ends. */
  listen(target, type, listener) {
    target.addEventListener(type, listener, { signal: this.signal });
  }

  /**
   * Call `ask` now and `milliseconds` after each answer. Returns a function that asks at once. `failed` gets what
   * goes wrong; the next question is asked all the same.
   */
  poll(ask, milliseconds, failed = () => {}) {
    let timer;
    let asking = false;
    let again = false;
    const turn = async () => {
      if (this.over) return;
      if (asking) {
        again = true;
        return;
      }
      clearTimeout(timer);
      asking = true;
      try {
        if (!document.hidden) await ask();
      } catch (error) {
        if (!this.over && error.name !== "AbortError") failed(error);
      }
      asking = false;
      if (this.over) return;
      timer = setTimeout(turn, again ? 0 : milliseconds);
      again = false;
    };
    this.onEnd(() => clearTimeout(timer));
    this.listen(document, "visibilitychange", () => !document.hidden && turn());
    turn();
    return turn;
  }
}
