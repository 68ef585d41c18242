// The model of the page, and what is looked up in it.

import { digits, fraction, size } from "./format.js";

export const model = JSON.parse(document.getElementById("model").textContent);
export const machine = model.machine;

const directedLinks = new Map();
machine.links.forEach((link, index) => {
  directedLinks.set(`${link.a}>${link.b}`, 2 * index);
  directedLinks.set(`${link.b}>${link.a}`, 2 * index + 1);
});

function pathTable(paths) {
  const table = new Map();
  for (const [from, to, ...links] of paths) {
    const key = `${from}>${to}`;
    table.set(key, [...(table.get(key) ?? []), links]);
  }
  return table;
}

const usualPaths = pathTable(machine.paths);
const sets = new Map(model.sets.sets.map((set) => [set.devices.join(), set]));

/** The command that does something with devices of the machine, by their numbers in the whole one; with all if none. */
export function commandOf(words, devices) {
  return [`banyan ${words}`, model.options, devices.length ? `--devices ${devices.join()}` : ""].filter(Boolean).join(" ");
}

/** The set of some devices, or undefined where the page does not hold it. */
export function setOf(devices) {
  return sets.get([...devices].sort((a, b) => a - b).join());
}

/** Node at which a directed link begins. */
export function startOf(directed) {
  const link = machine.links[directed >> 1];
  return directed & 1 ? link.b : link.a;
}

/** Node at which a directed link ends. */
export function endOf(directed) {
  return startOf(directed ^ 1);
}

/** GB/s of a directed link. */
export function widthOf(directed) {
  const link = machine.links[directed >> 1];
  return directed & 1 ? link.gbsBToA : link.gbsAToB;
}

export function nameOf(node) {
  return machine.nodes[node].name;
}

/** The name of a hub where there is little room: of a switch with an address the address alone. */
export function shortName(name) {
  return name
    .replace(/^(PCIe switch|NVSwitch) (?:[0-9a-f]{4,8}:)?([0-9a-f]{2}:[0-9a-f]{2}\.\d)$/, "$2")
    .replace(/^PCIe /, "");
}

/** Returns the kind of a link, in words. */
export function kindOf(link) {
  const kinds = {
    nvlink: "NVLink",
    xgmi: "xGMI",
    pcie: "PCIe",
    socket: "between sockets",
    cpu: "inside a CPU",
    other: "link",
  };
  return `${kinds[link.kind]}${link.lanes > 1 && link.kind !== "cpu" ? ` x${link.lanes}` : ""}`;
}

/** Used percent of each directed link, by its number. */
export function loadsOf(way) {
  const loads = new Map();
  for (let i = 0; i < way.load.length; i += 3) {
    loads.set(2 * way.load[i], way.load[i + 1]);
    loads.set(2 * way.load[i] + 1, way.load[i + 2]);
  }
  return loads;
}

/** The paths from one device to another: an array of directed links for each. */
export function pathsBetween(way, from, to) {
  way.table ??= pathTable(way.paths);
  const key = `${from}>${to}`;
  const direct = directedLinks.get(key);
  return way.table.get(key) ?? (direct === undefined ? (usualPaths.get(key) ?? []) : [[direct]]);
}

/** Depth of each rank below the root. */
export function depthsOf(parents) {
  return parents.map((_, rank) => {
    let depth = 0;
    for (let at = rank; parents[at] >= 0; at = parents[at]) {
      depth++;
    }
    return depth;
  });
}

/** Greatest depth of a way's trees. */
export function depthOf(way) {
  return Math.max(...way.trees.map((tree) => Math.max(...depthsOf(tree.up), ...depthsOf(tree.down ?? tree.up))));
}

/** The word for the trees of an algorithm of the page: rings are shown as chains. */
export function treeWord(algorithm) {
  return model.algorithms[algorithm].split("/")[0] === "ring" ? "chain" : "tree";
}

/** Returns false for an algorithm of the page in which all send to all without trees. */
export function hasTrees(algorithm) {
  return model.algorithms[algorithm] !== "one-shot";
}

/** Name of a tree of an algorithm that has trees. */
export function treeName(algorithm, tree) {
  return `${treeWord(algorithm)} ${tree + 1}`;
}

/** Share of a tree in words: a fraction where that is short, else percents. */
export function shareOf(tree) {
  return tree.share.length <= 7 ? tree.share : `${digits(100 * fraction(tree.share), 3)}%`;
}

/** Name of an algorithm beside its times, which may be those of sums in the switch: of one size, or of all. */
export function timedName(algorithm, bytes) {
  if (!model.inSwitch?.rate || !["packing", "star"].includes(algorithm) || bytes <= model.inSwitch.above) {
    return algorithm;
  }
  return `${algorithm} (in the switch${bytes === undefined ? ` above ${size(model.inSwitch.above)}` : ""})`;
}

/** busbw over algbw of an all_reduce between all devices. */
export const BUS_FACTOR = (2 * (machine.devices - 1)) / machine.devices;

/** The set of all devices. */
export const whole = model.sets.sets[0];

/** The bound in GB/s beside which times of the whole set stand: with sums in switches where these can add. */
export const boundOfTimes = model.inSwitch?.bound ?? whole.bound;
