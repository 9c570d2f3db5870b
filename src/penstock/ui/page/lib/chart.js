// One curve over the last minutes, as SVG; the words of it are its accessible name.
import { h, s } from "./dom.js";
import { clock, rate } from "./format.js";

const HEIGHT = 168;
const LEFT = 44;
const BOTTOM = 20;
const TOP = 8;
const SPANS_MS = [1, 2, 5].map((minutes) => minutes * 60_000);

/**
 * A chart in a panel's body: `{node, update(points)}`, points being `{at, value}`, the oldest first; `whole` for what
 * is counted in whole numbers.
 */
export function chart(title, unit, { colour = 1, format = rate, whole = false } = {}) {
  const plot = s("svg", { class: "plot", role: "img", "aria-label": title, preserveAspectRatio: "none" });
  const tip = h("div", { class: "tip", hidden: true });
  const node = h("div", { class: "chart" }, plot, tip);
  let points = [];
  let scale = null;
  const draw = () => {
    const width = plot.clientWidth || 600;
    scale = scaleOf(points, width, whole);
    plot.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    plot.setAttribute("aria-label", words(title, unit, points, format));
    plot.replaceChildren(...axes(scale, width, format), ...curve(points, scale, colour));
  };
  const hover = (event) => {
    const near = points.length && scale ? nearest(points, scale, event.offsetX) : null;
    tip.hidden = !near;
    plot.querySelector(".cursor")?.remove();
    if (!near) return;
    const x = scale.x(near.at);
    tip.textContent = `${clock(near.at)}  ${format(near.value)} ${unit}`;
    tip.style.left = `${Math.min(x + 24, Math.max(0, plot.clientWidth - 150))}px`;
    plot.append(s("line", { class: "cursor", x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }));
  };
  plot.addEventListener("mousemove", hover);
  plot.addEventListener("mouseleave", () => {
    tip.hidden = true;
    plot.querySelector(".cursor")?.remove();
  });
  new ResizeObserver(draw).observe(plot);
  return {
    node,
    update(found) {
      points = found.filter((point) => point.at >= found.at(-1).at - SPANS_MS.at(-1));
      draw();
    },
  };
}

/** `points` are those of the longest span. */
function scaleOf(points, width, whole) {
  const end = points.at(-1)?.at ?? Date.now();
  const span = SPANS_MS.find((one) => end - (points[0]?.at ?? end) <= one) ?? SPANS_MS.at(-1);
  const top = niceTop(Math.max(1, ...points.map((point) => point.value)), whole);
  return {
    end,
    span,
    top,
    x: (at) => LEFT + ((at - (end - span)) / span) * (width - LEFT),
    y: (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP),
  };
}

/** The end of an axis that has a label at its middle, too: with `whole`, that is a whole number. */
function niceTop(value, whole) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 3, 4, 5, 6, 8, 10, 20].map((step) => step * power).find((step) => step >= value && !(whole && step % 2));
}

function axes(scale, width, format) {
  const lines = [0, 0.5, 1].map((share) => {
    const y = scale.y(scale.top * share);
    return [
      s("line", { class: "grid", x1: LEFT, x2: width, y1: y, y2: y }),
      s("text", { class: "axis", x: LEFT - 8, y: y + 4, "text-anchor": "end" }, format(scale.top * share)),
    ];
  });
  const times = [1, 0.75, 0.5, 0.25, 0].map((share) => {
    const anchor = share === 0 ? "end" : share === 1 ? "start" : "middle";
    return s("text", { class: "axis", x: scale.x(scale.end - share * scale.span), y: HEIGHT - 4, "text-anchor": anchor }, before(share * scale.span));
  });
  return [...lines.flat(), ...times];
}

function before(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  if (!seconds) return "now";
  return seconds < 90 ? `−${seconds} s` : `−${Number((seconds / 60).toFixed(2))} min`;
}

function curve(points, scale, colour) {
  if (points.length < 2) return [];
  const steps = points.map((point) => `${scale.x(point.at).toFixed(1)} ${scale.y(point.value).toFixed(1)}`);
  const base = scale.y(0);
  const line = `M${steps.join("L")}`;
  return [
    s("path", { class: ["under", `fill-${colour}`], d: `${line}V${base}H${scale.x(points[0].at).toFixed(1)}Z` }),
    s("path", { class: ["curve", `stroke-${colour}`], d: line }),
  ];
}

function nearest(points, scale, x) {
  return points.reduce((best, point) => (Math.abs(scale.x(point.at) - x) < Math.abs(scale.x(best.at) - x) ? point : best));
}

function words(title, unit, points, format) {
  if (!points.length) return `${title}: nothing was measured yet`;
  const values = points.map((point) => point.value);
  return `${title}: ${format(values.at(-1))} ${unit} now, between ${format(Math.min(...values))} and ${format(Math.max(...values))} in the last minutes`;
}

