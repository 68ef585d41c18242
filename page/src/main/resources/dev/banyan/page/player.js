// A simulated call: chunks move over the links, and each link's time is a row of a chart.

import { byId, html, options, svg } from "./dom.js";
import { count, digits, micros, size } from "./format.js";
import { colour, faint, hue, onTheme } from "./theme.js";
import { endOf, hasTrees, machine, model, nameOf, shortName, startOf, timedName, treeName, treeWord } from "./model.js";
import { alongPath, MachineView } from "./drawing.js";

const TICKS_PER_US = 100;
/** The duration of a call on the screen at speed 1, in seconds. */
const SHOWN_SECONDS = 12;
const SPEEDS = [0.25, 0.5, 1, 2, 4];
const MOST_LABELLED = 40;

const view = new MachineView(byId("play-drawing"), "The machine with the chunks on its links", null, null);

let call;
let now = 0;
let playing = false;
let lastFrame = 0;

function decode(playback) {
  let tick = 0;
  const transfers = playback.route.map((route, i) => {
    tick += playback.start[i];
    const start = tick / TICKS_PER_US;
    const end = start + playback.length[i] / TICKS_PER_US;
    const [from, to, ...links] = playback.routes[route];
    return {
      from,
      to,
      links,
      start,
      end,
      arrival: end + playback.delay[i] / TICKS_PER_US,
      tree: playback.tree[i],
      sum: playback.sum[i] === 1,
    };
  });
  const lanes = new Map();
  for (const transfer of transfers) {
    for (const directed of transfer.links) {
      if (!lanes.has(directed)) {
        lanes.set(directed, []);
      }
      lanes.get(directed).push(transfer);
    }
  }
  const order = [...lanes.keys()].sort((a, b) => startOf(a) - startOf(b) || endOf(a) - endOf(b));
  const into = Array.from(
    { length: machine.devices },
    (_, device) => transfers.filter((each) => each.to === device).length,
  );
  // Times of transfers are rounded to ticks, that of the call is not.
  const us = Math.max(playback.us, ...transfers.map((transfer) => transfer.arrival));
  return { ...playback, us, transfers, lanes, order, into };
}

/** The transfers of the played call, for the table of numbers. */
export function playedCall() {
  return call;
}

function arc(node, radius, part) {
  const full = 2 * Math.PI * radius;
  return svg("circle", {
    cx: node.x,
    cy: node.y,
    r: radius,
    fill: "none",
    stroke: colour("accent"),
    "stroke-width": 4,
    "stroke-dasharray": `${(full * part).toFixed(1)} ${full.toFixed(1)}`,
    transform: `rotate(-90 ${node.x} ${node.y})`,
  });
}

/** The trees of some transfers, ascending. */
function treesOf(transfers) {
  return [...new Set(transfers.map((each) => each.tree))].sort((a, b) => a - b);
}

/** A transfer as a dot, beside those of other trees that share one of its links. */
function dot(transfer, _, flying) {
  const sharing = flying.filter((each) => each.links.some((link) => transfer.links.includes(link)));
  const trees = treesOf(sharing);
  const [x, y] = alongPath(
    transfer.links,
    Math.min(1, (now - transfer.start) / (transfer.arrival - transfer.start || 1)),
    3 + Math.min(2.5, 18 / trees.length) * trees.indexOf(transfer.tree),
  );
  return svg("circle", {
    class: "chunk",
    cx: x.toFixed(1),
    cy: y.toFixed(1),
    r: transfer.sum ? 5.5 : 4.5,
    fill: transfer.sum ? hue(transfer.tree) : colour("paper"),
    stroke: hue(transfer.tree),
    "stroke-width": transfer.sum ? 1 : 3,
  });
}

function drawMachine() {
  const flying = call.transfers.filter((each) => each.start <= now && now < each.arrival);
  const arrived = new Array(machine.devices).fill(0);
  call.transfers.filter((each) => each.arrival <= now).forEach((each) => arrived[each.to]++);
  const rings = machine.nodes
    .slice(0, machine.devices)
    .map((node, device) => arc(node, 23, call.into[device] ? arrived[device] / call.into[device] : 0));
  view.moving.replaceChildren(...rings, ...flying.map(dot));
  const busy = new Set(flying.filter((each) => now < each.end).flatMap((each) => each.links)).size;
  byId("play-text").textContent =
    `${micros(now)} of ${micros(call.us)}, ${count(flying.length, "chunk")} on ${count(busy, "link")}`;
  byId("play-time").value = Math.round((1000 * now) / call.us);
  byId("play-time").setAttribute("aria-valuetext", micros(now));
}

const lanes = byId("lanes");
const LEFT = 118;
const AXIS = 34;

function laneHeight() {
  return Math.min(28, Math.max(4, 460 / call.order.length));
}

function niceStep(span) {
  const raw = span / 5;
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw);
}

/** Spans of time with the transfers that share a link in them: one for each tree and each of reduce and broadcast. */
function shared(transfers) {
  const times = [...new Set(transfers.flatMap((each) => [each.start, each.end]))].sort((a, b) => a - b);
  return times
    .slice(1)
    .map((end, i) => ({
      start: times[i],
      end,
      sharing: transfers
        .filter((each) => each.start <= times[i] && each.end >= end)
        .filter((each, place, all) => place === all.findIndex((one) => one.tree === each.tree && one.sum === each.sum))
        .sort((a, b) => a.tree - b.tree || b.sum - a.sum),
    }))
    .filter((span) => span.sharing.length > 0);
}

/** The rows are drawn once for each call; the line of the present time goes over them. */
let rows;

function drawRows() {
  const scale = devicePixelRatio || 1;
  const width = lanes.parentElement.clientWidth;
  const height = call.order.length * laneHeight() + AXIS;
  rows = new OffscreenCanvas(width * scale, height * scale);
  const paint = rows.getContext("2d");
  paint.scale(scale, scale);
  paint.font = "11px system-ui";
  paint.textBaseline = "middle";
  const x = (us) => LEFT + ((width - LEFT - 8) * us) / call.us;
  call.order.forEach((directed, row) => {
    const top = row * laneHeight();
    paint.fillStyle = row % 2 ? colour("panel") : colour("paper");
    paint.fillRect(LEFT, top, width - LEFT, laneHeight());
    if (call.order.length <= MOST_LABELLED) {
      paint.fillStyle = colour("soft");
      paint.textAlign = "right";
      paint.fillText(laneName(directed, 8), LEFT - 6, top + laneHeight() / 2);
    }
    for (const { start, end, sharing } of shared(call.lanes.get(directed))) {
      const height = (laneHeight() - 2) / sharing.length;
      sharing.forEach((transfer, place) => {
        paint.fillStyle = transfer.sum ? hue(transfer.tree) : faint(transfer.tree);
        paint.fillRect(x(start), top + 1 + place * height, Math.max(0.7, x(end) - x(start)), height);
      });
    }
  });
  const bottom = call.order.length * laneHeight();
  paint.fillStyle = colour("soft");
  paint.strokeStyle = colour("line");
  paint.textAlign = "center";
  for (let us = 0, step = niceStep(call.us); us <= call.us * 1.0001; us += step) {
    paint.beginPath();
    paint.moveTo(x(us), 0);
    paint.lineTo(x(us), bottom + 5);
    paint.stroke();
    paint.fillText(micros(us), Math.min(width - 24, x(us)), bottom + 14);
  }
  paint.fillText("time since the call", (LEFT + width) / 2, bottom + 28);
  lanes.width = width * scale;
  lanes.height = height * scale;
  lanes.style.height = `${height}px`;
}

function laneName(directed, most = 40) {
  const short = (node) => {
    const name = shortName(nameOf(node));
    return node < machine.devices ? String(node) : name.length > most ? `${name.slice(0, most - 1)}…` : name;
  };
  return `${short(startOf(directed))} → ${short(endOf(directed))}`;
}

function drawLanes() {
  const scale = devicePixelRatio || 1;
  const paint = lanes.getContext("2d");
  paint.clearRect(0, 0, lanes.width, lanes.height);
  paint.drawImage(rows, 0, 0);
  const width = lanes.parentElement.clientWidth;
  const x = (LEFT + ((width - LEFT - 8) * now) / call.us) * scale;
  paint.fillStyle = colour("ink");
  paint.fillRect(x - scale, 0, 2 * scale, lanes.height - AXIS * scale + 5);
}

function drawNow() {
  drawMachine();
  drawLanes();
}

function setPlaying(on) {
  playing = on;
  byId("play").textContent = on ? "Pause" : "Play";
  byId("play").setAttribute("aria-pressed", on);
  if (on) {
    if (now >= call.us) {
      now = 0;
    }
    lastFrame = performance.now();
    requestAnimationFrame(frame);
  }
}

function frame(time) {
  if (!playing) {
    return;
  }
  const speed = SPEEDS[Number(byId("play-speed").value)];
  now = Math.min(call.us, now + (Math.max(0, time - lastFrame) / 1000 / SHOWN_SECONDS) * speed * call.us);
  lastFrame = time;
  drawNow();
  if (now >= call.us) {
    setPlaying(false);
  } else {
    requestAnimationFrame(frame);
  }
}

const listeners = [];

/** Calls a function whenever another call is shown. */
export function onCall(listener) {
  listeners.push(listener);
}

const playedSizes = [...new Set(model.playbacks.map((playback) => playback.bytes))];

function show() {
  const algorithm = Number(byId("play-algorithm").value);
  const bytes = playedSizes[Number(byId("play-size").value)];
  call = decode(model.playbacks.find((each) => each.algorithm === algorithm && each.bytes === bytes));
  byId("lanes-title").textContent =
    `What each link carries, ${timedName(model.algorithms[algorithm], bytes)} of ${size(bytes)}: ` +
    `${micros(call.us)}, ${digits(bytes / call.us / 1e3)} GB/s of algbw`;
  byId("play-note").textContent =
    (call.joined
      ? `Drawn as ${count(call.transfers.length, "transfer")} of at most ${size(call.longestBytes)}; ` +
        "the real ones are shorter, and too many to draw. "
      : `All ${count(call.transfers.length, "transfer")} are drawn, of at most ${size(call.longestBytes)}. `) +
    (hasTrees(algorithm) ? `A row is divided among the ${treeWord(algorithm)}s that share its link. ` : "") +
    "Dots and full colours: reduce. Circles and faint colours: broadcast. The arc around a GPU: what it has received. " +
    "One simulated call, which takes as long as the curve shows." +
    (call.order.length > MOST_LABELLED ? " Point at a row of what links carry to see which link it is." : "");
  byId("play-trees").replaceChildren(
    ...(hasTrees(algorithm) ? treesOf(call.transfers) : []).map((tree) =>
      html("span", {}, html("span", { class: "swatch", style: `background:${hue(tree)}` }), treeName(algorithm, tree)),
    ),
  );
  view.setGroup(new Set(machine.nodes.slice(0, machine.devices).keys()));
  view.fade();
  drawRows();
  drawNow();
  listeners.forEach((listener) => listener());
}

/** Shows the player. */
export function startPlayer() {
  options(byId("play-algorithm"), model.algorithms.map((algorithm) => timedName(algorithm)), model.chosen);
  options(byId("play-size"), playedSizes.map(size), playedSizes.length - 1);
  options(
    byId("play-speed"),
    SPEEDS.map((speed) => `${speed} x`),
    SPEEDS.indexOf(1),
  );
  for (const choice of ["play-algorithm", "play-size"]) {
    byId(choice).addEventListener("change", () => {
      now = 0;
      show();
    });
  }
  byId("play").addEventListener("click", () => setPlaying(!playing));
  byId("play-time").addEventListener("input", (event) => {
    setPlaying(false);
    now = (call.us * Number(event.target.value)) / 1000;
    drawNow();
  });
  lanes.addEventListener("mousemove", (event) => {
    const box = lanes.getBoundingClientRect();
    const directed = call.order[Math.floor((event.clientY - box.top) / laneHeight())];
    const us = ((event.clientX - box.left - LEFT) / (box.width - LEFT - 8)) * call.us;
    const transfer =
      directed === undefined ? undefined : call.lanes.get(directed).find((each) => each.start <= us && us < each.end);
    byId("lane-pointed").textContent =
      directed === undefined
        ? ""
        : `${laneName(directed)} at ${micros(Math.max(0, us))}: ${
            transfer
              ? `from ${transfer.from} to ${transfer.to}, ${transfer.sum ? "a sum" : "a result or copy"}` +
                `${hasTrees(call.algorithm) ? ` of ${treeName(call.algorithm, transfer.tree)}` : ""}, ` +
                `${micros(transfer.start)} to ${micros(transfer.end)}`
              : "idle"
          }`;
  });
  setPlaying(false);
  show();
  onTheme(show);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) {
      width = innerWidth;
      drawRows();
      drawNow();
    }
  });
}
