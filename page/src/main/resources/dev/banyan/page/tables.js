// Every number of the page, as tables that can be copied.

import { byId, html, options } from "./dom.js";
import { digits, fraction } from "./format.js";
import { chosenSet, onSet } from "./explorer.js";
import { timeRows } from "./curves.js";
import { stepRows } from "./steps.js";
import { onCall, playedCall } from "./player.js";
import { depthOf, hasTrees, kindOf, loadsOf, machine, model, nameOf, treeWord } from "./model.js";

const name = (algorithm) => model.algorithms[algorithm];

function linkTable() {
  const set = chosenSet();
  const ways = set?.ways ?? [];
  const loads = ways.map(loadsOf);
  const limit = new Set(set?.limit);
  const rows = machine.links.flatMap((link, index) =>
    [0, 1].map((direction) => {
      const [from, to] = direction ? [link.b, link.a] : [link.a, link.b];
      const directed = 2 * index + direction;
      return [
        nameOf(from),
        nameOf(to),
        kindOf(link),
        digits(direction ? link.gbsBToA : link.gbsAToB, 6),
        limit.has(directed) ? "yes" : "",
        ...loads.map((load) => digits(load.get(directed) ?? 0)),
      ];
    }),
  );
  return {
    head: ["from", "to", "kind", "GB/s", "limits", ...ways.map((way) => `${name(way.algorithm)} (% used)`)],
    rows,
    texts: 3,
  };
}

function wayTable() {
  const set = chosenSet();
  const rows = (set?.ways ?? []).map((way) => [
    name(way.algorithm),
    digits(way.rate, 6),
    way.exact,
    digits((100 * way.rate) / set.bound, 5),
    way.trees ? way.trees.length / (treeWord(way.algorithm) === "chain" ? set.devices.length : 1) : "",
    way.trees ? depthOf(way) : "",
  ]);
  return { head: ["algorithm", "GB/s of algbw", "exact", "% of the bound", "trees (rings)", "depth"], rows, texts: 1 };
}

function treeTable() {
  const set = chosenSet();
  const parents = (list) =>
    list
      .map((parent, rank) => (parent < 0 ? "" : `${set.devices[rank]}-${set.devices[parent]}`))
      .filter((edge) => edge)
      .join(" ");
  const rows = (set?.ways ?? []).flatMap((way) =>
    (way.trees ?? []).map((tree, number) => [
      name(way.algorithm),
      number + 1,
      set.devices[tree.up.indexOf(-1)],
      tree.share,
      digits(fraction(tree.share) * way.rate, 6),
      parents(tree.up),
      parents(tree.down ?? tree.up),
    ]),
  );
  return {
    head: ["algorithm", "tree or chain", "root", "share", "GB/s", "child-parent on the way up", "child-parent on the way down"],
    rows,
    texts: 1,
    long: [5, 6],
  };
}

function setTable() {
  const rows = model.sets.sets.map((set) => [
    set.devices.join(" "),
    digits(set.bound, 6),
    set.exact,
    ...model.algorithms.map((_, algorithm) => digits(set.ways.find((way) => way.algorithm === algorithm)?.rate, 6)),
    digits(set.relayed?.bound, 6),
    digits(set.relayed?.ways[0].rate, 6),
    set.counted ?? "all links",
    set.why,
    set.relayed?.why ?? "",
  ]);
  return {
    head: [
      "GPUs",
      "bound (GB/s)",
      "exact",
      ...model.algorithms.map((each) => `${each} (GB/s)`),
      "bound with relays (GB/s)",
      "packing with relays (GB/s)",
      "counted by the bound",
      "why",
      "why, with relays",
    ],
    rows,
    texts: 1,
    long: [6 + model.algorithms.length, 7 + model.algorithms.length],
  };
}

function timeTable() {
  return {
    head: ["curve", "kind", "bytes", "time (µs)", "at least (µs)", "at most (µs)", "busbw (GB/s)", "chosen"],
    rows: timeRows(),
    texts: 2,
  };
}

function gradientTable() {
  return {
    head: ["model", "buckets", "bytes", "algorithm", "all in flight (ms)", "one in flight (ms)", "bound (ms)"],
    rows: stepRows(),
    texts: 1,
  };
}

function transferTable() {
  const call = playedCall();
  const rows = call.transfers.map((each) => [
    digits(each.start, 7),
    digits(each.end, 7),
    digits(each.arrival, 7),
    nameOf(each.from),
    nameOf(each.to),
    hasTrees(call.algorithm) ? each.tree + 1 : "",
    each.sum ? "sum" : "result or copy",
  ]);
  return {
    head: ["start (µs)", "last byte leaves (µs)", "arrives (µs)", "from", "to", "tree or chain", "what"],
    rows,
    texts: 0,
  };
}

const TABLES = [
  ["Links and their loads, of the chosen GPUs", linkTable],
  ["Algorithms, of the chosen GPUs", wayTable],
  ["Trees, of the chosen GPUs", treeTable],
  ["Sets of GPUs", setTable],
  ["Times by size", timeTable],
  ["Gradients", gradientTable],
  ["Transfers of the played call", transferTable],
];

let table;

function show() {
  table = TABLES[Number(byId("table-choice").value)][1]();
  const cell = (value, column) =>
    html(
      "td",
      { class: table.long?.includes(column) ? "text long" : column < table.texts ? "text" : null },
      String(value),
    );
  byId("table").replaceChildren(
    html(
      "table",
      {},
      html(
        "thead",
        {},
        html(
          "tr",
          {},
          ...table.head.map((text, column) =>
            html("th", { class: column < table.texts || table.long?.includes(column) ? "text" : null }, text),
          ),
        ),
      ),
      html("tbody", {}, ...table.rows.map((row) => html("tr", {}, ...row.map(cell)))),
    ),
  );
  byId("table-text").textContent = `${table.rows.length} rows`;
}

/** The table as text with tabs. */
export function tableText() {
  return [table.head, ...table.rows].map((row) => row.join("\t")).join("\n");
}

function copy() {
  // The older way also works where a page from disk may not use the clipboard.
  const area = html("textarea", { style: "position:fixed;opacity:0" });
  area.value = tableText();
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  byId("table-copy").focus();
  byId("table-text").textContent = copied
    ? `${table.rows.length} rows copied`
    : "The browser does not let a page copy; select the table instead.";
}

/** Shows the tables. */
export function startTables() {
  options(
    byId("table-choice"),
    TABLES.map(([title]) => title),
  );
  byId("table-choice").addEventListener("change", show);
  byId("table-copy").addEventListener("click", copy);
  onSet(show);
  onCall(() => {
    if (TABLES[Number(byId("table-choice").value)][1] === transferTable) {
      show();
    }
  });
  show();
}
