// Live panels: the page's one stream of events from `spanreel present`, and the two things that it may ask for.
"use strict";

const LIVE_TOKEN_KEY = "spanreel-token";
const LIVE_BEAT_MS = 250;
const LIVE_MISSED_BEATS = 4;
const LIVE_RETRY_MS = 1000;

/** Calls `onEvent` with each event, and `onLost` with the reason whenever the server cannot be heard. */
class LiveStream {
  #onEvent;
  #onLost;
  #token = null;
  #abort = null;
  #missed = 0;

  constructor(onEvent, onLost) {
    this.#onEvent = onEvent;
    this.#onLost = onLost;
  }

  /** Listen for as long as the page stands. */
  async start() {
    if (!location.protocol.startsWith("http")) return this.#onLost("opened from a file");
    this.#token = sessionStorage.getItem(LIVE_TOKEN_KEY);
    if (!this.#token) return this.#onLost("no live server");
    setInterval(() => this.#listen(), LIVE_BEAT_MS);
    for (;;) {
      try {
        if (!(await this.#read())) return;
      } catch {
        // The loss is told below, and listening goes on.
      }
      this.#onLost("live server is gone");
      await new Promise((done) => setTimeout(done, LIVE_RETRY_MS));
    }
  }

  /** Ask for a run; resolves to whether it has begun. */
  async run(demo) {
    return this.#post("/live/run", { demo });
  }

  async stop() {
    return this.#post("/live/stop", {});
  }

  async #post(path, body) {
    try {
      const headers = { ...this.#headers, "Content-Type": "application/json" };
      return (await fetch(path, { method: "POST", headers, body: JSON.stringify(body) })).ok;
    } catch {
      return false;
    }
  }

  get #headers() {
    return { Authorization: `Bearer ${this.#token}` };
  }

  /** Read one connection to its end; resolves to false if there is no use in another. */
  async #read() {
    this.#abort = new AbortController();
    this.#missed = 0;
    const response = await fetch("/live/events", { headers: this.#headers, signal: this.#abort.signal });
    if (response.status === 401) {
      this.#onLost("open the printed address");
      return false;
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let pending = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return true;
      this.#missed = 0;
      const messages = (pending + value).split("\n\n");
      pending = messages.pop();
      for (const message of messages) if (message.startsWith("data: ")) this.#onEvent(JSON.parse(message.slice(6)));
    }
  }

  /** Count beats without a sign of life. Counting, unlike a clock, raises no alarm when the page itself was busy. */
  #listen() {
    this.#missed += 1;
    if (this.#missed === LIVE_MISSED_BEATS) this.#abort?.abort();
  }
}
