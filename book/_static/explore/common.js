/* What the explorables share: elements made of text, never of markup; numbers as the book writes them. */
(function () {
  "use strict";

  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#B8659A"]; // attnlib/plots.py: blue, orange, green, purple
  const GREY = "#7F7F7F";
  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (name === "value" || name === "checked" || name === "disabled") node[name] = value;
      else if (value !== null && value !== undefined) node.setAttribute(name, value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined)); // strings become text nodes
    return node;
  }

  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  /* A number with a true minus sign; with `plus`, a positive one shows its sign too. */
  function number(x, digits = 2, plus = false) {
    if (!Number.isFinite(x)) return x === Infinity ? "\u221e" : "\u2013";
    const text = Math.abs(x).toFixed(digits);
    const zero = Number(text) === 0;
    return (x < 0 && !zero ? "\u2212" : plus && !zero ? "+" : "") + text;
  }

  const button = (text, onclick, more) => el("button", { type: "button", onclick, ...more }, text);

  /* A choice of one of many, [value, text] each. */
  const select = (choices, attributes) =>
    el(
      "select",
      { autocomplete: "off", ...attributes },
      choices.map(([value, text]) => el("option", { value }, text)),
    );

  /* A table that scrolls if it must, named for those who cannot see it: {box, fill}; a row is [attributes, cells]. */
  function table(label, headings) {
    const body = el("tbody", {});
    const head = el(
      "tr",
      {},
      headings.map((text) => el("th", { scope: "col" }, text)),
    );
    const box = el(
      "div",
      { class: "ex-scroll", tabindex: 0, role: "region", "aria-label": label },
      el("table", { class: "ex-table" }, el("thead", {}, head), body),
    );
    const row = ([attributes, cells]) =>
      el(
        "tr",
        attributes,
        cells.map((cell) => el("td", {}, cell)),
      );
    return { box, fill: (rows) => body.replaceChildren(...rows.map(row)) };
  }

  /* A labelled slider with its value in words beside it: {row, input, say}. */
  function slider(label, options, oninput) {
    const output = el("output", {});
    const input = el("input", { type: "range", ...options, oninput: () => oninput(Number(input.value)) });
    const row = el("label", { class: "ex-slider" }, el("span", {}, label), input, output);
    return {
      row,
      input,
      say: (text) => {
        output.textContent = text;
        input.setAttribute("aria-valuetext", text);
      },
    };
  }

  /* Call `draw` once a frame, however often it is asked for. */
  function once(draw) {
    let asked = false;
    return () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        draw();
      });
    };
  }

  /* Names of examples that stand in italics in the text of the page become buttons that load them. */
  function links(box, names, load) {
    for (const word of document.querySelectorAll("em")) {
      if (!names.includes(word.textContent)) continue;
      const go = () => {
        load(word.textContent);
        box.scrollIntoView({ block: "start" });
      };
      word.replaceChildren(button(word.textContent, go, { class: "ex-link" }));
    }
  }

  /* Make the explorable in every container of this name, when the page is there. */
  function mount(name, make) {
    const start = () =>
      document.querySelectorAll(`.explore[data-explore="${name}"]`).forEach((box) => {
        const waiting = [...box.childNodes]; // they say what is missing while this script is
        make(box);
        waiting.forEach((node) => node.remove());
        box.dataset.ready = "yes";
      });
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
    else start();
  }

  window.Explore = window.Explore || {};
  Object.assign(window.Explore, { COLOURS, GREY, el, svg, number, button, select, table, slider, once, links, mount });
})();
