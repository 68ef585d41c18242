// The machine as an SVG picture.

import { svg } from "./dom.js";
import { heat, hue } from "./theme.js";
import { gbs } from "./format.js";
import { kindOf, machine, nameOf, shortName } from "./model.js";

const GPU_RADIUS = machine.devices > 12 ? 15 : 18;
const LONGEST_NAME = 14;
/** Greatest width of all trees on a link in pixels. */
const MOST_STRANDS = 17;
const widest = Math.max(...machine.links.flatMap((link) => [link.gbsAToB, link.gbsBToA]));

/** Width of the line of a directed link in pixels. */
export function strokeWidth(gigabytes) {
  return 1 + (3.4 * gigabytes) / widest;
}

function pointsOf(link) {
  const points = [];
  for (let i = 0; i < link.line.length; i += 2) {
    points.push([link.line[i], link.line[i + 1]]);
  }
  return points;
}

/** Moves a line aside, to its right in its direction. */
function aside(points, distance) {
  return points.map(([x, y], i) => {
    const [x0, y0] = points[Math.max(0, i - 1)];
    const [x1, y1] = points[Math.min(points.length - 1, i + 1)];
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    return [x - ((y1 - y0) / length) * distance, y + ((x1 - x0) / length) * distance];
  });
}

function pathText(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

/** Centre line of a directed link, in its direction. */
export function directedPoints(directed) {
  const points = pointsOf(machine.links[directed >> 1]);
  return directed & 1 ? points.reverse() : points;
}

/** Returns the point at a part of the way along directed links, at a distance to the right of them. */
export function alongPath(links, part, distance) {
  const points = links.flatMap((directed) => aside(directedPoints(directed), distance));
  const lengths = points.slice(1).map(([x, y], i) => Math.hypot(x - points[i][0], y - points[i][1]));
  let left = part * lengths.reduce((sum, length) => sum + length, 0);
  for (let i = 0; i < lengths.length; i++) {
    if (left <= lengths[i] || i === lengths.length - 1) {
      const within = lengths[i] ? Math.min(1, left / lengths[i]) : 0;
      return points[i].map((value, axis) => value + (points[i + 1][axis] - value) * within);
    }
    left -= lengths[i];
  }
  return points[0];
}

function paint(line, used, shown) {
  line.setAttribute("stroke", heat(used));
  line.setAttribute("opacity", shown ? (used > 0 ? 1 : 0.5) : 0);
}

/** Dashes tell slower kinds of links from those between GPUs, where there are both. */
const mixed = machine.links.some((link) => link.kind === "nvlink" || link.kind === "xgmi");

const dashes = { pcie: "7 3", socket: "3 3", cpu: "7 3 2 3" };

/** Dashes of a link's line, or null. */
export function dashesOf(link) {
  return mixed ? (dashes[link.kind] ?? null) : null;
}

/** A picture of the machine. */
export class MachineView {
  /**
   * @param toggle called with a device that is clicked, or null where clicks mean nothing
   * @param point called with the number of a link under the pointer, or null
   */
  constructor(parent, label, toggle, point) {
    this.halos = svg("g");
    this.lines = svg("g");
    this.strands = svg("g");
    this.hits = svg("g");
    this.nodes = svg("g");
    this.moving = svg("g");
    this.directed = [];
    this.joint = [];
    machine.links.forEach((link, index) => this.addLink(link, index, point));
    this.bodies = machine.nodes.map((node, index) => this.addNode(node, index, toggle));
    parent.replaceChildren(
      svg(
        "svg",
        { class: "machine", viewBox: `0 0 ${machine.width} ${machine.height}`, role: "group", "aria-label": label },
        this.halos,
        this.lines,
        this.strands,
        this.hits,
        this.nodes,
        this.moving,
      ),
    );
  }

  addLink(link, index, point) {
    const points = pointsOf(link);
    [link.gbsAToB, link.gbsBToA].forEach((width, direction) => {
      const stroke = width > 0 ? strokeWidth(width) : 0;
      const line = svg("path", {
        class: link.kind,
        d: pathText(aside(points, (direction ? -1 : 1) * (stroke / 2 + 0.4))),
        "stroke-width": stroke,
        "stroke-dasharray": dashesOf(link),
      });
      this.directed[2 * index + direction] = line;
      this.lines.append(line);
    });
    this.joint[index] = svg("path", {
      class: link.kind,
      d: pathText(points),
      "stroke-width": strokeWidth(link.gbsAToB) + strokeWidth(link.gbsBToA),
      "stroke-dasharray": dashesOf(link),
    });
    this.lines.append(this.joint[index]);
    if (point) {
      this.hits.append(
        svg("path", {
          class: "hit",
          d: pathText(points),
          "data-link": index,
          onmouseenter: () => point(index),
          onmouseleave: () => point(null),
        }),
      );
    }
  }

  addNode(node, index, toggle) {
    if (index < machine.devices) {
      const attributes = toggle
        ? {
            class: "gpu",
            role: "checkbox",
            tabindex: 0,
            "data-gpu": index,
            "aria-label": node.name,
            onclick: () => toggle(index),
            onkeydown: (event) => {
              if (event.key === " " || event.key === "Enter") {
                event.preventDefault();
                toggle(index);
              }
            },
          }
        : { class: "gpu" };
      const group = svg(
        "g",
        attributes,
        svg("title", {}, node.name),
        svg("circle", { class: "body", cx: node.x, cy: node.y, r: GPU_RADIUS }),
        svg("text", { x: node.x, y: node.y + 5 }, String(index)),
      );
      this.nodes.append(group);
      return group;
    }
    if (node.kind === "unused") {
      return null;
    }
    const short = shortName(node.name);
    const name = short.length > LONGEST_NAME ? `${short.slice(0, LONGEST_NAME - 1)}…` : short;
    const width = 6.4 * name.length + 14;
    const group = svg(
      "g",
      { class: "hub" },
      svg("title", {}, `${node.name} (${node.kind.replace("cpu socket", "CPU socket or NUMA node")})`),
      svg("rect", { x: node.x - width / 2, y: node.y - 11, width, height: 22, rx: node.kind === "nvswitch" ? 11 : 4 }),
      svg("text", { x: node.x, y: node.y + 4 }, name),
    );
    this.nodes.append(group);
    return group;
  }

  /** Shows which devices take part. */
  setGroup(devices) {
    this.bodies.slice(0, machine.devices).forEach((body, device) => {
      body.classList.toggle("out", !devices.has(device));
      body.classList.remove("root");
      if (body.hasAttribute("role")) {
        body.setAttribute("aria-checked", devices.has(device));
      }
    });
  }

  /** Colours the links by used percents of their bandwidth: each as one line, or as two where its directions differ. */
  setLoads(loads) {
    this.strands.replaceChildren();
    machine.links.forEach((link, index) => {
      const [forth, back] = [loads.get(2 * index) ?? 0, loads.get(2 * index + 1) ?? 0];
      const alike = forth === back && link.gbsAToB === link.gbsBToA;
      paint(this.joint[index], forth, alike);
      paint(this.directed[2 * index], forth, !alike);
      paint(this.directed[2 * index + 1], back, !alike);
    });
  }

  /** Shows all links as idle, for what is drawn above them. */
  fade() {
    this.setLoads(new Map());
  }

  /** Draws trees over the links: side by side where several use the same link. */
  setTrees(trees) {
    this.fade();
    const users = new Map();
    trees.forEach((tree) => {
      for (const edge of tree.edges) {
        for (const directed of edge.links) {
          const list = users.get(directed >> 1) ?? [];
          if (!list.some((user) => user.number === tree.number)) {
            list.push({ number: tree.number, depth: edge.depth });
          }
          users.set(directed >> 1, list);
        }
      }
    });
    for (const [link, list] of users) {
      const apart = Math.min(3.4, MOST_STRANDS / list.length);
      list.forEach((user, place) => {
        const points = aside(pointsOf(machine.links[link]), (place - (list.length - 1) / 2) * apart);
        this.strands.append(
          svg("path", {
            d: pathText(points),
            stroke: hue(user.number),
            "data-tree": user.number,
            "stroke-width": trees.length === 1 ? 2 + 3.5 / user.depth : Math.max(1, Math.min(2.6, apart - 0.6)),
          }),
        );
      });
    }
    if (trees.length === 1) {
      const root = this.bodies[trees[0].root];
      root.classList.add("root");
    }
  }

  /** Puts a mark behind the directed links that limit a rate; it is wider than what covers the links. */
  setLimit(directed, covered) {
    this.halos.replaceChildren(
      ...[...new Set(directed.map((each) => each >> 1))].map((index) => {
        const link = machine.links[index];
        const width = Math.max(2 * strokeWidth(Math.max(link.gbsAToB, link.gbsBToA)), covered ? MOST_STRANDS : 0) + 11;
        return svg("path", { class: "limit", d: pathText(pointsOf(link)), "stroke-width": width, "data-limit": index });
      }),
    );
  }
}

/** A link in words, with how much of it is used. */
export function linkText(index, loads) {
  const link = machine.links[index];
  const way = (directed, width) => {
    const used = loads?.get(directed) ?? 0;
    return `${gbs(width)}${loads ? `, ${used}% used` : ""}`;
  };
  const forth = way(2 * index, link.gbsAToB);
  const back = way(2 * index + 1, link.gbsBToA);
  return `${nameOf(link.a)} - ${nameOf(link.b)}, ${kindOf(link)}: ${
    forth === back ? `${forth} each way` : `${forth} to ${nameOf(link.b)}; ${back} to ${nameOf(link.a)}`
  }`;
}
