// The live panel of one request: `<live-request data-title="…">`, beside its recorded twin (JSON block
// `twin-one-request`). LIVE stands only over a run of this machine, filled while its events arrive; everything else is
// REPLAY and says why.
// Keys on the panel's slide: Enter starts, R plays the recording, L returns to live, Esc gives the keys back.
"use strict";

const LIVE_DEMO = "one-request";
const LIVE_OFFER_MS = 5000;
const LIVE_TAKE_MS = 20000;
const LIVE_RESCALE_MS = 500;
const LIVE_REASON_CHARS = 36; // what has room beside the result

/** What is being worked on after a stage has ended, as far as it can be known. */
const LIVE_NEXT = {
  route: { component: "queue", role: "queue" },
  submit: { component: "queue", role: "queue" },
  queue: { component: "model", role: "prefill" },
  plan: { component: "model", role: "prefill" },
  prefill: { component: "model", role: "decode" },
  decode: { component: "model", role: "decode" },
};

class LiveRequest extends HTMLElement {
  #twin = JSON.parse(document.getElementById(`twin-${LIVE_DEMO}`).textContent);
  #stream = new LiveStream((event) => this.#on(event), (reason) => this.#lose(reason));
  #picture = null;
  #server = { state: "starting", reason: "no live server" };
  #why = ""; // why the recording plays until somebody asks for live; empty while live is wanted
  #run = null; // what is on the panel: { kind: "live" | "twin", record, startMs, isOver }
  #hasKeys = true;

  async connectedCallback() {
    if (this.isConnected && this.#picture) return;
    await liveFonts(); // words are measured
    this.#picture = new LivePicture(this, this.dataset.title ?? "", this.#twin);
    this.#show();
    window.addEventListener("keydown", (event) => this.#onKey(event), true);
    this.#watchSlide();
    this.#stream.start();
  }

  get #isCurrent() {
    const slide = this.closest("section");
    return !slide || slide.classList.contains("present");
  }

  get #canBeLive() {
    return !this.#why && this.#server.state === "live";
  }

  // Events of the server.

  #on(event) {
    if (event.type === "state") return this.#setServer(event);
    if (event.type === "start") return this.#why ? undefined : this.#begin("live", event.run);
    const run = this.#run;
    if (run?.kind !== "live" || event.run !== run.number || run.isOver) return;
    if (event.type === "failed") return this.#replay(event.reason);
    this.#record(run, event);
  }

  #setServer(event) {
    const wasLive = this.#server.state === "live";
    this.#server = event;
    if (event.state === "replay" || (event.state === "starting" && wasLive)) this.#lose(event.reason);
    this.#show();
  }

  #record(run, event) {
    const { record } = run;
    if (event.type === "span") {
      record.spans.push(event);
      const next = LIVE_NEXT[event.name];
      if (next) record.open = { ...next, start_ns: event.start_ns + event.duration_ns };
    } else if (event.type === "token") {
      record.tokens.push(event);
      record.ttft_ns ??= event.t_ns;
    } else if (event.type === "end") {
      Object.assign(record, { ttft_ns: event.ttft_ns, e2e_ns: event.e2e_ns, open: null });
    }
  }

  /** The server or its engine cannot answer: what was live goes on as the recording. */
  #lose(reason) {
    if (this.#server.state === "live") this.#server = { state: "replay", reason };
    else this.#server.reason = reason;
    this.#why = reason;
    if (this.#run?.kind === "live" && !this.#run.isOver) this.#replay(reason);
    this.#show();
  }

  // Runs.

  async #start() {
    if (this.#run && !this.#run.isOver) return;
    if (!this.#canBeLive) return this.#replay(this.#why || this.#server.reason);
    const hasBegun = await this.#stream.run(LIVE_DEMO);
    const isIdle = !this.#run || this.#run.isOver;
    if (!hasBegun && isIdle && this.#canBeLive) this.#replay("engine refused");
  }

  #replay(reason) {
    if (this.#run?.kind === "live" && !this.#run.isOver) this.#stream.stop();
    this.#why = reason;
    this.#begin("twin");
  }

  #begin(kind, number = null) {
    const open = { component: "client", role: "client", start_ns: 0 };
    const fresh = { spans: [], tokens: [], ttft_ns: null, e2e_ns: null, open };
    const record = kind === "live" ? fresh : { ...this.#twin, open: null };
    const run = { kind, number, record, startMs: performance.now(), isOver: false, isSlow: false };
    this.#run = run;
    this.#picture.clear();
    this.#picture.setAxis(LiveAxis.holding(2 * this.#twin.e2e_ns).endNs);
    this.#show();
    requestAnimationFrame(() => this.#frame(run));
  }

  #end() {
    if (this.#run?.kind === "live" && !this.#run.isOver) this.#stream.stop();
    this.#run = null;
    this.#picture.clear();
    this.#show();
  }

  /** Draw one frame of a run and ask for the next. */
  #frame(run) {
    if (run !== this.#run) return;
    const elapsedMs = performance.now() - run.startMs;
    const nowNs = elapsedMs * 1e6;
    const isOver = run.record.e2e_ns !== null && (run.kind === "live" || nowNs >= run.record.e2e_ns);
    if (run.kind === "live" && !isOver && this.#tookTooLong(run, elapsedMs)) return;
    this.#fitAxis(run, nowNs);
    run.isOver = isOver && !run.rescale;
    this.#picture.draw(run.record, isOver ? Infinity : nowNs);
    if (run.isOver) this.#show();
    else requestAnimationFrame(() => this.#frame(run));
  }

  /** Slow is not dead: the recording is offered first, and taken only after a long time. */
  #tookTooLong(run, elapsedMs) {
    const offerMs = Math.max(LIVE_OFFER_MS, (3 * this.#twin.e2e_ns) / 1e6);
    if (elapsedMs >= Math.max(LIVE_TAKE_MS, 1.5 * offerMs)) {
      this.#replay("this run is slow");
      return true;
    }
    if (!run.isSlow && elapsedMs >= offerMs) {
      run.isSlow = true;
      this.#show();
    }
    return false;
  }

  /** A run that outgrows the axis gets a longer one, smoothly. */
  #fitAxis(run, nowNs) {
    const axis = this.#picture.axis;
    const lastNs = run.record.e2e_ns ?? nowNs;
    if (!run.rescale && lastNs > 0.98 * axis.endNs) {
      run.axisNs = LiveAxis.holding(2 * axis.endNs).endNs;
      run.rescale = { fromNs: axis.endNs, startMs: performance.now() };
      this.#show();
    }
    if (!run.rescale) return;
    const { fromNs, startMs } = run.rescale;
    const isAtOnce = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const part = isAtOnce ? 1 : Math.min(1, (performance.now() - startMs) / LIVE_RESCALE_MS);
    this.#picture.setAxis(fromNs + (run.axisNs - fromNs) * part);
    if (part === 1) run.rescale = null;
  }

  // Words.

  #show() {
    const picture = this.#picture;
    const isLive = this.#run ? this.#run.kind === "live" : this.#canBeLive;
    const { machine, model, hash } = this.#twin;
    const live = [this.#server.machine, this.#server.model, "this machine, now"];
    const line = isLive ? live : [machine, model, `trace ${hash}`];
    picture.setBadge(isLive ? "LIVE" : "REPLAY", this.#run?.isOver === false, line.filter(Boolean).join(" · "));
    picture.setResult(this.#run?.isOver ? this.#result() : "");
    picture.setHint(this.#hint());
  }

  #result() {
    const { kind, record } = this.#run;
    const words = `first token ${liveWords.total(record.ttft_ns)}, end ${liveWords.total(record.e2e_ns)}`;
    if (kind === "twin") return `Recorded: ${words}`;
    const ratio = record.e2e_ns / this.#twin.e2e_ns;
    const [live, recorded] = [record, this.#twin].map((each) => liveWords.total(each.e2e_ns));
    if (ratio > 3 || ratio < 1 / 3) return `Today ${live}; the recording ${recorded}`;
    return `${words[0].toUpperCase()}${words.slice(1)}: ×${ratio.toFixed(2)} the recording`;
  }

  #hint() {
    const run = this.#run;
    if (run && !run.isOver && run.kind === "live") {
      if (run.isSlow) return "slow today · R recording";
      return run.axisNs ? `axis now ${liveWords.total(run.axisNs)}` : "";
    }
    const whole = this.#why || (this.#server.state === "live" ? "" : this.#server.reason);
    const reason = whole.length > LIVE_REASON_CHARS ? `${whole.slice(0, LIVE_REASON_CHARS - 1)}…` : whole;
    if (this.#why && this.#server.state === "live") return `${reason} · L live`;
    return [reason, run && !run.isOver ? "" : "Enter"].filter(Boolean).join(" · ");
  }

  // Keys.

  #onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || !this.#isCurrent || isElsewhere()) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === "Escape" && this.#hasKeys) this.#hasKeys = false;
    else if (key === "Enter" && this.#hasKeys) this.#start();
    else if (key === "r" && this.#hasKeys) this.#replay("recording chosen");
    else if (key === "l" && this.#hasKeys) this.#returnToLive();
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();

    function isElsewhere() {
      const shell = document.querySelector(".reveal");
      const isBusy = shell?.matches(".overview, .paused");
      return isBusy || (event.target instanceof Element && event.target.matches("input, textarea, select"));
    }
  }

  #returnToLive() {
    if (this.#server.state !== "live") return;
    this.#why = "";
    if (this.#run?.kind !== "live") this.#end();
    this.#show();
  }

  /** Coming back to the slide gives the panel its keys; leaving it ends its run. */
  #watchSlide() {
    const slide = this.closest("section");
    if (!slide) return;
    let wasCurrent = this.#isCurrent;
    new MutationObserver(() => {
      if (this.#isCurrent === wasCurrent) return;
      wasCurrent = this.#isCurrent;
      if (wasCurrent) this.#hasKeys = true;
      else if (this.#run) this.#end();
    }).observe(slide, { attributes: true, attributeFilter: ["class"] });
  }
}

/** Wait until the page's typefaces can be measured. */
async function liveFonts() {
  const theme = getComputedStyle(document.documentElement);
  const [text, mono] = ["--font-text", "--font-mono"].map((name) => theme.getPropertyValue(name));
  const faces = [`400 1em ${text}`, `600 1em ${text}`, `700 1em ${text}`, `400 1em ${mono}`];
  await Promise.all(faces.map((face) => document.fonts.load(face)));
}

customElements.define("live-request", LiveRequest);
