// The exchange of a model's gradients.

import { byId, commandText, html, options } from "./dom.js";
import { count, digits, size } from "./format.js";
import { onTheme } from "./theme.js";
import { boundOfTimes, commandOf, model, timedName } from "./model.js";
import { chartOptions, curveColour, curves } from "./curves.js";

const ELEMENT_BYTES = 4;
let plot;

function bytesOf(step) {
  return ELEMENT_BYTES * step.elements.reduce((sum, elements) => sum + elements, 0);
}

/** Returns the least time of the links for a step, in ms. */
function boundMs(step) {
  return bytesOf(step) / boundOfTimes / 1e6;
}

function beam(ms, longest, curve, text, opacity) {
  const part = (72 * ms) / longest;
  return html(
    "div",
    { class: "beam", title: `${curve.name}, ${text}: ${digits(ms)} ms` },
    html("i", { style: `width:${part}%;background:${curveColour(curve)};opacity:${opacity}` }),
    html("span", { style: `left:calc(${part}% + 6px)` }, `${digits(ms)} ms ${text}`),
  );
}

function bars(step) {
  const longest = Math.max(...step.ways.map((way) => Math.max(way.togetherMs ?? 0, way.oneByOneMs)));
  byId("step-bars").replaceChildren(
    html(
      "div",
      { class: "exchange" },
      ...step.ways.flatMap((way) => {
        const of = curves[way.curve];
        return [
          html("span", {}, timedName(of.name, Infinity)),
          html(
            "div",
            { class: "pair" },
            ...(way.togetherMs === undefined ? [] : [beam(way.togetherMs, longest, of, "all in flight", 1)]),
            beam(way.oneByOneMs, longest, of, "one in flight", 0.5),
          ),
        ];
      }),
      html("span", {}, "bound"),
      html(
        "div",
        { class: "pair" },
        html(
          "div",
          { class: "beam" },
          html("i", { style: `width:${(72 * boundMs(step)) / longest}%;background:currentColor` }),
          html(
            "span",
            { style: `left:calc(${(72 * boundMs(step)) / longest}% + 6px)` },
            `${digits(boundMs(step))} ms that the links need`,
          ),
        ),
      ),
    ),
  );
}

function curve(step) {
  const place = byId("step-chart");
  const ways = step.ways.filter((way) => way.doneMs !== undefined);
  const done = ways.map((way) =>
    way.doneMs.map((ms, key) => [ms, step.elements[key]]).sort((a, b) => a[0] - b[0]),
  );
  const times = [...new Set([0, ...done.flatMap((keys) => keys.map(([ms]) => ms))])].sort((a, b) => a - b);
  const data = [
    times,
    ...done.map((keys) => {
      let next = 0;
      let mebibytes = 0;
      return times.map((ms) => {
        while (next < keys.length && keys[next][0] <= ms) {
          mebibytes += (keys[next++][1] * ELEMENT_BYTES) / 2 ** 20;
        }
        return next === keys.length && keys.at(-1)[0] < ms ? null : mebibytes;
      });
    }),
  ];
  plot?.destroy();
  place.replaceChildren();
  plot = new uPlot(
    chartOptions(
      place,
      300,
      { label: "time since the first gradient", format: (ms) => `${digits(ms)} ms`, space: 60 },
      { label: "gradients exchanged", format: (mebibytes) => `${digits(mebibytes)} MiB` },
      ways.map((way) => ({
        stroke: curveColour(curves[way.curve]),
        width: 2,
        points: { show: false },
        paths: uPlot.paths.stepped({ align: 1 }),
      })),
      { scales: { x: { time: false } } },
    ),
    data,
    place,
  );
}

function show() {
  const step = model.steps[Number(byId("step-model").value)];
  const ours = step.ways.filter((way) => way.togetherMs !== undefined);
  const kinds = new Set(ours.flatMap((way) => curves[way.curve].points.map((point) => point.most !== undefined)));
  byId("step-note").replaceChildren(
    `${size(bytesOf(step))} of F32 in ${count(step.elements.length, "bucket")} as PyTorch's DistributedDataParallel ` +
      "makes them (25 MiB or more, the first 1 MiB or more); in place, predicted without computing in between and without a range, so that no winner is certain. PyTorch itself cannot call Banyan. " +
      (model.exchanging.length
        ? `The gradients lie in buffers of the trainer, which ${model.exchanging.join(", ")} copy through a staging buffer; the curves above are of buffers of Communicator.allocateAll, which need no copies. `
        : "") +
      "auto chooses for each call alone" +
      (model.exchanging.length ? ", by the times of the curves above, so that another algorithm may be faster here." : ".") +
      (kinds.has(true) ? " Kernels of calls in flight run one after another." : "") +
      (kinds.has(false) ? " Graphs of calls in flight share the links." : "") +
      (ours.length < step.ways.length ? " NCCL's model knows no calls in flight." : "") +
      " Other models: ",
    commandText(commandOf("predict -a auto,nccl --workload gpt-2-xl --bucket 25M", model.devices)),
  );
  bars(step);
  curve(step);
}

/** Rows for the table of numbers. */
export function stepRows() {
  return model.steps.flatMap((step) =>
    step.ways.map((way) => [
      step.workload,
      step.elements.length,
      bytesOf(step),
      timedName(curves[way.curve].name, Infinity),
      digits(way.togetherMs, 6),
      digits(way.oneByOneMs, 6),
      digits(boundMs(step), 6),
    ]),
  );
}

/** Shows the training steps. */
export function startSteps() {
  options(
    byId("step-model"),
    model.steps.map((step) => step.workload),
    Math.max(
      0,
      model.steps.findIndex((step) => step.workload === "resnet-50"),
    ),
  );
  byId("step-model").addEventListener("change", show);
  show();
  onTheme(show);
  addEventListener("resize", show);
}
