// The speaker's own window: notes, what comes next, and the time against the budget.

const STEP = "[Next"; // a paragraph of notes that begins so belongs to the pause after the one before
const STARTED_KEY = "spanreel-talk-started-ms";

class Speaker {
  #slides;
  #onKey;
  #window = null;
  #present = null;

  constructor(slides, onKey) {
    this.#slides = slides;
    this.#onKey = onKey;
    setInterval(() => this.#tick(), 1000);
  }

  open() {
    this.#window = window.open("", "spanreel-speaker", "popup,width=1280,height=800");
    if (!this.#window) return;
    const page = this.#window.document;
    page.title = "Speaker notes";
    page.head.replaceChildren(...[...document.querySelectorAll("style")].map((style) => style.cloneNode(true)));
    page.body.className = "speaker";
    this.#window.onkeydown = this.#onKey;
    this.#write();
    this.#window.focus();
  }

  /** Follow the deck to a pause. The talk's clock starts with the first step away from the first picture. */
  follow(slide, pause) {
    this.#present = { slide, pause };
    const isBeginning = slide === this.#slides[0] && pause === 0;
    if (!isBeginning && !sessionStorage.getItem(STARTED_KEY)) sessionStorage.setItem(STARTED_KEY, String(Date.now()));
    this.#write();
  }

  #write() {
    if (!this.#window || this.#window.closed || !this.#present) return;
    const { slide, pause } = this.#present;
    const record = slide.pauses[pause];
    const next = this.#slides[this.#slides.indexOf(slide) + 1];
    const follows = slide.pauses[pause + 1]?.caption || next?.title || "the end";
    const notes = [slide.notes, record?.notes].filter(Boolean).join("\n\n").split(/\n{2,}/);
    let step = 0;
    this.#window.document.body.replaceChildren(
      paragraph("clock", ""),
      paragraph("title", slide.title),
      ...notes.map((note) => {
        if (note.startsWith(STEP)) step += 1;
        return paragraph(step === pause ? "note now" : "note", note.trim());
      }),
      paragraph("next", `Next: ${follows}`),
    );
    this.#window.document.querySelector(".now")?.scrollIntoView({ block: "center" });
    this.#tick();
  }

  #tick() {
    const clock = this.#window && !this.#window.closed && this.#window.document.querySelector(".clock");
    if (!clock) return;
    const started = Number(sessionStorage.getItem(STARTED_KEY)) || Date.now();
    const budget = this.#slides.slice(0, this.#slides.indexOf(this.#present.slide) + 1);
    const minutes = budget.reduce((sum, slide) => sum + slide.minutes, 0);
    clock.textContent = `${clockText((Date.now() - started) / 1000)} of ${clockText(minutes * 60)} by the end of this slide`;
  }
}

function clockText(seconds) {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}
