// The deck: reveal.js keeps the slides and their order, each pause after a slide's first is one of its fragments; the
// picture of a pause and the film that leads there are ours.

const NEXT_KEYS = new Set(["ArrowRight", "ArrowDown", "PageDown", " ", "n"]);
const PREVIOUS_KEYS = new Set(["ArrowLeft", "ArrowUp", "PageUp", "p"]);
const UNUSED_SHELL_KEYS = { h: 72, j: 74, k: 75, l: 76, a: 65 };

class Player {
  #root = document.querySelector(".reveal");
  #caption = document.querySelector(".caption");
  #slides = JSON.parse(document.getElementById("deck-data").textContent).slides;
  #inspect = new Inspect(document.querySelector(".inspect"));
  #speaker = new Speaker(this.#slides, (event) => this.#onKey(event));
  #picture;
  #at = { index: -1, pause: 0 };

  constructor() {
    const media = new Media(document);
    const films = new Films(document.querySelector(".picture"), media);
    this.#picture = new Picture(this.#root, this.#slides, media, films);
  }

  async start() {
    window.addEventListener("keydown", (event) => this.#onKey(event), true);
    await Reveal.initialize(shellSettings());
    this.#root.removeAttribute("role"); // "application" would keep screen readers from reading the slides
    for (const event of ["slidechanged", "fragmentshown", "fragmenthidden"]) Reveal.on(event, () => this.#follow());
    for (const event of ["overviewshown", "overviewhidden"]) Reveal.on(event, () => this.#summarise());
    this.#follow();
    this.#root.dataset.ready = "";
  }

  get #slide() {
    return this.#slides[this.#at.index];
  }

  /** Go where reveal.js stands now: forward by one pause in motion, anywhere else at once. */
  #follow() {
    const { h: index, f: fragment = -1 } = Reveal.getIndices();
    const pause = fragment + 1;
    const from = this.#at;
    if (index === from.index && pause === from.pause) return;
    const isNextPause = index === from.index && pause === from.pause + 1;
    const isNextSlide = from.index >= 0 && index === from.index + 1 && pause === 0;
    this.#at = { index, pause };
    this.#inspect.close();
    if (isNextPause || isNextSlide) this.#picture.move(this.#slide, pause);
    else this.#picture.show(this.#slide, pause);
    this.#caption.textContent = this.#slide.pauses[pause]?.caption ?? "";
    this.#speaker.follow(this.#slide, pause);
    history.replaceState(null, "", pause ? `#/${this.#slide.id}/${fragment}` : `#/${this.#slide.id}`);
  }

  #next() {
    if (this.#picture.moving) this.#picture.show(this.#slide, this.#at.pause);
    else Reveal.next();
  }

  #summarise() {
    this.#inspect.close();
    this.#picture.summarise(Reveal.isOverview(), this.#slide, this.#at.pause);
  }

  #toggleInspect() {
    if (this.#inspect.isOpen) return this.#inspect.close();
    if (this.#picture.moving) this.#picture.show(this.#slide, this.#at.pause);
    this.#inspect.open(this.#slide.pauses[this.#at.pause]);
  }

  #onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target) || isShellBusy()) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (this.#inspect.isOpen && this.#inspect.handle(key)) return take(event);
    const isBack = PREVIOUS_KEYS.has(key) || (key === " " && event.shiftKey);
    if (isBack) Reveal.prev();
    else if (NEXT_KEYS.has(key)) this.#next();
    else if (key === "i") this.#toggleInspect();
    else if (key === "s") this.#speaker.open();
    else if (key === "c") this.#caption.hidden = !this.#caption.hidden;
    else return;
    take(event);
  }
}

function shellSettings() {
  return {
    width: 1920,
    height: 1080,
    margin: 0,
    minScale: 0.05,
    maxScale: 10,
    center: false,
    controls: false,
    progress: false,
    transition: "none",
    backgroundTransition: "none",
    scrollActivationWidth: null,
    postMessage: false,
    keyboard: {
      ...Object.fromEntries(Object.values(UNUSED_SHELL_KEYS).map((code) => [code, null])),
      27: leaveShellMode,
    },
  };
}

/** Escape leaves the overview or the help; it opens nothing, since live panels use it. */
function leaveShellMode() {
  if (Reveal.isOverlayOpen()) Reveal.toggleHelp(false);
  else if (Reveal.isOverview()) Reveal.toggleOverview(false);
}

function isShellBusy() {
  return Reveal.isOverview() || Reveal.isPaused() || Reveal.isOverlayOpen();
}

function isTyping(target) {
  return target instanceof Element && target.matches("input, textarea, select");
}

function take(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
}

document.addEventListener("DOMContentLoaded", () => new Player().start());
