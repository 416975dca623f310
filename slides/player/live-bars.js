// Live panels: bars, in the film's own grammar. Lengths are px of the 1920 × 1080 page.
"use strict";

const LIVE_LANE = { top: 276, height: 56, pitch: 64 };

/** What parts a bar from the one before it: prefill's heavy edge, decode's separator in the lane's colour. */
const LIVE_EDGES = { prefill: "live-edge", decode: "live-part" };
const LIVE_HATCH = { narrow: "none", wide: "url(#live-hatch)" };

/** A node of an SVG picture; text is only ever set as text. */
function liveNode(parent, name, attributes = {}, text = null) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== null) node.textContent = text;
  parent.append(node);
  return node;
}

function liveSet(node, attributes) {
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
}

function liveEnd(span) {
  return span.start_ns + span.duration_ns;
}

function liveSum(spans) {
  return spans.reduce((sum, span) => sum + span.duration_ns, 0);
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
    const edge = LIVE_EDGES[span.role];
    if (edge) bar.edge = liveNode(this.#group, "rect", { y: top, height: LIVE_LANE.height, class: edge });
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
    const height = LIVE_LANE.height - 2 * inset;
    liveSet(rect, { x: x + inset, y: top + inset, width: Math.max(0, width - 2 * inset), height });
    const colour = `var(--role-${span.role}, var(--colour-unnamed))`;
    rect.style.stroke = outlined ? colour : "none";
    rect.style.fill = outlined ? LIVE_HATCH[width < 20 ? "narrow" : "wide"] : colour;
    if (edge) liveSet(edge, span.role === "prefill" ? { x, width: Math.min(10, width / 4) } : { x: x - 1, width: 2 });
  }
}
