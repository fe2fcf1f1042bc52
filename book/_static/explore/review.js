/* Your own review: what the model trained on IMDB or Yelp attends to in a text, and how |p| decides how sharply. */
(function () {
  "use strict";
  const X = window.Explore;
  const { el, number, select } = X;
  const M = X.reviewMath,
    { REACH, coloured, legend, curve, describe } = X.reviewPlot;
  const HERE = document.currentScript.src.replace(/[^/]*$/, "");

  const TOP = 12; // tokens in the table
  const EXAMPLES = {
    "praise with a doubt":
      "A slow start, and the plot makes little sense. But the cast is superb, the score is beautiful, and I left the cinema with a smile.",
    "blame with a kind word":
      "The photography is lovely. Everything else is a waste of two hours: a dull story, awful dialogue and not one laugh.",
    "a negation": "This is not a bad film. It is not boring, and I would not call it the worst of the year.",
    "a restaurant":
      "The waiter was rude, the soup was cold, and they charged us twice. The dessert was delicious, though.",
  };
  const MODELS = [
    ["imdb", "film reviews (IMDB)"],
    ["yelp", "Yelp reviews"],
  ];

  /* The table of a corpus, as a script beside this one: pages opened from a folder may not fetch. */
  function load(corpus, done, failed) {
    const ready = () => done(M.index(window.ExploreTables[corpus]));
    if (window.ExploreTables && window.ExploreTables[corpus]) return ready();
    document.head.append(el("script", { src: `${HERE}${corpus}_tokens.js`, onload: ready, onerror: failed }));
  }

  X.mount("review", (box) => {
    const tables = {};
    let scale = 1;
    const text = el("textarea", {
      ...{ rows: 4, "aria-label": "your review", spellcheck: "false", autocomplete: "off", dir: "auto" },
      oninput: () => draw(),
    });
    const example = select(
      Object.keys(EXAMPLES).map((name) => [name, name]),
      { onchange: () => show(example.value) },
    );
    const corpus = select(MODELS, { onchange: () => choose() });
    const length = X.slider("length of p", { min: 0, max: REACH, step: 0.05, value: 1 }, (x) => {
      scale = x;
      draw();
    });
    const verdict = el("p", { class: "ex-verdict", "aria-live": "polite" });
    const words = el("div", {
      ...{ class: "ex-words", dir: "auto", role: "region", "aria-label": "the text, coloured", tabindex: 0 },
    });
    const table = X.table("tokens by attention", ["token", "times", "attention", "value \u03b3"]);
    const chart = el("div", { class: "ex-chart drawing", role: "img" });
    const unknown = el("p", { class: "ex-note", dir: "auto" });
    const bar = [el("label", {}, "Model trained on ", corpus), el("label", {}, "Example ", example)];
    box.append(
      ...[el("div", { class: "ex-bar" }, bar), text, length.row, words, legend(), verdict],
      ...[el("div", { class: "ex-columns ex-even" }, chart, table.box), unknown],
    );

    function show(name) {
      example.value = name;
      text.value = EXAMPLES[name];
      draw();
    }

    function choose() {
      const name = corpus.value;
      if (tables[name]) return draw();
      verdict.textContent = "loading the table of tokens";
      load(
        name,
        (found) => {
          tables[name] = found;
          draw();
        },
        () => {
          verdict.textContent = `The table ${name}_tokens.js is missing beside this page: build the book again.`;
        },
      );
    }

    function draw() {
      if (!tables[corpus.value]) return;
      const found = M.read(text.value, tables[corpus.value]),
        { A, f } = M.attend(found, scale);
      length.say(scale === 0 ? "0: plain average" : scale === 1 ? "as trained" : `${number(scale)} \u00d7 trained`);
      words.replaceChildren(...coloured(found, A));
      verdict.textContent = say(found, A, f);
      const tally = M.tally(found, A);
      table.fill(
        tally
          .slice(0, TOP)
          .map(({ token, times, attention, gamma }) => [
            {},
            [el("bdi", {}, token), String(times), number(attention, 4), number(gamma, 3, true)],
          ]),
      );
      unknown.textContent = (tally.length > TOP ? `${tally.length - TOP} more known tokens. ` : "") + strange(found);
      chart.replaceChildren(...(f === null ? [] : [curve(found, scale)]));
      if (f === null) chart.removeAttribute("aria-label");
      else chart.setAttribute("aria-label", describe(found, scale));
      box.dataset.f = f === null ? "" : f;
    }

    function say({ words, known }, A, f) {
      const size = `${words.length} words, ${known.length} known`,
        effective = 1 / A.reduce((sum, a) => sum + a * a, 0);
      if (f === null) return words.length ? `No verdict: ${size}.` : "No verdict: the text has no word.";
      return (
        `f = ${number(f, 3, true)}: ${f > 0 ? "positive" : f < 0 ? "negative" : "undecided"}, P(positive) = ${number(1 / (1 + Math.exp(-f)), 3)}; ${size}; ` +
        `attention as if spread evenly over ${number(effective, 1)} of them.`
      );
    }

    function strange({ words }) {
      const tokens = [...new Set(words.filter((word) => word.z === undefined).map((word) => word.token))],
        more = tokens.length - TOP;
      return tokens.length ? `Unknown: ${tokens.slice(0, TOP).join(", ")}${more > 0 ? `, and ${more} more` : ""}.` : "";
    }

    X.links(box, Object.keys(EXAMPLES), show);
    show(Object.keys(EXAMPLES)[0]);
    choose();
  });
})();
