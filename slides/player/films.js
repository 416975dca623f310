// Two stacked <video> elements: one plays, the other holds the next film ready. Neither is seen before its first frame
// is there, nor after its last, so the still underneath fills every gap.

const FIRST_FRAME_MS = 3000;

class Films {
  #playing;
  #waiting;
  #media;
  #end = () => {};

  constructor(container, media) {
    [this.#playing, this.#waiting] = container.querySelectorAll("video");
    this.#media = media;
  }

  /** Load a film into the element that is not playing. */
  prepare(name) {
    const film = this.#waiting;
    const before = film.dataset.file;
    if (before === name) return;
    film.dataset.file = name;
    film.src = this.#media.address(name);
    if (before && before !== this.#playing.dataset.file) this.#media.release(before);
  }

  /**
   * Play a film from its beginning.
   *
   * `onFirstFrame` is called once it is on screen. The promise tells whether it came to its end: false when it was
   * stopped, true also when it could not be played, since then the still stands for it.
   */
  play(name, onFirstFrame) {
    this.stop();
    this.prepare(name);
    [this.#playing, this.#waiting] = [this.#waiting, this.#playing];
    const film = this.#playing;
    return new Promise((resolve) => {
      const listening = new AbortController();
      const end = (finished) => {
        clearTimeout(stalled);
        listening.abort();
        this.#end = () => {};
        resolve(finished);
      };
      const stalled = setTimeout(end, FIRST_FRAME_MS, true);
      this.#end = end;
      for (const event of ["ended", "error"]) {
        film.addEventListener(event, () => end(true), { signal: listening.signal });
      }
      whenFrameIsShown(film, () => {
        if (listening.signal.aborted) return;
        clearTimeout(stalled);
        film.classList.add("shown");
        onFirstFrame();
      });
      if (film.currentTime > 0) film.currentTime = 0;
      film.play().catch(() => end(true));
    });
  }

  /** Stop what plays, and show neither film. */
  stop() {
    this.#end(false);
    this.hide();
  }

  hide() {
    for (const film of [this.#playing, this.#waiting]) {
      film.pause();
      film.classList.remove("shown");
    }
  }
}

function whenFrameIsShown(film, callback) {
  if (film.requestVideoFrameCallback) film.requestVideoFrameCallback(callback);
  else film.addEventListener("playing", callback, { once: true });
}
