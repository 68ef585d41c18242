// Curves over the size of a call, drawn by uPlot.

import { byId, html } from "./dom.js";
import { choiceText, digits, gbs, micros, size } from "./format.js";
import { colour, hue, onTheme } from "./theme.js";
import { BUS_FACTOR, boundOfTimes, model, timedName } from "./model.js";

const BOUND = "bound";
const BOUND_NAME = `bound${model.inSwitch ? " with sums in switches" : " of the links"}`;
const AUTO = "auto";
const SHOWN_SIZE = 64 * 2 ** 20;

const isNccl = (curve) => !curve.measured && curve.name.startsWith("nccl");

/** The curves of the model in its order, and that of the bound. */
export const curves = [
  ...model.curves.map((curve, number) => ({ ...curve, number })),
  { name: BOUND, measured: false, number: -1, points: [] },
].map((curve) => ({ ...curve, visible: true, byBytes: new Map(curve.points.map((point) => [point.bytes, point])) }));
const bytes = [...new Set(curves.flatMap((curve) => curve.points.map((point) => point.bytes)))].sort((a, b) => a - b);
curves.at(-1).byBytes = new Map(bytes.map((each) => [each, { us: each / boundOfTimes / 1e3 }]));

const ranged = curves.filter((curve) => curve.points.some((point) => point.least !== undefined));

/** True if some time has a range. */
const RANGED = ranged.length > 0;

/** True if some time by Banyan has a range. */
const BANYAN_RANGED = ranged.some((curve) => !isNccl(curve));

let focus = Math.max(0, curves.findIndex((curve) => curve.name === AUTO));
let at = Math.max(0, bytes.indexOf(SHOWN_SIZE));
let plots = [];

const toUs = (us) => us;
const toBusbw = (us, each) => (each / us / 1e3) * BUS_FACTOR;

/** Colour of a curve; predictions of an algorithm have the same everywhere. */
export function curveColour(curve) {
  return curve.name === BOUND || curve.name === AUTO
    ? colour("ink")
    : isNccl(curve)
      ? colour("soft")
      : hue(curve.number);
}

function dashes(curve) {
  return curve.name === BOUND ? [3, 4] : curve.name === AUTO ? [9, 4] : isNccl(curve) ? [6, 2] : undefined;
}

/** Style of a curve's swatch, with its dashes. */
function swatch(curve) {
  const dash = dashes(curve);
  const stroke = curveColour(curve);
  return dash
    ? `width:26px;background:repeating-linear-gradient(90deg,${stroke} 0 ${dash[0]}px,transparent ${dash[0]}px ` +
        `${dash[0] + dash[1]}px)`
    : `background:${stroke}`;
}

/** An edge of a curve's range at all sizes: between its own sizes on a straight line of logarithms. */
function edge(curve, figure, convert) {
  const known = curve.points.filter((point) => point[figure] !== undefined && point[figure] !== null);
  return bytes.map((each) => {
    const after = known.findIndex((point) => point.bytes >= each);
    if (after < 0 || (after === 0 && known[0].bytes > each)) {
      return null;
    }
    const high = known[after];
    const low = known[Math.max(0, after - 1)];
    const part = high.bytes === low.bytes ? 0 : Math.log(each / low.bytes) / Math.log(high.bytes / low.bytes);
    return convert(low[figure] * (high[figure] / low[figure]) ** part, each);
  });
}

function values(curve, figure, convert) {
  return bytes.map((each) => {
    const value = curve.byBytes.get(each)?.[figure];
    return value === undefined || value === null ? null : convert(value, each);
  });
}

function axis({ label, format, space, splits }) {
  return {
    label,
    stroke: colour("soft"),
    grid: { stroke: colour("line"), width: 1 },
    ticks: { stroke: colour("line") },
    labelFont: "12px system-ui",
    font: "12px system-ui",
    labelSize: 20,
    size: 80,
    space: space ?? 34,
    values: (_, values) => values.map((value) => (value === null ? "" : format(value))),
    ...(splits ? { splits, filter: (_, values) => values } : {}),
  };
}

/** Options of a chart whose width is that of its place; axes have a label, a format, and may have splits. */
export function chartOptions(place, height, x, y, series, more = {}) {
  return {
    width: Math.max(280, place.clientWidth),
    height,
    series: [{}, ...series],
    axes: [{ ...axis(x), size: 36 }, axis(y)],
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    ...more,
  };
}

/** Sizes that a label fits under. */
function sizeSplits() {
  const apart = Math.ceil(bytes.length / 8);
  return bytes.filter((each, index) => index % apart === 0 && Math.log2(each) % 1 === 0);
}

function powersOfTen(plot, _, low, high) {
  const powers = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    powers.push(10 ** power);
  }
  return powers.filter((value) => value >= low && value <= high);
}

/** Range of the times but for the bound, which has none at small sizes. */
function timeRange() {
  const times = curves
    .filter((each) => each.visible && each.name !== BOUND)
    .flatMap((curve) => curve.points.flatMap((each) => [each.us, each.least ?? each.us, each.most ?? each.us]));
  return times.length ? [Math.min(...times) / 1.6, Math.max(...times) * 1.6] : [1, 1e6];
}

function draw(place, convert, y, range, distribution) {
  const series = [];
  const data = [bytes];
  const bands = [];
  for (const curve of curves.filter((each) => each.visible)) {
    const stroke = curveColour(curve);
    if (curves[focus] === curve && curve.points.some((point) => point.least !== undefined)) {
      for (const figure of ["most", "least"]) {
        series.push({ stroke: "transparent", points: { show: false } });
        data.push(edge(curve, figure, convert));
      }
      const [low, high] = [series.length - 1, series.length];
      bands.push({ series: convert === toUs ? [low, high] : [high, low], fill: `${stroke}33` });
    }
    series.push({
      stroke,
      width: curves[focus] === curve ? 3 : 1.5,
      dash: dashes(curve),
      spanGaps: true,
      points: { show: curve.measured, size: 7, fill: stroke },
    });
    data.push(values(curve, "us", convert));
  }
  const options = chartOptions(place, 300, { label: "size of the call", format: size, splits: sizeSplits }, y, series, {
    bands,
    scales: { x: { time: false, distr: 3, log: 2 }, y: { distr: distribution, range } },
    cursor: { drag: { x: false, y: false }, sync: { key: "size" } },
    hooks: {
      setCursor: [
        (plot) => {
          if (plot.cursor.idx !== null && plot.cursor.left >= 0 && plot.cursor.idx !== at) {
            setSize(plot.cursor.idx);
          }
        },
      ],
    },
  });
  place.replaceChildren();
  return new uPlot(options, data, place);
}

function drawAll() {
  plots.forEach((plot) => plot.destroy());
  plots = [
    draw(byId("time-chart"), toUs, { label: "time of a call", format: micros, splits: powersOfTen }, timeRange, 3),
    draw(byId("busbw-chart"), toBusbw, { label: "bus bandwidth", format: gbs }, (_, low, high) => [0, high * 1.06], 1),
  ];
}

function setSize(index) {
  at = index;
  byId("curve-size").value = index;
  byId("curve-size-text").textContent = size(bytes[index]);
  legend();
}

function cells(curve) {
  const point = curve.byBytes.get(bytes[at]);
  if (!point) {
    return RANGED ? ["", "", "", ""] : ["", "", ""];
  }
  const range = point.least === undefined ? "" : `${micros(point.least)} to ${micros(point.most)}`;
  return [
    micros(point.us),
    ...(RANGED ? [range] : []),
    gbs(toBusbw(point.us, bytes[at])),
    choiceText(point.choice ?? ""),
  ];
}

function legend() {
  const rows = curves.map((curve, index) => {
    const name =
      curve.name === BOUND
        ? BOUND_NAME
        : curve.name === AUTO
          ? "auto (Banyan's choice by size)"
          : timedName(curve.name);
    return html(
      "tr",
      { "data-curve": curve.name },
      html(
        "td",
        {},
        html(
          "label",
          {},
          html("input", {
            type: "checkbox",
            checked: curve.visible,
            "aria-label": `Show ${name}`,
            onchange: (event) => {
              curve.visible = event.target.checked;
              drawAll();
            },
          }),
          html("span", { class: "swatch", style: swatch(curve) }),
          name,
          curve.measured ? " (measured)" : "",
        ),
      ),
      ...cells(curve).map((text) => html("td", {}, text)),
      html(
        "td",
        {},
        curve.name === BOUND
          ? ""
          : html(
              "button",
              {
                type: "button",
                "aria-pressed": focus === index,
                onclick: () => {
                  focus = index;
                  drawAll();
                  legend();
                },
              },
              "Highlight",
            ),
      ),
    );
  });
  const focused = document.activeElement?.closest?.("#curve-legend tr")?.dataset.curve;
  const kind = document.activeElement?.tagName;
  byId("curve-legend").replaceChildren(
    html(
      "thead",
      {},
      html(
        "tr",
        {},
        ...[
          "curve",
          `time of ${size(bytes[at])} in place`,
          ...(RANGED ? ["range"] : []),
          "busbw",
          `algorithm at ${size(bytes[at])}`,
          "",
        ].map((text) => html("th", {}, text)),
      ),
    ),
    html("tbody", {}, ...rows),
  );
  if (focused) {
    [...byId("curve-legend").querySelectorAll("tr[data-curve]")]
      .find((row) => row.dataset.curve === focused)
      ?.querySelector(kind === "BUTTON" ? "button" : "input")
      ?.focus();
  }
}

/** All times for the table of numbers. */
export function timeRows() {
  return curves.flatMap((curve) =>
    [...curve.byBytes].map(([each, point]) => [
      timedName(curve.name, each),
      curve.name === BOUND ? "bound" : curve.measured ? "measured" : "predicted",
      each,
      digits(point.us, 6),
      digits(point.least, 6),
      digits(point.most, 6),
      digits(toBusbw(point.us, each), 6),
      point.choice ?? "",
    ]),
  );
}

/** Shows the curves. */
export function startCurves() {
  byId("curves-note").textContent =
    `all_reduce between all ${model.machine.devices} GPUs, in place, predicted by the simulator: ` +
    `${model.predictedBy}.` +
    (BANYAN_RANGED ? " The highlighted curve shows its range as a band." : "");
  const ranges = [
    ...(BANYAN_RANGED ? ["Ranges of Banyan's curves come from those constants that have a range (predict -v prints all)."] : []),
    ...(ranged.some((curve) => isNccl(curve))
      ? ["The range of nccl comes from the worst error of its model in this class of machines."]
      : []),
  ];
  byId("range-note").textContent = ranges.join(" ");
  byId("curve-size").max = bytes.length - 1;
  byId("curve-size").addEventListener("input", (event) => setSize(Number(event.target.value)));
  setSize(at);
  drawAll();
  onTheme(() => {
    drawAll();
    legend();
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) {
      width = innerWidth;
      drawAll();
    }
  });
}
