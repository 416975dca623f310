// Live panels: the picture of one request, in the film's own grammar. Lengths are px of the 1920 × 1080 page.
//
// A record is { spans, tokens, open, ttft_ns, e2e_ns }: the recorded twin has all of it, a live run grows.
"use strict";

const LIVE_LANE = { top: 276, height: 56, pitch: 64 };
const LIVE_GUTTER_X = 352;
const LIVE_RIGHT_X = 1824;
const LIVE_THIN_PX = 3;
const LIVE_TOUCH_NS = 5e6; // stages of one lane that are closer are read as one

/** A node of an SVG picture; text is only ever set as text. */
function liveNode(parent, name, attributes = {}, text = null) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== null) node.textContent = text;
  parent.append(node);
  return node;
}

/** Baseline that centres capital letters of a size on a lane. */
function liveBaseline(top, height, sizePx) {
  return top + height / 2 + 0.364 * sizePx;
}

/** Bars of a record: in lanes, or all of them in one strip. */
class LiveBars {
  #group;
  #topOf;
  #bars = [];

  /** @param topOf a span's lane top, or null for a span without a lane */
  constructor(parent, topOf) {
    this.#group = liveNode(parent, "g");
    this.#topOf = topOf;
  }

  clear() {
    this.#group.replaceChildren();
    this.#bars = [];
  }

  draw(spans, axis, nowNs) {
    for (const span of spans.slice(this.#bars.length)) this.#bars.push(this.#make(span));
    for (const bar of this.#bars) this.#place(bar, axis, nowNs);
  }

  #make(span) {
    const top = this.#topOf(span);
    if (top === null) return { span, rect: null };
    const rect = liveNode(this.#group, "rect", { y: top, height: LIVE_LANE.height });
    const bar = { span, top, rect, edge: null, endNs: span.start_ns + span.duration_ns };
    if (span.role === "prefill") bar.edge = liveNode(this.#group, "rect", { y: top, height: LIVE_LANE.height, class: "live-edge" });
    if (span.role === "decode") bar.edge = liveNode(this.#group, "rect", { y: top, height: LIVE_LANE.height, class: "live-part" });
    return bar;
  }

  #place(bar, axis, nowNs) {
    if (!bar.rect) return;
    const { span, top, rect, edge } = bar;
    const isShown = nowNs >= span.start_ns;
    rect.style.display = isShown ? "" : "none";
    if (edge) edge.style.display = rect.style.display;
    if (!isShown) return;
    const x = axis.x(span.start_ns);
    const width = axis.x(Math.min(bar.endNs, nowNs)) - x;
    if (bar.drawn === `${x} ${width}`) return;
    bar.drawn = `${x} ${width}`;
    const outlined = span.pattern === "wait" && width >= 6;
    const inset = outlined ? 1.5 : 0; // an outline lies inside the bar's edges
    liveSet(rect, { x: x + inset, y: top + inset, width: Math.max(0, width - 2 * inset), height: LIVE_LANE.height - 2 * inset });
    rect.style.fill = !outlined ? `var(--role-${span.role}, var(--colour-unnamed))` : width < 20 ? "none" : "url(#live-hatch)";
    rect.style.stroke = outlined ? `var(--role-${span.role})` : "none";
    if (edge) liveSet(edge, span.role === "prefill" ? { x, width: Math.min(10, width / 4) } : { x: x - 1, width: 2 });
  }
}

function liveSet(node, attributes) {
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
}

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
    this.#svg = liveNode(host, "svg", { viewBox: "0 0 1920 1080", role: "img", "aria-label": "one request, stage by stage" });
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
    liveSet(badge, { width: isFilled ? width : width - 4, x: isFilled ? 96 : 98, y: isFilled ? 208 : 210, height: isFilled ? 52 : 48 });
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
    nodes.first = liveNode(svg, "rect", { width: 3, y: LIVE_LANE.top, height: this.#twinTop - 8 - LIVE_LANE.top, class: "live-first" });
    nodes.twinFirst = liveNode(svg, "rect", { width: 3, y: this.#twinTop, height: LIVE_LANE.height, class: "live-first" });
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
    liveNode(this.#svg, "rect", { x: LIVE_PLOT.x0, y: top, width: LIVE_PLOT.width, height: LIVE_LANE.height, rx: 4, class: "live-lane" });
    liveNode(this.#svg, "text", { x: LIVE_GUTTER_X, y: liveBaseline(top, LIVE_LANE.height, 44), class: "live-lane-name" }, name);
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
    arrived.forEach((token, index) => {
      const tick = group.children[index] ?? liveNode(group, "rect", { y: top, width: 4, height: LIVE_LANE.height, class: "live-token" });
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
    const first = this.#label(this.#firstTop, this.axis.x(firstNs) + 18, [["first token", liveWords.total(firstNs)]]);
    if (labels.some((label) => label.x + label.width > this.axis.x(firstNs) - 8)) this.#moveBehind(labels, firstNs, first);
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
    return { node, x, width: node.getComputedTextLength(), top, spans };
  }

  /** Without room before the first token, lanes are labelled after it, clear of bars. */
  #moveBehind(labels, firstNs, first) {
    const x = this.axis.x(firstNs) + 18;
    for (const { node, width, top, spans } of labels) {
      const isCovered = spans.some((span) => this.axis.x(liveEnd(span)) > x && this.axis.x(span.start_ns) < x + width);
      node.setAttribute("x", isCovered ? this.axis.x(liveEnd(spans.at(-1))) + 18 : x);
      if (top === this.#firstTop) first.setAttribute("x", x + width + 32);
    }
  }

  #labelModel(ended, isOver) {
    const prefill = ended.filter((span) => span.role === "prefill");
    const decode = ended.filter((span) => span.role === "decode");
    const parts = [];
    if (prefill.length) {
      const words = ["prefill", liveWords.stage(liveSum(prefill))];
      const x = this.axis.x(prefill[0].start_ns);
      const inside = this.#label(this.#laneTop("model"), x, [words], "live-inside");
      const width = this.axis.x(liveEnd(prefill.at(-1))) - x;
      const spare = width - inside.getComputedTextLength();
      if (spare >= 40) inside.setAttribute("x", x + spare / 2);
      else inside.remove();
      if (spare < 40) parts.push(words);
    }
    if (decode.length) parts.push(["decode", `${decode.length} × ${liveWords.perToken(liveSum(decode) / decode.length)}`]);
    if (!isOver || !parts.length) return;
    const last = ended.findLast((span) => span.component === "model");
    this.#label(this.#laneTop("model"), this.axis.x(liveEnd(last)) + 18, parts);
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
      if (probe.getComputedTextLength() <= LIVE_PLOT.width || !lines.at(-1)) lines[lines.length - 1] = probe.textContent;
      else lines.push(word);
    }
    probe.remove();
    return lines;
  }
}

function liveEnd(span) {
  return span.start_ns + span.duration_ns;
}

function liveSum(spans) {
  return spans.reduce((sum, span) => sum + span.duration_ns, 0);
}
