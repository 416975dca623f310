// Live panels: the picture of one request. Lengths are px of the 1920 × 1080 page.
//
// A record is { spans, tokens, open, ttft_ns, e2e_ns }: the recorded twin has all of it, a live run grows.
"use strict";

const LIVE_GUTTER_X = 352;
const LIVE_RIGHT_X = 1824;
const LIVE_THIN_PX = 3;
const LIVE_TOUCH_NS = 5e6; // stages of one lane that are closer are read as one
const LIVE_LABEL = "one request, stage by stage";

/** The lanes of one request, its clock and its text, above its recorded twin on the same axis. */
class LivePicture {
  #twin;
  #lanes;
  #svg;
  #nodes = {};
  #bars;
  #twinBars;
  #labelled = "";

  constructor(host, title, twin) {
    this.#twin = twin;
    this.#lanes = new Map(twin.lanes.flatMap((lane, index) => lane.components.map((name) => [name, index])));
    this.#svg = liveNode(host, "svg", { viewBox: "0 0 1920 1080", role: "img", "aria-label": LIVE_LABEL });
    this.axis = LiveAxis.holding(2 * twin.e2e_ns);
    this.#frame(title);
    this.#drawAxis();
    this.clear();
  }

  /** Show a record as it stood at an instant of its run. */
  draw(record, nowNs) {
    this.#bars.draw(record.spans, this.axis, nowNs);
    this.#drawOpen(record.open, nowNs);
    this.#drawTokens(record, nowNs);
    this.#drawClock(record, nowNs);
    this.#drawLabels(record, nowNs);
  }

  /** Take everything of the last run away. */
  clear() {
    this.#bars.clear();
    for (const name of ["ticks", "labels"]) this.#nodes[name].replaceChildren();
    this.#labelled = "";
    this.#nodes.first.style.display = "none";
    this.#nodes.open.style.display = "none";
    this.#nodes.clock.textContent = "0.00";
    this.say("prompt", this.#twin.prompt);
  }

  setAxis(endNs) {
    this.axis = new LiveAxis(endNs);
    this.#labelled = "";
    this.#drawAxis();
  }

  /** @param line who plays: machine, model, and where from */
  setBadge(word, isFilled, line) {
    const { badge, badgeText, badgeLine } = this.#nodes;
    badgeText.textContent = word;
    const width = badgeText.getComputedTextLength() + 48;
    const inset = isFilled ? 0 : 2; // an outline lies inside the pill's edges
    liveSet(badge, { x: 96 + inset, y: 208 + inset, width: width - 2 * inset, height: 52 - 2 * inset });
    liveSet(badgeText, { x: 96 + width / 2 });
    badge.classList.toggle("live-filled", isFilled);
    badgeText.classList.toggle("live-filled", isFilled);
    badgeLine.textContent = line;
    liveSet(badgeLine, { x: 96 + width + 24 });
  }

  setResult(text) {
    this.#nodes.result.textContent = text;
  }

  setHint(text) {
    this.#nodes.hint.textContent = text;
  }

  /** Show the prompt or the answer: as many words as two lines hold, the latest ones of an answer. */
  say(kind, text) {
    if (this.#nodes.sayKind.textContent === kind && this.#nodes.said === text) return;
    this.#nodes.said = text;
    this.#nodes.sayKind.textContent = kind;
    const lines = this.#wrap(text.replace(/\s+/g, " ").trim());
    const shown = kind === "prompt" ? lines.slice(0, 2) : lines.slice(-2);
    if (kind === "prompt" && lines.length > 2) shown[1] = shown[1].replace(/\s\S*$/, " …");
    this.#nodes.say.forEach((node, index) => {
      node.textContent = shown[index] ?? "";
      node.classList.toggle("live-muted", kind === "prompt");
    });
  }

  #frame(title) {
    const svg = this.#svg;
    const hatch = liveNode(liveNode(svg, "defs"), "pattern", {
      id: "live-hatch", width: 14, height: 14, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)",
    });
    liveNode(hatch, "rect", { width: 4.5, height: 14, class: "live-hatch" });
    this.#drawTitle(title);
    const nodes = this.#nodes;
    nodes.badge = liveNode(svg, "rect", { rx: 26, class: "live-badge" });
    nodes.badgeText = liveNode(svg, "text", { y: liveBaseline(208, 52, 36), class: "live-badge-text" });
    nodes.badgeLine = liveNode(svg, "text", { y: liveBaseline(208, 52, 36), class: "live-mono" });
    nodes.clock = liveNode(svg, "text", { x: LIVE_RIGHT_X - 60, y: 252, class: "live-clock" }, "0.00");
    liveNode(svg, "text", { x: LIVE_RIGHT_X, y: 252, class: "live-clock-unit" }, "s");
    this.#twin.lanes.forEach((lane, index) => this.#lane(LIVE_LANE.top + index * LIVE_LANE.pitch, lane.name));
    this.#bars = new LiveBars(svg, (span) => this.#laneTop(span.component));
    nodes.open = liveNode(svg, "rect", { height: LIVE_LANE.height, class: "live-open" });
    nodes.ticks = liveNode(svg, "g");
    this.#lane(this.#twinTop, "recorded");
    this.#twinBars = new LiveBars(svg, () => this.#twinTop);
    const first = { width: 3, class: "live-first" };
    nodes.first = liveNode(svg, "rect", { ...first, y: LIVE_LANE.top, height: this.#twinTop - 8 - LIVE_LANE.top });
    nodes.twinFirst = liveNode(svg, "rect", { ...first, y: this.#twinTop, height: LIVE_LANE.height });
    nodes.labels = liveNode(svg, "g");
    nodes.twinLabel = liveNode(svg, "text", { y: liveBaseline(this.#twinTop, 56, 36), class: "live-value" });
    liveNode(nodes.twinLabel, "tspan", { class: "live-name" }, liveWords.total(this.#twin.e2e_ns));
    liveNode(nodes.twinLabel, "tspan", { dx: 24, class: "live-trace" }, `trace ${this.#twin.hash}`);
    nodes.axis = liveNode(svg, "g");
    nodes.sayKind = liveNode(svg, "text", { x: LIVE_GUTTER_X, y: 916, class: "live-lane-name" });
    nodes.say = [916, 968].map((y) => liveNode(svg, "text", { x: LIVE_PLOT.x0, y, class: "live-say" }));
    nodes.result = liveNode(svg, "text", { x: 96, y: 1036, class: "live-result", role: "status" });
    nodes.hint = liveNode(svg, "text", { x: LIVE_RIGHT_X, y: 1036, class: "live-hint" });
  }

  get #twinTop() {
    return LIVE_LANE.top + this.#twin.lanes.length * LIVE_LANE.pitch + 8;
  }

  /** The lane that names the first token: the second, which is empty by then. */
  get #firstTop() {
    return LIVE_LANE.top + Math.min(1, this.#twin.lanes.length - 1) * LIVE_LANE.pitch;
  }

  #laneTop(component) {
    const index = this.#lanes.get(component);
    return index === undefined ? null : LIVE_LANE.top + index * LIVE_LANE.pitch;
  }

  #lane(top, name) {
    const strip = { x: LIVE_PLOT.x0, y: top, width: LIVE_PLOT.width, height: LIVE_LANE.height, rx: 4 };
    liveNode(this.#svg, "rect", { ...strip, class: "live-lane" });
    const y = liveBaseline(top, LIVE_LANE.height, 44);
    liveNode(this.#svg, "text", { x: LIVE_GUTTER_X, y, class: "live-lane-name" }, name);
  }

  /** One line if it fits, else two, broken after a sentence. */
  #drawTitle(title) {
    const node = liveNode(this.#svg, "text", { x: 96, y: 112, class: "live-title" }, title);
    const [first, ...rest] = title.split(/(?<=[.?:]) /);
    if (node.getComputedTextLength() <= 1728 || !rest.length) return;
    node.textContent = first;
    liveNode(this.#svg, "text", { x: 96, y: 184, class: "live-title" }, rest.join(" "));
  }

  #drawAxis() {
    const y = this.#twinTop + LIVE_LANE.height + 12;
    const group = this.#nodes.axis;
    group.replaceChildren();
    liveNode(group, "rect", { x: LIVE_PLOT.x0, y, width: LIVE_PLOT.width, height: 3, class: "live-axis" });
    for (const tick of this.axis.ticks) {
      const x = this.axis.x(tick.timeNs);
      liveNode(group, "rect", { x: x - 1.5, y, width: 3, height: 12, class: "live-axis" });
      const label = liveNode(group, "text", { x, y: y + 54, class: "live-tick" });
      const [number, unit] = tick.text.split(" ");
      label.textContent = number;
      const half = label.getComputedTextLength() / 2;
      if (unit) liveNode(group, "text", { x: x + half + 12, y: y + 54, class: "live-unit" }, unit);
    }
    this.#twinBars.draw(this.#twin.spans, this.axis, Infinity);
    liveSet(this.#nodes.twinFirst, { x: this.axis.x(this.#twin.ttft_ns) - 1.5 });
    liveSet(this.#nodes.twinLabel, { x: this.axis.x(this.#twin.e2e_ns) + 18 });
  }

  /** The stage that goes on now: pale, because its end has not been measured. */
  #drawOpen(open, nowNs) {
    const node = this.#nodes.open;
    const isOpen = open && nowNs > open.start_ns && nowNs < Infinity;
    node.style.display = isOpen ? "" : "none";
    if (!isOpen) return;
    const x = this.axis.x(open.start_ns);
    liveSet(node, { x, y: this.#laneTop(open.component), width: this.axis.x(nowNs) - x });
    node.style.fill = `var(--role-${open.role})`;
  }

  #drawTokens(record, nowNs) {
    const top = LIVE_LANE.top + (this.#twin.lanes.length - 1) * LIVE_LANE.pitch; // the last lane is the stream
    const arrived = record.tokens.filter((token) => token.t_ns <= nowNs);
    const group = this.#nodes.ticks;
    while (group.childElementCount > arrived.length) group.lastChild.remove();
    const shape = { y: top, width: 4, height: LIVE_LANE.height, class: "live-token" };
    arrived.forEach((token, index) => {
      const tick = group.children[index] ?? liveNode(group, "rect", shape);
      tick.setAttribute("x", this.axis.x(token.t_ns));
    });
    if (arrived.length) this.say("answer", arrived.map((token) => token.text).join(""));
    this.#nodes.first.style.display = arrived.length ? "" : "none";
    if (arrived.length) liveSet(this.#nodes.first, { x: this.axis.x(arrived[0].t_ns) - 1.5 });
  }

  #drawClock(record, nowNs) {
    this.#nodes.clock.textContent = liveWords.clock(Math.min(nowNs, record.e2e_ns ?? Infinity, 999e9));
  }

  /** Words in the lanes; drawn anew only when one more stage has ended. */
  #drawLabels(record, nowNs) {
    const ended = record.spans.filter((span) => span.start_ns + span.duration_ns <= nowNs);
    const isOver = record.e2e_ns !== null && nowNs >= record.e2e_ns;
    const hasToken = record.tokens.length > 0 && record.tokens[0].t_ns <= nowNs;
    const state = `${ended.length} ${hasToken} ${isOver} ${this.axis.endNs}`;
    if (state === this.#labelled) return;
    this.#labelled = state;
    this.#nodes.labels.replaceChildren();
    this.#labelModel(ended, isOver);
    const firstNs = hasToken ? record.tokens[0].t_ns : Infinity;
    const lanes = this.#twin.lanes.slice(0, -1).filter((lane) => !lane.components.includes("model"));
    const labels = lanes.map((lane) => this.#labelLane(lane, ended, firstNs)).filter((label) => label);
    if (!hasToken) return;
    const firstX = this.axis.x(firstNs);
    const first = this.#label(this.#firstTop, firstX + 18, [["first token", liveWords.total(firstNs)]]);
    if (labels.some((label) => label.x + label.width > firstX - 8)) this.#moveBehind(labels, firstX + 18, first);
  }

  /** What a lane took before the first token, beside its bars; a caret finds those too thin to be seen. */
  #labelLane(lane, ended, firstNs) {
    const spans = ended.filter((span) => lane.components.includes(span.component));
    const before = spans.filter((span) => span.start_ns < firstNs);
    if (!before.length) return null;
    const gap = before.findIndex((span, index) => index && span.start_ns > liveEnd(before[index - 1]) + LIVE_TOUCH_NS);
    const early = gap < 0 ? before : before.slice(0, gap);
    const endX = this.axis.x(liveEnd(early.at(-1)));
    const top = this.#laneTop(lane.component);
    const isThin = endX - this.axis.x(early[0].start_ns) < LIVE_THIN_PX;
    if (isThin) {
      const middle = top + LIVE_LANE.height / 2;
      const points = `${endX + 4},${middle} ${endX + 16},${middle - 8} ${endX + 16},${middle + 8}`;
      liveNode(this.#nodes.labels, "polygon", { points, class: "live-caret" });
    }
    const x = endX + (isThin ? 24 : 16);
    const node = this.#label(top, x, [["", liveWords.stage(liveSum(early))]]);
    return { node, x, width: node.getBBox().width, top, spans };
  }

  /** Without room before the first token, lanes are labelled after it, clear of bars. */
  #moveBehind(labels, x, first) {
    for (const { node, width, top, spans } of labels) {
      const isCovered = spans.some((span) => this.axis.x(liveEnd(span)) > x && this.axis.x(span.start_ns) < x + width);
      node.setAttribute("x", isCovered ? this.axis.x(liveEnd(spans.at(-1))) + 18 : x);
      if (top === this.#firstTop) first.setAttribute("x", x + width + 32);
    }
  }

  /** The model's words: prefill inside its bar if it fits, the rest behind the last bar, as much as finds room. */
  #labelModel(ended, isOver) {
    const top = this.#laneTop("model");
    const [prefill, decode] = ["prefill", "decode"].map((role) => ended.filter((span) => span.role === role));
    const parts = [];
    if (prefill.length) {
      const words = ["prefill", liveWords.stage(liveSum(prefill))];
      if (!this.#labelInside(top, prefill[0].start_ns, liveEnd(prefill.at(-1)), words)) parts.push(words);
    }
    const meanNs = liveSum(decode) / decode.length;
    if (decode.length) parts.push(["decode", `${decode.length} × ${liveWords.perToken(meanNs)}`]);
    if (!isOver) return;
    const x = this.axis.x(liveEnd([...prefill, ...decode].at(-1))) + 18;
    for (; parts.length; parts.shift()) {
      const label = this.#label(top, x, parts);
      if (x + label.getBBox().width < LIVE_RIGHT_X - 16) return;
      label.remove();
    }
  }

  /** Centre words in a bar; returns whether they fit. */
  #labelInside(top, startNs, endNs, words) {
    const x = this.axis.x(startNs);
    const label = this.#label(top, x, [words], "live-inside");
    const spare = this.axis.x(endNs) - x - label.getBBox().width;
    if (spare < 40) label.remove();
    else label.setAttribute("x", x + spare / 2);
    return spare >= 40;
  }

  /** Names in primary, values in secondary, from x on. */
  #label(top, x, parts, name = "") {
    const y = liveBaseline(top, LIVE_LANE.height, 36);
    const label = liveNode(this.#nodes.labels, "text", { x, y, class: `live-value ${name}` });
    parts.forEach(([name, value], index) => {
      if (name) liveNode(label, "tspan", { class: "live-name", dx: index ? 32 : 0 }, name);
      liveNode(label, "tspan", { dx: name ? 14 : 0 }, value);
    });
    return label;
  }

  #wrap(text) {
    const probe = liveNode(this.#svg, "text", { class: "live-say", visibility: "hidden" });
    const lines = [""];
    const words = text.split(" ").flatMap((word) => word.match(/.{1,48}/gsu) ?? []); // longer ones are broken by force
    for (const word of words) {
      probe.textContent = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
      const fits = !lines.at(-1) || probe.getComputedTextLength() <= LIVE_PLOT.width;
      if (fits) lines[lines.length - 1] = probe.textContent;
      else lines.push(word);
    }
    probe.remove();
    return lines;
  }
}
