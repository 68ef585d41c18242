// Starts the parts of the page.

import { byId, commandText, html } from "./dom.js";
import { count, gbs } from "./format.js";
import { startTheme } from "./theme.js";
import { startExplorer } from "./explorer.js";
import { startCurves } from "./curves.js";
import { startPlayer } from "./player.js";
import { startSteps } from "./steps.js";
import { startTables } from "./tables.js";
import { commandOf, machine, model, whole } from "./model.js";

startTheme();
const packing = whole.ways[0];
byId("summary").textContent =
  `${count(machine.devices, "GPU")}; an all_reduce reaches at most ` +
  (model.inSwitch ? `${gbs(model.inSwitch.bound)} (${model.inSwitch.counted}) or ` : "") +
  `${gbs(whole.bound)}${whole.counted ? ` (${whole.counted})` : ""} of algbw; ${count(packing.trees.length, "packed tree")} ` +
  `${packing.trees.length === 1 ? "carries" : "carry"} ${gbs(packing.rate)}` +
  (model.inSwitch?.rate ? `, packing in the switch ${gbs(model.inSwitch.rate)}` : "");
const reduces = model.inSwitch !== undefined;
const isUseless = model.anyRing && !model.peerAccess;
const target = model.anyRing
  ? "mscclpp --folder plans"
  : machine.links.some((link) => link.kind === "xgmi")
    ? "rccl -o graph.xml"
    : "nccl -o graph.xml";
byId("about").replaceChildren(
  ...model.notes.map((note) => html("p", {}, `Note: ${note}`)),
  html(
    "p",
    {},
    `Made by Banyan ${model.version}. GB/s are 1e9 bytes/s; algbw is bytes over time, busbw is algbw times 2(n-1)/n, ` +
      "as nccl-tests define them. Rates of algorithms are those at which the busiest link is full, without latencies. " +
      "For them, switches of NVLink and PCIe only forward data, and neither copy nor reduce" +
      (model.inSwitch?.rate ? ", but for packing and star in the switch." : "."),
  ),
  html(
    "p",
    {},
    isUseless
      ? "No file helps Python here: for NCCL all rings are equally good, and MSCCL++ needs peer access between GPUs."
      : model.anyRing
        ? `NCCL needs no file here: all rings are equally good${reduces ? ", and NCCL sums in the switches" : ""}. ` +
          `This writes plans for MSCCL++${reduces ? ", which do not sum in the switches, so that long calls gain nothing" : ""}: `
        : "From Python (PyTorch, vLLM, SGLang), NCCL, RCCL and MSCCL++ take rings, trees and schedules out of files. " +
          "This writes them and says whether a gain is to be expected: ",
    ...(isUseless ? [] : [commandText(commandOf(`export --for ${target}`, model.devices))]),
  ),
);
startExplorer();
startCurves();
startPlayer();
startSteps();
startTables();
document.documentElement.dataset.ready = "true";
