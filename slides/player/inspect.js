// Inspect mode: every measurement in the still can be walked to, by key or pointer, and opened.

const PAGE_HEIGHT_PX = 1080;
const SMALLEST_PX = 16;
const HINT = "← → walk   Enter open   I close";

class Inspect {
  #container;
  #marks = [];
  #buttons = [];
  #at = 0;
  #line;
  #details;

  constructor(container) {
    this.#container = container;
    container.setAttribute("role", "group");
    container.setAttribute("aria-label", "Measurements in this picture");
  }

  get isOpen() {
    return !this.#container.hidden;
  }

  /** Lay the marks of a pause over its still; without marks, stay closed. */
  open(pause) {
    if (!pause?.marks.length) return;
    this.#marks = pause.marks;
    this.#buttons = this.#marks.map((mark, index) => this.#button(mark, index));
    this.#line = paragraph("line", "");
    this.#details = element("div", "details");
    this.#details.setAttribute("aria-live", "polite");
    this.#container.replaceChildren(...this.#buttons, this.#line, this.#details);
    this.#container.hidden = false;
    this.#walkTo(0);
  }

  close() {
    if (!this.isOpen) return;
    this.#container.hidden = true;
    this.#container.replaceChildren();
    document.activeElement?.blur();
  }

  /** Take a key; true when it meant something here. */
  handle(key) {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (key in steps) this.#walkTo(this.#at + steps[key]);
    else if (key === "Home") this.#walkTo(0);
    else if (key === "End") this.#walkTo(this.#marks.length - 1);
    else if (key === "Enter") this.#openDetails();
    else if (key === "Escape" && this.#details.hasChildNodes()) this.#details.replaceChildren();
    else if (key === "Escape" || key === "i") this.close();
    else return false;
    return true;
  }

  #button(mark, index) {
    const [x0, y0, x1, y1] = mark.box;
    const button = element("button", "mark");
    const spare = Math.max(0, SMALLEST_PX - (x1 - x0)) / 2;
    place(button, x0 - spare, y0, x1 - x0 + 2 * spare, y1 - y0);
    button.style.zIndex = String(1 + this.#marks.filter((other) => area(other) > area(mark)).length);
    button.setAttribute("aria-label", `${mark.name}, ${mark.value}`);
    button.tabIndex = -1;
    button.addEventListener("click", () => {
      this.#walkTo(index);
      this.#openDetails();
    });
    return button;
  }

  #walkTo(index) {
    const last = this.#marks.length - 1;
    this.#at = Math.min(Math.max(index, 0), last);
    const mark = this.#marks[this.#at];
    this.#buttons.forEach((button, other) => button.classList.toggle("current", other === this.#at));
    this.#buttons[this.#at].focus({ preventScroll: true });
    this.#line.replaceChildren(
      text("b", mark.name), text("span", mark.value), text("i", `${this.#at + 1} of ${last + 1}`), text("i", HINT),
    );
    if (this.#details.hasChildNodes()) this.#openDetails();
  }

  #openDetails() {
    const mark = this.#marks[this.#at];
    const middle = (mark.box[1] + mark.box[3]) / 2;
    this.#details.classList.toggle("below", middle < PAGE_HEIGHT_PX / 2);
    this.#details.replaceChildren(
      paragraph("name", mark.name),
      paragraph("value", mark.value),
      paragraph("time", mark.time),
      paragraph("code", mark.trace),
      paragraph("code", mark.where),
    );
  }
}

function area(mark) {
  const [x0, y0, x1, y1] = mark.box;
  return (x1 - x0) * (y1 - y0);
}

function place(node, x, y, width, height) {
  Object.assign(node.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
}

function element(name, className) {
  const node = document.createElement(name);
  node.className = className;
  return node;
}

function text(name, content) {
  const node = document.createElement(name);
  node.textContent = content;
  return node;
}

function paragraph(className, content) {
  const node = text("p", content);
  node.className = className;
  return node;
}
