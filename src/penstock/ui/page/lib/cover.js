// An input that covers its value while it holds a secret, with a button that shows it.
import { h } from "./dom.js";
import { button } from "./parts.js";
import { shown } from "./secret_looks.js";

export class Cover {
  /** `declared`: whether the key is a password by its definition, whatever it is called. */
  constructor(input, key, { label = key, declared = false } = {}) {
    this.input = input;
    this.revealed = false;
    const secrets = new Set(declared ? [key] : []);
    this.hides = (value) => shown(key, value, secrets) !== value;
    this.eye = button(`Show ${label}`, { iconName: "eye", iconOnly: true, onclick: () => this.#toggle() });
    this.node = h("div", { class: "with-button" }, input);
    input.addEventListener("blur", () => this.update());
    this.update();
  }

  #toggle() {
    this.revealed = !this.revealed;
    this.update();
  }

  /** Look at the value again: nothing changes under the user's fingers, so this is not done while he types. */
  update() {
    const hides = this.hides(this.input.value);
    if (hides) this.input.after(this.eye);
    else this.eye.remove();
    this.eye.setAttribute("aria-pressed", String(this.revealed));
    this.input.type = hides && !this.revealed ? "password" : "text";
    this.input.autocomplete = hides ? "new-password" : "off";
  }
}
