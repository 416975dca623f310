// Live panels: the linear axis that film and panel share, and how numbers read (traces/wording.py says the same).
"use strict";

const LIVE_PLOT = { x0: 384, width: 1440 };

/** A linear map from nanoseconds since the start of a run to px of the 1920 × 1080 page. */
class LiveAxis {
  constructor(endNs) {
    this.endNs = endNs;
  }

  /** An axis with room for `longestNs`, its end on a tick. */
  static holding(longestNs) {
    const step = LiveAxis.#step(longestNs);
    return new LiveAxis(Math.ceil(longestNs / step) * step);
  }

  x(timeNs) {
    return LIVE_PLOT.x0 + (timeNs / this.endNs) * LIVE_PLOT.width;
  }

  /** Ticks from zero on; the unit stands on the last one only, which keeps clear of the plot's end. */
  get ticks() {
    const step = LiveAxis.#step(this.endNs);
    const [unitNs, unit] = this.endNs >= 1e9 ? [1e9, "s"] : [1e6, "ms"];
    const digits = Math.max(0, -Math.floor(Math.log10(step / unitNs)));
    const number = Math.floor((this.endNs * 0.96) / step);
    return Array.from({ length: number + 1 }, (_, index) => ({
      timeNs: index * step,
      text: (index ? ((index * step) / unitNs).toFixed(digits) : "0") + (index === number ? ` ${unit}` : ""),
    }));
  }

  /** The round distance of about six ticks. */
  static #step(longestNs) {
    const rough = longestNs / 7;
    const power = 10 ** Math.floor(Math.log10(rough));
    return power * [1, 2, 5, 10].find((digit) => digit * power >= rough);
  }
}

const liveWords = {
  /** A total: `2.61 s`, below 0.1 s `93 ms`. */
  total: (ns) => (ns >= 1e8 ? `${(ns / 1e9).toFixed(2)} s` : liveWords.stage(ns)),

  /** A stage's time: whole milliseconds, one decimal below 10 ms, microseconds below 1 ms. */
  stage(ns) {
    if (ns >= 1e10) return `${(ns / 1e9).toFixed(1)} s`;
    if (Number((ns / 1e6).toFixed(1)) >= 10) return `${Math.round(ns / 1e6)} ms`;
    return Math.round(ns / 1e3) >= 1000 ? `${(ns / 1e6).toFixed(1)} ms` : `${Math.round(ns / 1e3)} µs`;
  },

  perToken: (ns) => (ns >= 1e6 ? `${(ns / 1e6).toFixed(1)} ms` : `${Math.round(ns / 1e3)} µs`),

  clock: (ns) => (ns / 1e9).toFixed(2),
};
