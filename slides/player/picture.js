// What stands on the present slide: the still of a pause, or the film that leads to it.

class Picture {
  #root;
  #slides;
  #media;
  #films;
  #turn = 0;

  constructor(root, slides, media, films) {
    this.#root = root;
    this.#slides = slides;
    this.#media = media;
    this.#films = films;
    for (const slide of slides) {
      if (slide.pauses.length) media.know(slide.pauses[0].still, this.#image(slide).src);
    }
  }

  get moving() {
    return this.#root.dataset.state === "moving";
  }

  /** Show a pause's still at once. */
  async show(slide, pause) {
    const turn = this.#begin(slide, pause, "still");
    await this.#putStill(slide, pause);
    if (turn !== this.#turn) return;
    this.#films.stop();
    this.#prepareNext(slide, pause);
  }

  /** Play the film that ends in a pause, then show its still; where there is no film, only the still. */
  async move(slide, pause) {
    const film = slide.pauses[pause]?.film;
    if (!film || matchMedia("(prefers-reduced-motion: reduce)").matches) return this.show(slide, pause);
    const turn = this.#begin(slide, pause, "moving");
    if (pause === 0) this.#keepStillBefore(slide);
    const playing = this.#films.play(film, () => {
      this.#putStill(slide, pause);
      this.#prepareNext(slide, pause);
    });
    if ((await playing) && turn === this.#turn) await this.show(slide, pause);
  }

  /** Let every slide show its last still, as a table of contents does, or the one that it stands at. */
  summarise(isOverview, present, pause) {
    for (const slide of this.#slides) {
      const isPast = this.#slides.indexOf(slide) < this.#slides.indexOf(present);
      const last = slide.pauses.length - 1;
      this.#putStill(slide, isOverview || isPast ? last : slide === present ? pause : 0);
    }
  }

  #begin(slide, pause, state) {
    Object.assign(this.#root.dataset, { slide: slide.id, pause, state });
    this.#turn += 1;
    return this.#turn;
  }

  async #putStill(slide, pause) {
    const record = slide.pauses[pause];
    if (!record) return;
    const image = this.#image(slide);
    const ready = new Image();
    ready.src = this.#media.address(record.still);
    await ready.decode().catch(() => {});
    image.src = ready.src;
    image.alt = record.alt;
  }

  /** Until the first frame is there, a new slide shows what the slide before it ended with. */
  #keepStillBefore(slide) {
    const last = this.#slides[this.#slides.indexOf(slide) - 1]?.pauses.at(-1);
    if (last) this.#image(slide).src = this.#media.address(last.still);
  }

  #prepareNext(slide, pause) {
    const next = slide.pauses[pause + 1] ?? this.#slides[this.#slides.indexOf(slide) + 1]?.pauses[0];
    if (next?.film) this.#films.prepare(next.film);
  }

  #image(slide) {
    return document.getElementById(slide.id).querySelector(".still");
  }
}
