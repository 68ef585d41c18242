// The machine, the GPUs that take part, and what an algorithm does to the links.

import { byId, commandText, html, svg } from "./dom.js";
import { count, fraction, gbs, percent, sentence, size } from "./format.js";
import { colour, hue, onTheme } from "./theme.js";
import {
  commandOf,
  depthOf,
  depthsOf,
  kindOf,
  loadsOf,
  machine,
  model,
  nameOf,
  pathsBetween,
  setOf,
  shareOf,
  treeWord,
  whole,
} from "./model.js";
import { dashesOf, linkText, MachineView, strokeWidth } from "./drawing.js";

const LOAD = "load";
const ALL_TREES = "all";

const state = {
  devices: new Set(machine.nodes.slice(0, machine.devices).keys()),
  algorithm: model.chosen,
  relays: false,
  limit: false,
  shown: LOAD,
};

const view = new MachineView(byId("drawing"), "The machine; press a GPU to leave it out or take it in", toggle, point);

/** The chosen devices, ascending. */
export function chosenDevices() {
  return [...state.devices].sort((a, b) => a - b);
}

/** The chosen set as the page holds it: with relays, if these are on and help; undefined where it is not held. */
export function chosenSet() {
  const set = setOf(state.devices);
  return set && state.relays && set.relayed ? set.relayed : set;
}

/** Returns the chosen algorithm's figures for the chosen set, or undefined. */
function chosenWay() {
  return chosenSet()?.ways.find((way) => way.algorithm === state.algorithm);
}

const listeners = [];

/** Calls a function whenever another set is chosen. */
export function onSet(listener) {
  listeners.push(listener);
}

function toggle(device) {
  if (!state.devices.delete(device)) {
    state.devices.add(device);
  }
  update();
}

/** Shows something else. */
function change(values) {
  Object.assign(state, values);
  update();
}

function point(link) {
  const way = chosenWay();
  byId("pointed").textContent = link === null ? "" : linkText(link, way && loadsOf(way));
}

/** The edges of a tree with the links that they use. */
function edgesOf(way, tree, devices) {
  const both = [
    [tree.up, true],
    [tree.down ?? tree.up, false],
  ];
  return both.flatMap(([parents, up]) => {
    const depths = depthsOf(parents);
    return parents.flatMap((parent, rank) =>
      parent < 0
        ? []
        : pathsBetween(way, devices[up ? rank : parent], devices[up ? parent : rank]).map((links) => ({
            links,
            depth: depths[rank],
          })),
    );
  });
}

function showsTrees() {
  return state.shown !== LOAD && Boolean(chosenWay()?.trees);
}

function draw() {
  const set = chosenSet();
  const way = chosenWay();
  view.setGroup(state.devices);
  view.setLimit(set && state.limit ? set.limit : [], showsTrees());
  if (!way) {
    view.fade();
  } else if (!showsTrees()) {
    view.setLoads(loadsOf(way));
  } else {
    const trees = way.trees
      .map((tree, number) => ({
        number,
        root: set.devices[tree.up.indexOf(-1)],
        edges: edgesOf(way, tree, set.devices),
      }))
      .filter((tree) => state.shown === ALL_TREES || state.shown === tree.number);
    view.setTrees(trees);
  }
}

function legend() {
  const kinds = new Map();
  for (const link of machine.links) {
    const text = `${kindOf(link)}, ${gbs(Math.max(link.gbsAToB, link.gbsBToA))}`;
    kinds.set(text, link);
  }
  const samples = [...kinds]
    .slice(0, 7)
    .map(([text, link]) =>
      html(
        "span",
        {},
        svg(
          "svg",
          { width: 34, height: 10 },
          svg("path", {
            d: "M0 5H34",
            stroke: colour("soft"),
            "stroke-width": strokeWidth(Math.max(link.gbsAToB, link.gbsBToA)) * 2,
            "stroke-dasharray": dashesOf(link),
          }),
        ),
        text,
      ),
    );
  byId("legend").replaceChildren(
    showsTrees()
      ? html("span", {}, `colours: ${treeWord(chosenWay().algorithm)}s, as under the numbers beside the picture`)
      : html("span", {}, "used of a link, each way: 0%", html("span", { class: "ramp" }), "100%"),
    ...(state.limit ? [html("span", { id: "limit-mark" }, html("span", { class: "mark" }), "what limits")] : []),
    ...samples,
  );
}

function groupControls(set) {
  const devices = chosenDevices();
  const relayed = setOf(state.devices)?.relayed;
  const others = devices.length < machine.devices;
  return [
    html("h3", {}, "GPUs that take part"),
    html(
      "div",
      { class: "row" },
      html(
        "span",
        { id: "group-text" },
        others ? `${devices.length} of ${machine.devices}: ${devices.join(", ")}` : `all ${machine.devices}`,
      ),
      html(
        "button",
        {
          type: "button",
          id: "all-gpus",
          disabled: !others,
          onclick: () => change({ devices: new Set(machine.nodes.slice(0, machine.devices).keys()) }),
        },
        "All",
      ),
      html(
        "label",
        {},
        html("input", {
          type: "checkbox",
          id: "relays",
          checked: state.relays,
          onchange: (event) => change({ relays: event.target.checked }),
        }),
        " the others forward (relays)",
      ),
    ),
    html(
      "p",
      { class: "note" },
      !others
        ? "Press a GPU in the picture to leave it out."
        : !set
          ? ""
          : relayed
            ? `With relays at most ${gbs(relayed.bound)} instead of ${gbs(setOf(state.devices).bound)}.`
            : "Relays gain nothing for these.",
    ),
  ];
}

function noneExceeds(counted) {
  return counted ? `Over ${counted.replace(/^(NVLink|xGMI)/, "$& alone")}: no schedule exceeds ` : "At the links' rates no schedule exceeds ";
}

function compareCommand(devices) {
  return commandText(commandOf("compare", devices.map((device) => model.devices[device] ?? device)));
}

function boundText(set) {
  if (!set) {
    const devices = chosenDevices();
    return [
      html(
        "p",
        { id: "missing" },
        devices.length < 2
          ? "An all_reduce needs at least two GPUs."
          : `The page holds all sets of up to ${model.sets.largest} GPUs, those without one GPU, and the whole. ` +
              "For this one: ",
        devices.length < 2
          ? ""
          : compareCommand(devices),
      ),
    ];
  }
  const about = set === whole ? "" : "Links of the whole machine: ";
  return [
    ...(model.inSwitch && set.devices.length === machine.devices
      ? [
          html(
            "p",
            { class: "bound" },
            noneExceeds(model.inSwitch.counted),
            html("b", {}, gbs(model.inSwitch.bound)),
            " of algbw.",
          ),
          html("p", { class: "note", id: "why-in-switch" }, `${sentence(model.inSwitch.why)}.`),
        ]
      : []),
    html(
      "p",
      { class: "bound", id: "bound" },
      noneExceeds(set.counted),
      html("b", {}, gbs(set.bound)),
      " of algbw",
      set.exact.includes("/") ? ` (exactly ${set.exact})` : "",
      ".",
    ),
    html("p", { class: "note", id: "why" }, `${sentence(set.why)}.`),
    set.beyond
      ? html(
          "p",
          { class: "note", id: "beyond" },
          `Schedules that use what is not counted here have a higher bound: ${set.beyond.join("; ")}.`,
        )
      : "",
    machine.assumed
      ? html("p", { class: "note", id: "assumed" }, `${about}${sentence(machine.assumed)}.`)
      : "",
    ...machine.remarks.map((remark) => html("p", { class: "note remark" }, `${about}${remark}.`)),
    html(
      "label",
      {},
      html("input", {
        type: "checkbox",
        id: "limit",
        checked: state.limit,
        onchange: (event) => change({ limit: event.target.checked }),
      }),
      " mark what limits",
    ),
  ];
}

function wayRow(set, name, algorithm) {
  const way = set?.ways.find((each) => each.algorithm === algorithm);
  return html(
    "tr",
    { "aria-disabled": way ? null : "true" },
    html(
      "td",
      {},
      html(
        "label",
        {},
        html("input", {
          type: "radio",
          name: "algorithm",
          value: algorithm,
          checked: state.algorithm === algorithm,
          disabled: !way,
          onchange: () => change({ algorithm, shown: state.shown === LOAD ? LOAD : ALL_TREES }),
        }),
        ` ${name}`,
      ),
    ),
    ...(way ? ratioCells(way.rate, set.bound) : [html("td"), html("td"), html("td")]),
  );
}

function ratioCells(rate, bound) {
  return [
    html("td", { class: "number" }, gbs(rate)),
    html("td", {}, html("div", { class: "bar" }, html("i", { style: `width:${(100 * rate) / bound}%` }))),
    html("td", { class: "number" }, percent(rate / bound)),
  ];
}

function inSwitchRow(name, rate) {
  return html("tr", {}, html("td", {}, `${name} in the switch`), ...ratioCells(rate, model.inSwitch.bound));
}

function treeControls(set, way) {
  if (!way) {
    return [];
  }
  const press = (shown, text, more = {}) =>
    html(
      "button",
      {
        type: "button",
        "aria-pressed": state.shown === shown,
        "data-shown": shown,
        onclick: () => change({ shown }),
        ...more,
      },
      text,
    );
  if (!way.trees) {
    return [
      html(
        "p",
        { class: "note", id: "tree-text" },
        "Each GPU sends its data to the others, which all sum up by themselves; there are no trees.",
      ),
    ];
  }
  const word = treeWord(way.algorithm);
  const isRing = word === "chain";
  const title = (number) => `${sentence(word)} ${number + 1}`;
  const tree = way.trees[state.shown];
  const text = tree
    ? `${title(state.shown)}: sums go up to ${nameOf(set.devices[tree.up.indexOf(-1)])}, results come down. ` +
      `Share ${shareOf(tree)}: ${gbs(fraction(tree.share) * way.rate)}, ` +
      `depth ${Math.max(...depthsOf(tree.up), ...depthsOf(tree.down ?? tree.up))}.`
    : (isRing ? `${count(way.trees.length / set.devices.length, "ring")} as ` : "") +
      `${count(way.trees.length, word)}, ${isRing ? "one for each ring and GPU, " : ""}depth ${depthOf(way)}.`;
  return [
    html(
      "div",
      { class: "row", role: "group", "aria-label": "What the picture shows" },
      press(LOAD, "Load"),
      press(ALL_TREES, way.trees.length === 1 ? `The ${word}` : `All ${word}s`),
      ...(way.trees.length === 1
        ? []
        : way.trees.map((_, number) =>
            press(number, String(number + 1), {
              style: `border-bottom:3px solid ${hue(number)}`,
              "aria-label": title(number),
            }),
          )),
    ),
    html("p", { class: "note", id: "tree-text" }, text),
  ];
}

function panel() {
  const set = chosenSet();
  const way = chosenWay();
  const isInSwitch = model.inSwitch?.rate && set === whole;
  const focused = document.activeElement;
  const again =
    focused && byId("panel").contains(focused)
      ? focused.id
        ? `#${focused.id}`
        : focused.dataset.shown !== undefined
          ? `[data-shown="${focused.dataset.shown}"]`
          : `input[value="${focused.value}"]`
      : null;
  byId("panel").replaceChildren(
    ...groupControls(set),
    html("h3", {}, "What limits it"),
    ...boundText(set),
    html("h3", {}, "Algorithms: rate of large calls, and its part of the limit"),
    html(
      "table",
      { class: "ways" },
      html(
        "tbody",
        {},
        ...model.algorithms.map((name, algorithm) => wayRow(set, name, algorithm)),
        ...(isInSwitch ? [inSwitchRow("packing", model.inSwitch.rate), inSwitchRow("star", model.inSwitch.star)] : []),
      ),
    ),
    ...(isInSwitch
      ? [
          html(
            "p",
            { class: "note", id: "in-switch" },
            "The last rows are with sums in the switch, which the picture and its loads leave out; their percentages are of " +
              "the bound with such sums. The times of packing and star below are those in the switch, " +
              `for calls of more than ${size(model.inSwitch.above)}. No GPU has run these kernels yet.`,
          ),
        ]
      : []),
    ...(set && set !== whole && whole.beyond
      ? [
          html(
            "p",
            { class: "note", id: "subset" },
            "The page has bounds over all links" +
              (model.inSwitch?.rate ? " and packing in the switch" : "") +
              " only for all GPUs. For the chosen ones: ",
            compareCommand(set.devices),
          ),
        ]
      : []),
    html("h3", {}, "Picture"),
    ...treeControls(set, way),
  );
  if (again) {
    byId("panel").querySelector(again)?.focus();
  }
}

function update() {
  const set = chosenSet();
  if (set && !chosenWay()) {
    state.algorithm = set.ways[0].algorithm;
  }
  const trees = chosenWay()?.trees?.length ?? 0;
  if (typeof state.shown === "number" && state.shown >= trees) {
    state.shown = ALL_TREES;
  }
  panel();
  legend();
  draw();
  listeners.forEach((listener) => listener());
}

/** Shows the machine. */
export function startExplorer() {
  onTheme(() => {
    legend();
    draw();
  });
  update();
}
