// Small helpers around the document.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) {
      node.addEventListener(name.slice(2), value);
    } else if (name.startsWith("aria-") && value !== null) {
      node.setAttribute(name, String(value));
    } else if (value === true) {
      node.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      node.setAttribute(name, value);
    }
  }
  node.append(...children.flat().filter((child) => child !== null));
  return node;
}

/** Makes an HTML element; attributes that begin with "on" are listeners. */
export function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Makes an SVG element, as {@link html} does. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Makes the element of a command, whose options do not wrap at their hyphens. */
export function commandText(command) {
  return html("code", {}, ...command.split(/( )/).map((word) => (word.startsWith("-") ? html("span", {}, word) : word)));
}

/** The element of an id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Fills a select with texts; the value of each is its index. */
export function options(select, texts, chosen = 0) {
  select.replaceChildren(
    ...texts.map((text, index) => html("option", { value: index, selected: index === chosen }, text)),
  );
}
