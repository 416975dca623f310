// The files that the page carries, as addresses: decoded from base64 when first asked for.

class Media {
  #blocks = new Map();
  #addresses = new Map();

  constructor(root) {
    for (const block of root.querySelectorAll("script[data-file]")) {
      this.#blocks.set(block.dataset.file, block);
    }
  }

  /** Name an address that stands in the page already. */
  know(name, address) {
    this.#addresses.set(name, address);
  }

  address(name) {
    if (!this.#addresses.has(name)) {
      const block = this.#blocks.get(name);
      const bytes = Uint8Array.from(atob(block.textContent), (character) => character.charCodeAt(0));
      const blob = new Blob([bytes], { type: block.dataset.mediaType });
      this.#addresses.set(name, URL.createObjectURL(blob));
    }
    return this.#addresses.get(name);
  }

  /** Let go of a decoded file; asking for it again decodes it again. */
  release(name) {
    if (this.#blocks.has(name) && this.#addresses.has(name)) {
      URL.revokeObjectURL(this.#addresses.get(name));
      this.#addresses.delete(name);
    }
  }
}
